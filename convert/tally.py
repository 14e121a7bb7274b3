"""Counts how many pixels have each level, and what follows from that: mean, std, and the range that is used."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from convert.contracts import Array

WIDE = 1 << 16
OUTSIDE = 10_000
"""One pixel in so many lies below a window that is found, and one above."""


@dataclass
class Tally:
    """How many pixels have each level. Whole numbers: no order of adding changes them."""

    levels: npt.NDArray[np.int64] | None = None
    """(C, 256), or (C, 65536) where levels have 16 bits; None before the first picture."""
    pictures: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    """Pictures that were left out, by reason."""

    def add(self, picture: Array) -> None:
        """Count a picture (H, W, C), uint8 or uint16."""
        depth = 256 if picture.dtype.itemsize == 1 else WIDE
        flat = picture.reshape(-1, picture.shape[-1])
        self._add(np.stack([np.bincount(flat[:, channel], minlength=depth) for channel in range(flat.shape[1])]), 1)

    def merge(self, other: Tally) -> None:
        """Add what somebody else counted."""
        if other.levels is not None:
            self._add(other.levels, other.pictures)
        self.rejected += other.rejected

    def _add(self, levels: npt.NDArray[np.int64], pictures: int) -> None:
        self.levels = levels if self.levels is None else self.levels + levels
        self.pictures += pictures

    def mean_std(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and std of each channel, for levels from 0 to 1. The std is the population's: the divisor is n.

        Exact sums of whole numbers, so the only rounding is that of the last divisions and the root, in float64.
        """
        mean, std = [], []
        for counts in [] if self.levels is None else self.levels.tolist():
            top = len(counts) - 1
            n = sum(counts)
            total = sum(level * count for level, count in enumerate(counts))
            squares = sum(level * level * count for level, count in enumerate(counts))
            mean.append(total / (n * top))
            std.append(math.sqrt((n * squares - total * total) / (n * n)) / top)
        return tuple(mean), tuple(std)

    def window(self) -> tuple[int, int] | None:
        """The levels below and above which 1 in 10,000 of the pixels lie, at most; None where there are no pixels."""
        if self.levels is None:
            return None
        counts = self.levels.sum(axis=0)
        spare = int(counts.sum()) // OUTSIDE
        low = np.searchsorted(np.cumsum(counts), spare, side="right")
        high = len(counts) - 1 - np.searchsorted(np.cumsum(counts[::-1]), spare, side="right")
        return int(low), int(high)
