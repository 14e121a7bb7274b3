"""Grey pictures with more than 8 bits: their levels, and which of them become black and white."""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from convert.contracts import RejectError

WIDE = 65535
"""The highest level of a 16-bit picture."""
NARROW = 0.1
"""Of the range: 12 bits in a file of 16, the usual case, are 6 %."""
SEEN, DARK = "16-bit", "16-bit, using under 10 % of the range"

Levels = npt.NDArray[np.uint16] | npt.NDArray[np.float32]


def is_wide(picture: Image.Image) -> bool:
    """Whether it is grey with more than 8 bits."""
    return picture.mode == "F" or picture.mode.startswith("I")


def wide_levels(picture: Image.Image) -> Levels:
    """Levels (H, W): uint16 wherever they fit, else float32."""
    levels: npt.NDArray[Any] = np.asarray(picture)
    if levels.dtype.kind in "iu" and levels.min() >= 0 and levels.max() <= WIDE:
        return levels.astype(np.uint16)
    return levels.astype(np.float32)


def to_eight_bits(levels: Levels, window: tuple[float, float] | None, seen: Counter[str]) -> npt.NDArray[np.uint8]:
    """Scale a range of levels, all 16 bits unless there is a window, to 0..255; what lies outside becomes black or white.

    Raises:
        RejectError: levels of more than 16 bits, or fractions, and no window that says what they mean.
    """
    seen[SEEN] += 1
    low, high = window or (0, WIDE)
    if levels.dtype == np.uint16:
        if window is None:
            seen[DARK] += int(levels.max()) - int(levels.min()) < NARROW * WIDE
        table = np.rint(((np.arange(WIDE + 1) - low) / (high - low)).clip(0, 1) * 255).astype(np.uint8)
        return np.asarray(table[levels])
    if window is None:
        raise _unknown_range(levels)
    scaled = np.nan_to_num(levels, nan=low, posinf=high, neginf=low).astype(np.float32, copy=False)
    scaled = ((scaled - np.float32(low)) * np.float32(255 / (high - low))).clip(0, 255)
    return np.asarray(np.rint(scaled).astype(np.uint8))


def in_sixteen_bits(picture: Image.Image, seen: Counter[str]) -> Image.Image:
    """The levels as they are, mode F.

    Raises:
        RejectError: levels of more than 16 bits, or fractions.
    """
    seen[SEEN] += 1
    levels = wide_levels(picture)
    if levels.dtype != np.uint16:
        raise _unknown_range(levels)
    return Image.fromarray(levels.astype(np.float32))


def _unknown_range(levels: Levels) -> RejectError:
    finite = levels[np.isfinite(levels)]
    found = f"from {finite.min():.6g} to {finite.max():.6g}" if finite.size else "that are no numbers"
    return RejectError("unsupported_format", f"levels {found} where 16 bits were expected: --window LO:HI says what they mean")
