"""Crops and flips, for a whole batch at a time: each only says which window of a row is read, and which way round.

Names and distributions are torchvision's. So any sequence of them costs one copy, and nothing is computed on pixels. They know nothing of
colour: what works on colours belongs in `transform=`, where a picture has its 8-bit levels.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError

Uniform = Callable[[], npt.NDArray[np.float64]]
"""Draws one number in [0, 1) for each picture of the batch."""


class Window:
    """Which part of each row is read: `height` x `width` from (`top`, `left`), then flipped. All arrays are (B,)."""

    def __init__(self, batch: int, height: int, width: int) -> None:
        """The whole row, unflipped."""
        self.height, self.width = height, width
        self.top, self.left = np.zeros(batch, np.int64), np.zeros(batch, np.int64)
        self.flip_rows, self.flip_columns = np.zeros(batch, bool), np.zeros(batch, bool)

    def crop(self, top: npt.NDArray[np.int64], left: npt.NDArray[np.int64], height: int, width: int) -> None:
        """Narrow the window to a part of what is seen now: in a flipped picture, left is right."""
        self.top += np.where(self.flip_rows, self.height - height - top, top)
        self.left += np.where(self.flip_columns, self.width - width - left, left)
        self.height, self.width = height, width


class Augment(ABC):
    """One step of `augment=`."""

    def bind(self, height: int, width: int) -> tuple[int, int]:
        """Check that the step makes sense for pictures of this size; returns the size after it.

        Raises:
            PrebakeError: it makes none.
        """
        return height, width

    @abstractmethod
    def apply(self, window: Window, uniform: Uniform) -> None:
        """Take the step for a batch."""


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    sides = size if isinstance(size, Sequence) else (size, size)
    try:
        height, width = (operator.index(side) for side in sides)  # NumPy's whole numbers too
    except (TypeError, ValueError):
        height = width = 0
    if min(height, width) < 1:
        raise PrebakeError(f"a crop's size is a positive whole number or (height, width), not {size!r}")
    return height, width


@dataclass(frozen=True)
class _Crop(Augment):
    size: int | tuple[int, int]

    def bind(self, height: int, width: int) -> tuple[int, int]:
        """See `Augment.bind`."""
        to_height, to_width = _pair(self.size)
        if to_height > height or to_width > width:
            raise PrebakeError(f"{self} does not fit into rows of {height}x{width}: crop less, or bake with a larger --size")
        return to_height, to_width


@dataclass(frozen=True)
class CenterCrop(_Crop):
    """The middle of each picture, at torchvision's `int(round((H - h) / 2))`. `size`: pixels, or (height, width)."""

    def apply(self, window: Window, uniform: Uniform) -> None:
        """See `Augment.apply`."""
        del uniform
        height, width = _pair(self.size)
        zero = np.zeros_like(window.top)
        window.crop(zero + round((window.height - height) / 2), zero + round((window.width - width) / 2), height, width)


@dataclass(frozen=True)
class RandomCrop(_Crop):
    """A window anywhere in each picture, every place as likely. `size`: pixels, or (height, width)."""

    def bind(self, height: int, width: int) -> tuple[int, int]:
        """See `Augment.bind`."""
        after = super().bind(height, width)
        if after == (height, width):
            raise PrebakeError(f"{self} never moves in rows of {height}x{width}: crop less, bake with a larger --size, or leave it out")
        return after

    def apply(self, window: Window, uniform: Uniform) -> None:
        """See `Augment.apply`."""
        height, width = _pair(self.size)
        top = (uniform() * (window.height - height + 1)).astype(np.int64)
        left = (uniform() * (window.width - width + 1)).astype(np.int64)
        window.crop(top, left, height, width)


@dataclass(frozen=True)
class _Flip(Augment):
    p: float = 0.5

    def bind(self, height: int, width: int) -> tuple[int, int]:
        """See `Augment.bind`."""
        if not 0 <= self.p <= 1:
            raise PrebakeError(f"{self}: a probability is from 0 to 1")
        return height, width


@dataclass(frozen=True)
class RandomHorizontalFlip(_Flip):
    """Left and right change places with probability `p`."""

    def apply(self, window: Window, uniform: Uniform) -> None:
        """See `Augment.apply`."""
        window.flip_columns ^= uniform() < self.p


@dataclass(frozen=True)
class RandomVerticalFlip(_Flip):
    """Top and bottom change places with probability `p`."""

    def apply(self, window: Window, uniform: Uniform) -> None:
        """See `Augment.apply`."""
        window.flip_rows ^= uniform() < self.p


def bind(steps: Iterable[Augment] | None, height: int, width: int) -> tuple[Augment, ...]:
    """Check a user's `augment=` for rows of this size.

    Raises:
        PrebakeError: a step is not one of ours, or makes no sense for the size.
    """
    bound = () if steps is None else tuple(steps) if isinstance(steps, Iterable) else (steps,)
    for step in bound:
        if not isinstance(step, Augment):
            name = getattr(step, "__name__", type(step).__name__)
            raise PrebakeError(
                f"augment= takes readers' RandomCrop, CenterCrop, RandomHorizontalFlip and RandomVerticalFlip, not {name}: values are "
                "normalised already. Pass it as transform=, which gets each picture as RGB with 8-bit levels"
            )
        height, width = step.bind(height, width)
    return bound
