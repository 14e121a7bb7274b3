"""Codes a row as a JPEG, and decodes it: libjpeg-turbo both ways, by simplejpeg, whatever Pillow is installed.

Huffman tables are the standard's: optimised ones take three times as long and save 3 % of the bytes.
"""

import numpy as np
import numpy.typing as npt
import simplejpeg

from convert.contracts import Array, Pixels, RejectError
from convert.image.segments import FRAMES, SOI, segments
from convert.manifest import Jpeg

Levels = npt.NDArray[np.uint8]
PLAIN = (0xC0, 0xC2)
"""Frames: baseline and progressive, Huffman codes."""
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


def is_plain(data: bytes, channels: int) -> bool:
    """Whether a file that was decoded without fault is a JPEG as any reader expects it: baseline or progressive, YCbCr or grey."""
    if not data.startswith(SOI):
        return False
    try:
        _, _, space, _ = simplejpeg.decode_jpeg_header(data)
    except (KeyError, ValueError):  # a sampling that has no name; no picture
        return False
    frame = next((segment.marker for segment in segments(data) if segment.marker in FRAMES), 0)
    return frame in PLAIN and space == ("YCbCr" if channels == 3 else "Gray")


def decode_row(data: bytes | Array, channels: int) -> Levels:
    """The levels (H, W, C) of a stored JPEG.

    Raises:
        ValueError: it is broken.
    """
    return np.asarray(simplejpeg.decode_jpeg(data, colorspace="RGB" if channels == 3 else "GRAY", strict=True))


def as_pixels(row: Array, pixels: Pixels) -> Array:
    """What a reader sees of a row (H, W, C)."""
    return decode_row(row, pixels.channels) if pixels.encoding == "jpeg" else row
