"""Boxes of random area and aspect, drawn as torchvision draws them: ten attempts, of which the first that fits is taken."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from readers.augment.step import Uniform
from readers.augment.window import Sides, Whole

ATTEMPTS = 10
Range = tuple[float, float]
Floats = npt.NDArray[np.float64]


def attempt(area: Sides, scale: Range, ratio: Range, uniform: Uniform) -> tuple[Floats, Floats]:
    """Sides (10, B) of boxes: sqrt(a * r) and sqrt(a / r), rounded. a / `area` is uniform in `scale`, log(r) in log(`ratio`)."""
    draws = np.stack([uniform() for _ in range(2 * ATTEMPTS)])
    target = area * (scale[0] + (scale[1] - scale[0]) * draws[::2])
    low, high = np.log(ratio)
    root = np.exp((low + (high - low) * draws[1::2]) / 2)
    side = np.sqrt(target)
    return np.rint(side * root), np.rint(side / root)


def first(fits: npt.NDArray[np.bool_], *sides: Floats) -> list[Whole]:
    """The sides (B,) of each picture's first attempt that fits; of its first, where none does."""
    pick = fits.argmax(axis=0)[None]
    return [np.take_along_axis(side, pick, axis=0)[0].astype(np.int64) for side in sides]


def place(length: Sides, side: Sides, uniform: Uniform) -> Whole:
    """Where a side begins (B,) in a length, every place as likely."""
    return np.asarray((uniform() * (length - side + 1)).astype(np.int64))
