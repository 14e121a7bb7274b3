"""Codes a row as a JPEG, and decodes it: libjpeg-turbo both ways, by simplejpeg, whatever Pillow is installed.

Huffman tables are the standard's: optimised ones take three times as long and save 3 % of the bytes.
"""

import numpy as np
import numpy.typing as npt
import simplejpeg

from convert.contracts import Array, Pixels, RejectError
from convert.manifest import Jpeg

Levels = npt.NDArray[np.uint8]
LONGEST = 65_500
"""Pixels of a side, at most: libjpeg's JPEG_MAX_DIMENSION."""


def encode(levels: Levels, how: Jpeg) -> Levels:
    """The bytes (n,) of a baseline JPEG of levels (H, W, 3), or (H, W, 4) whose last byte has no meaning; of one channel, for (H, W).

    Raises:
        RejectError: too_large, with a side that no JPEG has.
    """
    if max(levels.shape[:2]) > LONGEST:
        raise RejectError("too_large", f"{levels.shape[1]} x {levels.shape[0]} pixels, and a side of a JPEG has at most {LONGEST}")
    if levels.ndim == 3:
        data = simplejpeg.encode_jpeg(levels, how.quality, "RGBX" if levels.shape[2] == 4 else "RGB", how.subsampling)
    else:
        data = simplejpeg.encode_jpeg(levels[:, :, np.newaxis], how.quality, "GRAY", "Gray")
    return np.frombuffer(data, np.uint8)


def decode_row(data: bytes | Array, channels: int) -> Levels:
    """The levels (H, W, C) of a stored JPEG.

    Raises:
        ValueError: it is broken.
    """
    return np.asarray(simplejpeg.decode_jpeg(data, colorspace="RGB" if channels == 3 else "GRAY", strict=True))


def as_pixels(row: Array, pixels: Pixels) -> Array:
    """What a reader sees of a row (H, W, C)."""
    return decode_row(row, pixels.channels) if pixels.encoding == "jpeg" else row
