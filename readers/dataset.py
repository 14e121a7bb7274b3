"""The data sets: a bake as torch's DataLoader, samplers and user code expect it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, SupportsIndex

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset, get_worker_info

from convert.errors import PrebakeError, printable
from readers.augment import Augment, Window, bind
from readers.contents import Contents
from readers.gather import gather, read_row
from readers.picture import Transform, to_picture
from readers.rows import Index, Rows
from readers.samples import Sample, Samples


def _random(batch: int) -> npt.NDArray[np.float64]:
    """From torch's own generator, as torchvision's transforms draw: seeded by `torch.manual_seed`, different in each worker."""
    return torch.rand(batch, dtype=torch.float64, device="cpu").numpy()


class BakedDataset(Contents, Dataset[Any]):
    """A bake of any format, map-style.

    `dataset[i]` is `(image, label)`: image float32 (3, H, W), contiguous, normalised; label int. Without labels it is the image alone;
    with `return_index`, the index comes last. A batch is (B, 3, H, W), channels_last.
    """

    FORMAT: ClassVar[str | None] = None

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        augment: Sequence[Augment] | None = None,
        transform: Transform | None = None,
        return_index: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """Open a bake; no shard is touched yet.

        Args:
            path: the folder that was baked.
            augment: crops and flips on normalised values, for a whole batch at a time.
            transform: instead, any transform made for ImageFolder: it gets an RGB PIL picture with the exact 8-bit levels, one by one.
            return_index: whether samples end with their index in this data set.
            dtype: of the images: a floating type.

        Raises:
            PrebakeError: not a finished bake, one of another format, or an augment that makes no sense.
        """
        super().__init__(Rows(Path(path)))
        manifest = self._rows.manifest
        if self.FORMAT not in (None, manifest.format):
            right = next((c.__name__ for c in BakedDataset.__subclasses__() if manifest.format == c.FORMAT), "open_dataset")
            raise PrebakeError(f"{printable(path)} is a bake in the format {manifest.format}: use {right}, or open_dataset for any format")
        self._options: dict[str, Any]
        self._augment: tuple[Augment, ...]
        self.__dict__.update(self._checked({"augment": augment, "transform": transform, "return_index": return_index, "dtype": dtype}))

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        """The attributes that options become."""
        unknown = set(options) - {"augment", "transform", "return_index", "dtype"}
        if unknown:
            raise PrebakeError(f"with_() knows augment, transform, return_index and dtype, not {', '.join(sorted(unknown))}")
        if options["augment"] and options["transform"]:
            raise PrebakeError("augment= and transform= exclude each other: put crops and flips into the transform, or leave it out")
        if not options["dtype"].is_floating_point:
            raise PrebakeError(f"dtype={options['dtype']}: normalised values need a floating type; image(i) gives 8-bit levels")
        height, width, _ = self._rows.manifest.shape
        return {"_options": options, "_augment": bind(options["augment"], height, width)}

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), str(self._rows.folder.absolute()), self._options, self._index)

    def with_(self, **options: Any) -> Self:
        """The same rows with other options: `augment`, `transform`, `return_index`, `dtype`."""
        return self._view(self._index, **self._checked(self._options | options))

    def _images(self, place: Index) -> torch.Tensor:
        """A batch (B, h, w, C), augmented."""
        height, width, channels = self._rows.manifest.shape
        window = Window(len(place), height, width)
        for step in self._augment:
            step.apply(window, lambda: _random(len(place)))
        out = _empty((len(place), window.height, window.width, channels), self._options["dtype"])
        gather(self._rows, place, window, out)
        return out

    def __getitem__(self, index: SupportsIndex) -> Any:
        place = self._place([index])
        transform = self._options["transform"]
        if transform:
            image = transform(to_picture(read_row(self._rows, int(place[0]))))
        else:
            image = self._images(place)[0].permute(2, 0, 1).contiguous()
        values = [] if self._rows.targets is None else [int(self._rows.targets[place[0]])]
        if self._options["return_index"]:
            values.append(range(len(self))[index])
        return Sample((image, *values)) if values else image

    def __iter__(self) -> Iterator[Any]:
        """One sample after the other, in order."""
        return (self[index] for index in range(len(self)))

    def __getitems__(self, indices: Sequence[SupportsIndex]) -> Sequence[Any]:
        """A batch at once, for torch's DataLoader and Subset: a list of samples around one ready batch."""
        if self._options["transform"] or not len(indices):
            return [self[index] for index in indices]
        place = self._place(indices)
        images = self._images(place).permute(0, 3, 1, 2)
        columns = [] if self._rows.targets is None else [torch.from_numpy(self._rows.targets[place])]
        if self._options["return_index"]:
            columns.append(torch.tensor([range(len(self))[index] for index in indices], dtype=torch.int64, device="cpu"))
        return Samples(images, *columns) if columns else list(images.unbind(0))


def _empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A new tensor; in a DataLoader worker in shared memory, as torch's own collate makes it: the batch is not copied again."""
    if get_worker_info() is None:
        return torch.empty(shape, dtype=dtype, device="cpu")
    storage = torch.UntypedStorage._new_shared(math.prod(shape) * dtype.itemsize, device="cpu")  # type: ignore[no-untyped-call] # noqa: SLF001
    empty: torch.Tensor = torch.empty(0, dtype=dtype, device="cpu").set_(storage)
    return empty.view(shape)


def _reopen(kind: type[BakedDataset], path: str, options: dict[str, Any], index: Index | None) -> BakedDataset:
    """What a pickle holds: the path and the options, no handle and no address."""
    dataset = kind(path, **options)
    return dataset if index is None else dataset.subset(index)


class LmdbDataset(BakedDataset):
    """A bake made by `prebake lmdb`."""

    FORMAT = "lmdb"


class Hdf5Dataset(BakedDataset):
    """A bake made by `prebake hdf5`."""

    FORMAT = "hdf5"


class TarDataset(BakedDataset):
    """A bake made by `prebake webdataset`: map-style like the others."""

    FORMAT = "webdataset"


class MemmapDataset(BakedDataset):
    """A bake made by `prebake memmap`."""

    FORMAT = "memmap"
