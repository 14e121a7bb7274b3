"""The data sets: a bake as torch's DataLoader, samplers and user code expect it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, SupportsIndex, cast

import torch
from torch.utils.data import Dataset, default_collate, get_worker_info

from convert.errors import PrebakeError, printable
from readers.augment import Step
from readers.contents import Contents
from readers.draws import from_torch
from readers.gather import read_row
from readers.options import check_names, checked
from readers.picture import Transform, to_picture
from readers.render import finish, render, render_size
from readers.ring import recycled
from readers.rows import Index, Rows
from readers.samples import Sample, Samples, unbound
from readers.shm import check_room, sample_nbytes
from readers.strips import planes


class BakedDataset(Contents, Dataset[Any]):
    """A bake of any format, map-style.

    `dataset[i]` is `(image, label)`: image float32 (3, H, W), or (1, H, W) of a grey bake, contiguous, normalised; label int, or values
    float32 (K,). Without either it is the image alone; with `return_index`, the index comes last. A batch is (B, C, H, W), channels_last.
    """

    FORMAT: ClassVar[str | None] = None

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        augment: Sequence[Step] | None = None,
        transform: Transform | None = None,
        return_index: bool = False,
        dtype: torch.dtype = torch.float32,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        pixels: Literal["normalized", "unit", "uint8"] = "normalized",
        io: str = "mmap",
    ) -> None:
        """Open a bake; no shard is touched yet.

        Args:
            path: the folder that was baked.
            augment: steps for a whole batch at a time, see `readers.augment`; crops, flips and resizing first.
            transform: instead, any transform made for ImageFolder: it gets an RGB PIL picture with the exact 8-bit levels, one by one; of
                a grey bake one of mode L, or I;16 where levels have 16 bits.
            return_index: whether samples end with their index in this data set.
            dtype: of the images: a floating type, which for 16-bit levels is float32 at least.
            mean: what to normalise by instead of the bake's own, from its exact levels. For levels from 0 to 1, a number per channel.
            std: likewise.
            pixels: or not normalised at all: "unit", levels from 0 to 1; "uint8", the levels themselves (uint16 where those are baked).
                These options do not touch what `transform` gets.
            io: `mmap`; or `pread`, for network and FUSE file systems: an I/O error under a map kills the process, in a read it is told.

        Raises:
            PrebakeError: not a finished bake, one of another format, or an augment that makes no sense.
        """
        super().__init__(Rows(Path(path).absolute(), io))
        manifest = self._rows.manifest
        if self.FORMAT not in (None, manifest.format):
            right = class_for(manifest.format).__name__
            raise PrebakeError(f"{printable(path)} is a bake in the format {manifest.format}: use {right}, or open_dataset for any format")
        given = {"augment": augment, "transform": transform, "return_index": return_index, "dtype": dtype}
        self._options: dict[str, Any] = checked(given | {"mean": mean, "std": std, "pixels": pixels}, self._rows)

    def __getstate__(self) -> tuple[dict[str, Any], Path, str, str]:
        """What a pickle or a copy holds: no handle and no address; the bake is opened again."""
        own = {name: value for name, value in self.__dict__.items() if name not in ("_rows", "targets")}
        return own, self._rows.folder, self._rows.io, self._rows.manifest.plan

    def __setstate__(self, state: tuple[dict[str, Any], Path, str, str]) -> None:
        own, folder, io, plan = state
        self.__dict__.update(own, _rows=Rows(folder, io))
        if self._rows.manifest.plan != plan:
            raise PrebakeError(f"{printable(folder)} was baked anew or appended to since this data set was opened: open it again")

    @property
    def mean(self) -> tuple[float, ...]:
        """What was subtracted from levels in 0..1, per channel: 0 where values are not normalised."""
        return cast("tuple[float, ...]", self._options["values"].mean)

    @property
    def std(self) -> tuple[float, ...]:
        """What they were divided by, per channel: 1 where values are not normalised."""
        return cast("tuple[float, ...]", self._options["values"].std)

    @property
    def pixels(self) -> str:
        """What values are: normalized, unit or uint8."""
        return cast("str", self._options["pixels"])

    @property
    def transform(self) -> Transform | None:
        """The ImageFolder transform; may be set."""
        return cast("Transform | None", self._options["transform"])

    @transform.setter
    def transform(self, transform: Transform | None) -> None:
        self._options = checked(self._options | {"transform": transform}, self._rows)

    @property
    def augment(self) -> tuple[Step, ...]:
        """The steps; may be set."""
        return cast("tuple[Step, ...]", self._options["augment"])

    @augment.setter
    def augment(self, augment: Sequence[Step] | None) -> None:
        self._options = checked(self._options | {"augment": augment}, self._rows)

    def with_(self, **options: Any) -> Self:
        """The same rows with other options, by the names that opening has."""
        check_names(options)
        return self._view(self._index, _options=checked(self._options | options, self._rows))

    def _images(self, place: Index, new: Callable[[tuple[int, ...], torch.dtype], torch.Tensor]) -> torch.Tensor:
        """A batch (B, C, h, w), channels_last, augmented, in a tensor (B, h, w, C) from `new`."""
        steps, values = self._options["augment"], self._options["values"]
        out = new((len(place), *render_size(self._rows, steps, place)), self._options["made"])
        render(self._rows, place, steps, values=values, uniform=lambda: from_torch(len(place)), out=out)
        return finish(out.permute(0, 3, 1, 2), steps, values=values, uniform=lambda: from_torch(len(place)))

    def __getitem__(self, index: SupportsIndex | list[int]) -> Any:
        if isinstance(index, list):  # a batch at once: DataLoader(batch_size=None, sampler=BatchSampler(...))
            samples = self.__getitems__(index)
            if isinstance(samples, Samples):  # ready, and channels_last
                return samples.batch if len(samples.batch) > 1 else samples.batch[0]
            return default_collate(samples)
        place = self._place([index])
        transform = self._options["transform"]
        picture = to_picture(read_row(self._rows, int(place[0]))) if transform else None
        image = transform(picture) if transform else planes(self._images(place, _private)[0].permute(1, 2, 0))
        values = list(unbound(torch.from_numpy(self._rows.targets(place)))) if self._rows.labelled else []
        if self._options["return_index"]:
            values.append(range(len(self))[index])
        return Sample((image, *values)) if values else image

    def __iter__(self) -> Iterator[Any]:
        """One sample after the other, in order."""
        return (self[index] for index in range(len(self)))

    def __getitems__(self, indices: Sequence[SupportsIndex]) -> list[Any]:
        """A batch at once, for torch's DataLoader and Subset: a list of samples around one ready batch."""
        own = type(self).__getitem__ is not BakedDataset.__getitem__  # a subclass says what a sample is
        if own or self._options["transform"] or not len(indices):
            samples = [self[index] for index in indices]
            check_room(sample_nbytes(samples))  # torch's collate will ask for so much
            return samples
        place = self._place(indices)
        images = self._images(place, recycled if get_worker_info() else _private)
        columns = [torch.from_numpy(self._rows.targets(place))] if self._rows.labelled else []
        if self._options["return_index"]:
            columns.append(torch.tensor([range(len(self))[index] for index in indices], dtype=torch.int64, device="cpu"))
        return Samples(images, *columns)


def class_for(format: str) -> type[BakedDataset]:
    """The class that opens bakes of a format; a format without one of its own is read by the base class, as all are."""
    return next((kind for kind in BakedDataset.__subclasses__() if format == kind.FORMAT), BakedDataset)


def _private(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="cpu")
