"""Codes a row as a JPEG, and decodes it.

By Pillow, which reads its picture where it lies: as fast as simplejpeg, which needs a copy, and by the exact cosine transform. Huffman
tables are the standard's: optimised ones take three times as long and save 3 % of the bytes.
"""

import io

import numpy as np
import numpy.typing as npt
import simplejpeg
from PIL import Image

from convert.contracts import Array, Pixels, RejectError
from convert.image.segments import SOI, frame
from convert.manifest import Jpeg

Levels = npt.NDArray[np.uint8]
PLAIN = (0xC0, 0xC2)
"""Frames: baseline and progressive, Huffman codes."""
SUBSAMPLINGS = {"444": 0, "420": 2}
"""As Pillow numbers them."""
LONGEST = 65_500
"""Pixels of a side, at most: libjpeg's JPEG_MAX_DIMENSION."""


def encode(picture: Image.Image, how: Jpeg) -> Levels:
    """The bytes (n,) of a baseline JPEG of a picture (RGB, RGBX or L), and of nothing else that belongs to it.

    Raises:
        RejectError: too_large, with a side that no JPEG has.
    """
    if max(picture.size) > LONGEST:
        raise RejectError("too_large", f"{picture.width} x {picture.height} pixels, and a side of a JPEG has at most {LONGEST}")
    file = io.BytesIO()
    colours = {} if picture.mode == "L" else {"subsampling": SUBSAMPLINGS[how.subsampling]}
    picture.save(file, "JPEG", quality=how.quality, comment=b"", **colours)
    return np.frombuffer(file.getbuffer(), np.uint8)


def is_plain(data: bytes, channels: int) -> bool:
    """Whether a file that was decoded without fault is a JPEG as any reader expects it: baseline or progressive, YCbCr or grey."""
    if not data.startswith(SOI):
        return False
    try:
        _, _, space, _ = simplejpeg.decode_jpeg_header(data)
    except (KeyError, ValueError):  # a sampling that has no name; no picture
        return False
    return frame(data) in PLAIN and space == ("YCbCr" if channels == 3 else "Gray")


def decode_row(data: bytes | Array, channels: int) -> Levels:
    """The levels (H, W, C) of a stored JPEG.

    Raises:
        ValueError: it is broken.
    """
    return np.asarray(simplejpeg.decode_jpeg(data, colorspace="RGB" if channels == 3 else "GRAY", strict=True))


def as_pixels(row: Array, pixels: Pixels) -> Array:
    """What a reader sees of a row (H, W, C)."""
    return decode_row(row, pixels.channels) if pixels.encoding == "jpeg" else row
