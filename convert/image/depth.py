"""Grey pictures with more than 8 bits: their levels, and which of them become black and white."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from convert.contracts import RejectError
from convert.manifest import Decoding

WIDE = 65535
"""The highest level of a 16-bit picture."""
NARROW = 0.1
"""Of the range: 12 bits in a file of 16, the usual case, are 6 %."""
SEEN, DARK = "16-bit", "16-bit using under 10 % of the range"
PHOTOMETRIC, WHITE_IS_ZERO = 262, 0
BAND = 1 << 22
"""Pixels that are converted at a time: a large picture in several copies would fill the memory."""

Levels = npt.NDArray[np.uint16] | npt.NDArray[np.float32]


def is_wide(picture: Image.Image) -> bool:
    """Whether it is grey with more than 8 bits."""
    return picture.mode == "F" or picture.mode.startswith("I")


def wide_levels(picture: Image.Image, whole: Any = None) -> Levels:
    """Levels (H, W): uint16 wherever they fit, else float32. Of a part, `whole` is the picture with its tags."""
    levels: npt.NDArray[Any] = np.asarray(picture)
    if levels.dtype.kind not in "iu" or levels.min() < 0 or levels.max() > WIDE:
        return levels.astype(np.float32)
    turned = getattr(whole or picture, "tag_v2", {}).get(PHOTOMETRIC) == WHITE_IS_ZERO and picture.mode.startswith("I;16")
    return WIDE - levels.astype(np.uint16, copy=False) if turned else levels.astype(np.uint16, copy=False)


def _bands(picture: Image.Image) -> Iterator[tuple[int, Levels]]:
    """The first row of each band, and its levels."""
    rows = max(1, BAND // picture.width)
    for top in range(0, picture.height, rows):
        yield top, wide_levels(picture.crop((0, top, picture.width, min(top + rows, picture.height))), picture)


def to_eight_bits(picture: Image.Image, decoding: Decoding, seen: Counter[str]) -> Image.Image:
    """Scale a range of levels, all 16 bits unless there is a window, to 0..255, mode L; what lies outside becomes black or white.

    Raises:
        RejectError: levels of more than 16 bits, or fractions, and no window that says what they mean.
    """
    seen[SEEN] += 1
    low, high = decoding.window or (0, WIDE)
    table = np.rint(((np.arange(WIDE + 1) - low) / (high - low)).clip(0, 1) * 255).astype(np.uint8)
    clear = picture.info.get("transparency") if decoding.alpha != "drop" else None
    seen["transparent"] += clear is not None
    made, ends = Image.new("L", picture.size), (WIDE, 0)
    for top, levels in _bands(picture):
        if levels.dtype == np.uint16:
            eight = table[levels]
            ends = min(ends[0], int(levels.min())), max(ends[1], int(levels.max()))
        elif decoding.window is None:
            raise _unknown_range(levels, "--window LO:HI says what they mean")
        else:
            scaled = np.nan_to_num(levels, nan=low, posinf=high, neginf=low).astype(np.float32, copy=False)
            eight = np.rint(((scaled - np.float32(low)) * np.float32(255 / (high - low))).clip(0, 255)).astype(np.uint8)
            ends = 0, WIDE
        if clear is not None:
            eight[levels == clear] = 255 if decoding.alpha == "white" else 0
        made.paste(Image.fromarray(eight), (0, top))
    seen[DARK] += decoding.window is None and ends[1] - ends[0] < NARROW * WIDE
    return made


def in_sixteen_bits(picture: Image.Image, seen: Counter[str]) -> Image.Image:
    """The levels as they are, mode F.

    Raises:
        RejectError: levels of more than 16 bits, or fractions.
    """
    seen[SEEN] += 1
    made = Image.new("F", picture.size)
    for top, levels in _bands(picture):
        if levels.dtype != np.uint16:
            raise _unknown_range(levels, "--dtype uint16 holds no others; --window LO:HI goes with the other dtypes")
        made.paste(Image.fromarray(levels.astype(np.float32)), (0, top))
    return made


def _unknown_range(levels: Levels, remedy: str) -> RejectError:
    finite = levels[np.isfinite(levels)]
    found = f"from {finite.min():.6g} to {finite.max():.6g}" if finite.size else "that are no numbers"
    return RejectError("unsupported_format", f"levels {found} where 16 bits were expected: {remedy}")
