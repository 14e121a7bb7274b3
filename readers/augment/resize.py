"""RandomResizedCrop, with torchvision's distribution and, on the CPU, its pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from readers.augment.attempts import Range, attempt, first, place
from readers.augment.crop import Size, pair
from readers.augment.step import Augment, Uniform, check_range
from readers.augment.window import Sides, Whole, Window


@dataclass(frozen=True)
class RandomResizedCrop(Augment):
    """A box of random area, aspect and place, resized to `size` (pixels, or (height, width)).

    The box is cut out of the picture's levels and resized by torch's antialiased bilinear filter: the pixels are those of torchvision's
    transform on uint8, and on a PIL picture to the bit with Pillow-SIMD; with Pillow some are a level away. `scale`: the box's area over
    the picture's; `ratio`: width over height. Where ten attempts do not fit, it is the middle, as in torchvision.
    """

    size: Size
    scale: Range = (0.08, 1.0)
    ratio: Range = (3 / 4, 4 / 3)

    def bind(self, height: Sides, width: Sides) -> tuple[Sides, Sides]:
        """See `Augment.bind`."""
        del height, width  # any picture can be resized
        check_range(self, "scale", self.scale)
        check_range(self, "ratio", self.ratio)
        return pair(self.size)

    def apply(self, window: Window, uniform: Uniform) -> None:
        """See `Augment.apply`."""
        window.resize(self.boxes(window.height, window.width, uniform), *pair(self.size))

    def boxes(self, height: Sides, width: Sides, uniform: Uniform) -> tuple[Whole, Whole, Whole, Whole]:
        """Top, left, height and width in pictures of one size, or of sizes (B,)."""
        wide, high = attempt(height * width, self.scale, self.ratio, uniform)
        fits = (wide > 0) & (wide <= width) & (high > 0) & (high <= height)
        box_height, box_width = first(fits, high, wide)
        found = fits.any(axis=0)
        middle_height, middle_width = self._middle(height, width)
        box_height, box_width = np.where(found, box_height, middle_height), np.where(found, box_width, middle_width)
        top, left = place(height, box_height, uniform), place(width, box_width, uniform)
        top, left = np.where(found, top, (height - middle_height) // 2), np.where(found, left, (width - middle_width) // 2)
        return top, left, box_height, box_width

    def _middle(self, height: Sides, width: Sides) -> tuple[Whole, Whole]:
        """Height and width of the largest boxes in the middle whose aspect is allowed."""
        low, high = self.ratio
        aspect = np.divide(width, height)
        lower = np.clip(np.rint(np.divide(width, low)), 1, height)
        narrower = np.clip(np.rint(np.multiply(height, high)), 1, width)
        return np.where(aspect < low, lower, height).astype(np.int64), np.where(aspect > high, narrower, width).astype(np.int64)
