"""What a Loader makes of a data set: the shape of its pictures, and how a part of a batch is filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from convert.errors import PrebakeError
from readers import keyed
from readers.augment import (
    Augment,
    CenterCrop,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Uniform,
    Window,
)
from readers.buffers import Buffers
from readers.dataset import BakedDataset
from readers.render import finish, look, render, render_size
from readers.rows import Index
from readers.values import Values

GROUP = 8
"""Pictures that are laid out anew at a time, while they are in the cache."""
PLAIN = {CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip}
"""Steps that only say which window is read: what is in it can be cast, normalised and flipped later."""

FLIPS = {RandomHorizontalFlip, RandomVerticalFlip}


class Later:
    """What is left to the device, for each picture of a batch."""

    def __init__(self, batch: int, *, boxed: bool) -> None:
        """For so many pictures; `boxed`: whole rows are sent, and boxes of them resized there."""
        self.flips: npt.NDArray[np.bool_] = np.zeros((2, batch), bool)
        """Rows first."""
        self.boxes: Index | None = np.zeros((4, batch), np.int64) if boxed else None
        """Top, left, height and width in the row."""


class _Note(Augment):
    """A last step that leaves flips, and boxes, to the device: it notes them for some pictures of the batch and takes them away."""

    def __init__(self, later: Later, some: slice, row: tuple[int, int]) -> None:
        self._later, self._some, self._row = later, some, row

    def apply(self, window: Window, uniform: Uniform) -> None:
        del uniform
        batch = len(window.top)
        self._later.flips[:, self._some] = window.flip_rows, window.flip_columns
        window.flip_rows, window.flip_columns = np.zeros((2, batch), bool)
        if self._later.boxes is not None and window.boxes is not None:
            self._later.boxes[:, self._some] = [np.broadcast_to(side, batch) for side in window.boxes]
            window.boxes = None
            window.height, window.width = self._row


def check_dataset(dataset: object) -> None:
    """Refuse what is no data set whose batches can be made at once.

    Raises:
        PrebakeError: its samples are made one by one, by a transform or a class of the user's.
    """
    if not isinstance(dataset, BakedDataset):
        raise PrebakeError(f"Loader reads data sets of readers, not {type(dataset).__name__}; for a part of one give indices=")
    if dataset.transform is not None or type(dataset).__getitem__ is not BakedDataset.__getitem__:
        what = "transform=" if dataset.transform is not None else f"{type(dataset).__name__}.__getitem__"
        raise PrebakeError(f"Loader makes whole batches, and {what} one picture after the other: use torch's DataLoader, or augment=")


class Fill:
    """Fills parts of batches with augmented pictures, drawn by their positions in the epoch."""

    def __init__(self, dataset: BakedDataset, seed: int, stored: Index | None = None) -> None:
        """For a data set as it is now, or only some rows of its bake.

        Raises:
            PrebakeError: a row is smaller than what is cut out of it, or pictures would differ in size.
        """
        self.rows = dataset._rows  # noqa: SLF001 - one of its own
        self.steps = dataset.augment
        self.values: Values = dataset._options["values"]  # noqa: SLF001
        made: torch.dtype = dataset._options["made"]  # noqa: SLF001
        self.levels = None if made.is_floating_point else made
        """The type of whole levels, where those are asked for."""
        self.size = render_size(self.rows, self.steps, np.arange(self.rows.manifest.count) if stored is None else stored)
        """(h, w, C) of a picture."""
        self._indexed = dataset._options["return_index"]  # noqa: SLF001
        self._seed = seed
        self._scratch: dict[torch.dtype, Buffers] = {}

    @property
    def boxed(self) -> bool:
        """Whether whole rows, of one size, may be sent to a device and boxes of them resized there: only flips come after that."""
        kinds = [type(step) for step in self.steps]
        if RandomResizedCrop not in kinds or self.rows.manifest.shape is None:
            return False
        place = kinds.index(RandomResizedCrop)
        return set(kinds[:place]) <= PLAIN and set(kinds[place + 1 :]) <= FLIPS

    @property
    def plain(self) -> bool:
        """Whether pictures may be flipped, cast and normalised after they were copied, or resized."""
        return self.boxed or all(type(step) in PLAIN | {RandomResizedCrop} for step in self.steps)

    @property
    def resized(self) -> bool:
        """Whether pictures are resized before they go over: then they are levels."""
        return not self.boxed and any(type(step) is RandomResizedCrop for step in self.steps)

    @property
    def functions(self) -> bool:
        """Whether a function of a whole batch is among the steps."""
        return not all(isinstance(step, Augment | RandomErasing) for step in self.steps)

    def columns(self, places: Index, index: Index) -> list[torch.Tensor]:
        """What comes with the images: labels (B,) or values (B, K), and the indices if asked for."""
        columns = [torch.from_numpy(self.rows.targets(places))] if self.rows.labelled else []
        return [*columns, torch.from_numpy(index.copy())] if self._indexed else columns

    def fill(self, images: torch.Tensor, places: Index, *, epoch: int, positions: Index, note: Augment | None) -> None:
        """Fill `images` (n, C, h, w), channels_last or contiguous, with rows of the bake; `note` is a last step, see `leave`."""
        if images.is_contiguous(memory_format=torch.channels_last):
            self._render(images.permute(0, 2, 3, 1), places, epoch=epoch, positions=positions, note=note)
            return
        scratch = self._scratch.setdefault(images.dtype, self._scratch_buffers(images.dtype)).lease().view(images.dtype)
        for first in range(0, len(images), GROUP):
            some = slice(first, first + GROUP)
            part = scratch.view(GROUP, *self.size)[: len(places[some])]
            self._render(part, places[some], epoch=epoch, positions=positions[some], note=None)
            images[some].copy_(part.permute(0, 3, 1, 2))

    def leave(self, later: Later, some: slice) -> Augment:
        """A last step that leaves to the device what it can do of some pictures; for channels_last only."""
        return _Note(later, some, self.rows.layout.largest)

    def _render(self, out: torch.Tensor, places: Index, *, epoch: int, positions: Index, note: Augment | None) -> None:
        steps: Sequence[Any] = self.steps if note is None else [*self.steps, note]
        render(self.rows, places, steps, values=self.values, uniform=self._uniform(epoch, positions, 0), out=out)

    def look(self, places: Index, *, epoch: int, positions: Index, note: Augment) -> Window:
        """Where the steps look at rows of the bake, for what decodes them elsewhere."""
        return look(self.rows, places, [*self.steps, note], self._uniform(epoch, positions, 0))

    def finish(self, images: torch.Tensor, *, epoch: int, positions: Index) -> torch.Tensor:
        """A filled batch (B, C, h, w) after the steps that need all of it, on any device."""
        return finish(images, self.steps, values=self.values, uniform=self._uniform(epoch, positions, 1))

    def _uniform(self, epoch: int, positions: Index, stage: int) -> Uniform:
        """Draws a number for each position at each call: a function of seed, epoch, position, stage and the number of the call."""
        calls = iter(range(1 << 30))
        return lambda: keyed.uniform(positions, keyed.key(self._seed, epoch, stage, next(calls)))

    def _scratch_buffers(self, dtype: torch.dtype) -> Buffers:
        height, width, channels = self.size
        return Buffers(GROUP * height * width * channels * dtype.itemsize, keep=8)
