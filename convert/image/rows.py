"""Finds rows that a PNG, TIFF or WebP file says it has and does not hold: Pillow leaves them black and says nothing."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from PIL import Image

from convert.contracts import RejectError

PASSES = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
"""Adam7: first row and column of each pass, and the steps (PNG specification, 8.2)."""
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Of a pixel, by PNG's colour type."""
STRIPS, ROWS_PER_STRIP, SAMPLES_PER_PIXEL, PLANAR = 273, 278, 277, 284
ZEROS = {b"VP8 ": 65, b"VP8L": 1024}
"""Zeros in a row that no WebP encoder writes: coded data that are as short as they can be look random."""


def check_rows(picture: Image.Image, data: bytes) -> None:
    """Look at a decoded file.

    Raises:
        RejectError: truncated, where rows are missing; corrupt, where a WebP holds zeros instead of coded data.
    """
    if picture.format == "PNG" and _ends_black(picture):
        _check_png(data)
    elif picture.format == "TIFF":
        _check_strips(picture)
    elif picture.format == "WEBP":
        _check_webp(data)


def _ends_black(picture: Image.Image) -> bool:
    """Whether the last two rows hold zeros only, as those do that nothing was written to: only then it is worth another look."""
    last = picture.crop((0, max(0, picture.height - 2), picture.width, picture.height))
    return not any(last.tobytes())


def _check_png(data: bytes) -> None:
    """Unpack the coded data and count."""
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    bits = depth * SAMPLES.get(colour, 1)
    if interlaced:
        sizes = [(-(-(height - top) // down), -(-(width - left) // across)) for top, left, down, across in PASSES]
    else:
        sizes = [(height, width)]
    needed = sum(rows * (1 + -(-columns * bits // 8)) for rows, columns in sizes if rows > 0 and columns > 0)
    unpack, found, at = zlib.decompressobj(), 0, 8
    while at + 8 <= len(data) and not unpack.eof:
        length, name = struct.unpack(">I4s", data[at : at + 8])
        if name == b"IDAT":
            found += _unpacked(unpack, data[at + 8 : at + 8 + length])
        at += 12 + length
    if found < needed:
        raise RejectError("truncated", f"{found} bytes of pixels, where the header says {needed}")


def _unpacked(unpack: Any, data: bytes) -> int:
    """How many bytes they become; a little at a time, as a bomb is small."""
    count = 0
    while data:
        count += len(unpack.decompress(data, 1 << 20))
        data = unpack.unconsumed_tail
    return count


def _check_strips(picture: Any) -> None:
    tags = picture.tag_v2
    strips, rows = tags.get(STRIPS), tags.get(ROWS_PER_STRIP)
    if not strips or not isinstance(rows, int) or rows < 1:
        return
    planes = tags.get(SAMPLES_PER_PIXEL, 1) if tags.get(PLANAR) == 2 else 1
    height = int(tags.get(257, picture.height))
    if len(strips) < -(-height // rows) * planes:
        raise RejectError("truncated", f"{len(strips)} strips of {rows} rows, where the header says {height} rows")


def _check_webp(data: bytes) -> None:
    at = 12
    while at + 8 <= len(data):
        name, length = struct.unpack("<4sI", data[at : at + 8])
        zeros = ZEROS.get(name, 0)
        if zeros and data.find(bytes(zeros), at + 8, at + 8 + length) >= 0:
            raise RejectError("corrupt", f"{zeros} bytes of zeros or more in the coded data")
        at += 8 + length + length % 2
