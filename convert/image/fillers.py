"""Tells a whole JPEG from a cut one where strict libjpeg-turbo cannot: by whether its pixels change with what stands in for missing bytes.

An arithmetic decoder takes zeros for what is missing and says nothing; and some samplings of colours only Pillow's libjpeg reads.
"""

import io

import numpy as np
from PIL import Image

from convert.contracts import RejectError
from convert.image.segments import EOI, end_of_scans

FILLER = 4096
"""Bytes put in place of missing ones: more than a decoder could skip without decoding them."""
ARITHMETIC = 0.01
"""Pixels of an arithmetic file that may change: its encoder leaves zeros at its end out."""


def check_end(data: bytes, share: float) -> None:
    """Decode with three fillers, one after the other, as a large picture fills the memory.

    Raises:
        RejectError: truncated, where more than a share of the pixels differs.
    """
    body = data[: end_of_scans(data)].rstrip(b"\xff")
    first = _pixels(body + EOI)
    for filler in (_filler(b"\x55", 0), _filler(b"\xaa", 4)):
        other = _pixels(body + filler + EOI)
        if other.shape != first.shape or np.count_nonzero(other != first) > share * first.size:
            raise RejectError("truncated", "the pixels depend on coded data that is missing")


def _filler(byte: bytes, first: int) -> bytes:
    """Coded data, also behind every restart marker: a file cut just before one of them waits for that marker, and skips all else.

    libjpeg takes a marker that comes one or two too early for one to wait at: so two fillers begin with markers far apart.
    """
    return byte * FILLER + b"".join(bytes((0xFF, 0xD0 + (first + k) % 8)) + byte * FILLER for k in range(8))


def _pixels(data: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    with Image.open(io.BytesIO(data)) as picture:
        picture.load()
        return np.asarray(picture)
