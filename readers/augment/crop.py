"""Crops, with torchvision's names, places and distributions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from convert.errors import PrebakeError
from readers.augment.attempts import place
from readers.augment.step import Augment, TooSmallError, Uniform
from readers.augment.window import Sides, Window

Size = int | tuple[int, int]
Padding = int | tuple[int, int] | tuple[int, int, int, int]


def pair(size: Size) -> tuple[int, int]:
    """(height, width) of a size that is one number or two.

    Raises:
        PrebakeError: it is something else.
    """
    sides = size if isinstance(size, Sequence) else (size, size)
    try:
        height, width = (operator.index(side) for side in sides)  # NumPy's whole numbers too
    except (TypeError, ValueError):
        height = width = 0
    if min(height, width) < 1:
        raise PrebakeError(f"a crop's size is a positive whole number or (height, width), not {size!r}")
    return height, width


def _fit(step: Augment, size: Size, height: Sides, width: Sides, *, more: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """The size, if it fits into rows that become so much higher and wider before."""
    to_height, to_width = pair(size)
    small = np.atleast_1d(np.less(np.add(height, more[0]), to_height) | np.less(np.add(width, more[1]), to_width))
    if small.any():
        number = int(small.argmax())
        high, wide = (int(np.atleast_1d(side)[number % np.size(side)]) for side in (height, width))
        raise TooSmallError(f"{step} does not fit into rows of {high}x{wide}: crop less, or bake with a larger --size", number)
    return to_height, to_width


@dataclass(frozen=True)
class CenterCrop(Augment):
    """The middle of each picture, at torchvision's `int(round((H - h) / 2))`. `size`: pixels, or (height, width)."""

    size: Size

    def bind(self, height: Sides, width: Sides) -> tuple[Sides, Sides]:
        """See `Augment.bind`."""
        return _fit(self, self.size, height, width)

    def apply(self, window: Window, uniform: Uniform) -> None:
        """See `Augment.apply`."""
        del uniform
        height, width = pair(self.size)
        zero = np.zeros_like(window.top)
        top, left = (np.rint((np.subtract(here, there)) / 2) for here, there in ((window.height, height), (window.width, width)))
        window.crop(zero + top.astype(np.int64), zero + left.astype(np.int64), height, width)


@dataclass(frozen=True)
class RandomCrop(Augment):
    """A window anywhere in each picture, every place as likely.

    `size`: pixels, or (height, width). `padding`: so many black pixels are first laid around the picture: on each side, or
    (left and right, top and bottom), or (left, top, right, bottom). Black is what a black pixel of the data set is, not the mean.
    """

    size: Size
    padding: Padding | None = None

    def bind(self, height: Sides, width: Sides) -> tuple[Sides, Sides]:
        """See `Augment.bind`."""
        left, top, right, bottom = self.borders
        after = _fit(self, self.size, height, width, more=(top + bottom, left + right))
        if isinstance(height, int) and after == (height + top + bottom, width + left + right):
            raise PrebakeError(f"{self} never moves in rows of {height}x{width}: crop less, bake with a larger --size, or leave it out")
        return after

    def apply(self, window: Window, uniform: Uniform) -> None:
        """See `Augment.apply`."""
        height, width = pair(self.size)
        if any(self.borders):
            window.pad(*self.borders)
        top, left = place(window.height, height, uniform), place(window.width, width, uniform)
        window.crop(top, left, height, width)

    @property
    def borders(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom padding.

        Raises:
            PrebakeError: `padding` says something else.
        """
        given = 0 if self.padding is None else self.padding
        try:
            sides = tuple(operator.index(side) for side in given) if isinstance(given, Sequence) else (operator.index(given),)
            left, top, right, bottom = (sides * (4 // len(sides)))[:4] if len(sides) in {1, 2, 4} else ()
        except (TypeError, ValueError):
            left = top = right = bottom = -1
        if min(left, top, right, bottom) < 0:
            raise PrebakeError(f"{self}: padding is a number of pixels, (left and right, top and bottom), or (left, top, right, bottom)")
        return left, top, right, bottom
