"""What a Loader makes of a data set: the shape of its pictures, and how a part of a batch is filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from convert.errors import PrebakeError
from readers import keyed
from readers.augment import Augment, CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip, Window
from readers.buffers import Buffers
from readers.dataset import BakedDataset
from readers.render import render, render_size
from readers.rows import Index

GROUP = 8
"""Pictures that are laid out anew at a time, while they are in the cache."""
PLAIN = {CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip}
"""Steps that only say which window is read: what is in it can be cast, normalised and flipped later."""

Flips = npt.NDArray[np.bool_]


class _NoteFlips(Augment):
    """A last step that leaves flips to the device: it notes them (2, B), rows first, and takes them away."""

    def __init__(self, flips: Flips) -> None:
        self._flips = flips

    def apply(self, window: Window, uniform: Callable[[], npt.NDArray[np.float64]]) -> None:
        del uniform
        self._flips[:] = window.flip_rows, window.flip_columns
        window.flip_rows, window.flip_columns = np.zeros((2, len(window.top)), bool)


class Fill:
    """Fills parts of batches with augmented pictures, drawn by their positions in the epoch."""

    def __init__(self, dataset: BakedDataset, seed: int) -> None:
        """For a data set as it is now.

        Raises:
            PrebakeError: its samples are made one by one, by a transform or a class of the user's.
        """
        if not isinstance(dataset, BakedDataset):
            raise PrebakeError(f"Loader reads data sets of readers, not {type(dataset).__name__}; for a part of one give indices=")
        if dataset.transform is not None or type(dataset).__getitem__ is not BakedDataset.__getitem__:
            what = "transform=" if dataset.transform is not None else f"{type(dataset).__name__}.__getitem__"
            raise PrebakeError(f"Loader makes whole batches, and {what} one picture after the other: use torch's DataLoader, or augment=")
        self.rows = dataset._rows  # noqa: SLF001 - one of its own
        self.steps = dataset.augment
        self.size = render_size(self.rows, self.steps)
        """(h, w, C) of a picture."""
        self._indexed = dataset._options["return_index"]  # noqa: SLF001
        self._seed = seed
        self._scratch: dict[torch.dtype, Buffers] = {}

    @property
    def plain(self) -> bool:
        """Whether pictures may be flipped, cast and normalised after they were copied."""
        return all(type(step) in PLAIN for step in self.steps)

    def columns(self, places: Index, index: Index) -> list[torch.Tensor]:
        """What comes with the images: labels (B,) or values (B, K), and the indices if asked for."""
        columns = [torch.from_numpy(self.rows.targets(places))] if self.rows.labelled else []
        return [*columns, torch.from_numpy(index.copy())] if self._indexed else columns

    def fill(self, images: torch.Tensor, places: Index, *, epoch: int, positions: Index, flips: Flips | None) -> None:
        """Fill `images` (n, C, h, w), channels_last or contiguous, with rows of the bake; with `flips` (2, n), those are only noted."""
        if images.is_contiguous(memory_format=torch.channels_last):
            self._render(images.permute(0, 2, 3, 1), places, epoch=epoch, positions=positions, flips=flips)
            return
        scratch = self._scratch.setdefault(images.dtype, self._scratch_buffers(images.dtype)).lease().view(images.dtype)
        for first in range(0, len(images), GROUP):
            some = slice(first, first + GROUP)
            noted = None if flips is None else flips[:, some]
            part = scratch.view(GROUP, *self.size)[: len(places[some])]
            self._render(part, places[some], epoch=epoch, positions=positions[some], flips=noted)
            images[some].copy_(part.permute(0, 3, 1, 2))

    def _render(self, out: torch.Tensor, places: Index, *, epoch: int, positions: Index, flips: Flips | None) -> None:
        steps: Sequence[Any] = self.steps if flips is None else [*self.steps, _NoteFlips(flips)]
        render(self.rows, places, steps, uniform=self._uniform(epoch, positions), out=out)

    def _uniform(self, epoch: int, positions: Index) -> Callable[[], npt.NDArray[np.float64]]:
        """Draws a number for each position at each call: a function of seed, epoch, position and the number of the call."""
        calls = iter(range(1 << 30))
        return lambda: keyed.uniform(positions, keyed.key(self._seed, epoch, 0, next(calls)))

    def _scratch_buffers(self, dtype: torch.dtype) -> Buffers:
        height, width, channels = self.size
        return Buffers(GROUP * height * width * channels * dtype.itemsize, keep=8)
