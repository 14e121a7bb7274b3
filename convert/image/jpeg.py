"""Decodes a JPEG, and tells a whole one from a broken one.

Strict libjpeg-turbo first: what passes is good. It also refuses good files (stray bytes between segments, padding before the end
marker, no end marker at all), so what it refuses is judged by whether its pixels depend on bytes that are not there.
"""

import io
import re
from collections import Counter

import numpy as np
import numpy.typing as npt
import simplejpeg
from PIL import Image

from convert.contracts import RejectError
from convert.image.holes import look_for_holes

Levels = npt.NDArray[np.uint8]

SOI, EOI = b"\xff\xd8", b"\xff\xd9"
EXTRANEOUS = re.compile(r"(\d+) extraneous bytes before marker 0xd9")
MAX_STRAY = 64
"""Stray bytes before the end marker that may be padding; more are coded data that the decoder did not use."""
FILLER = 4096
"""Bytes put in place of missing ones: more than a decoder could skip without decoding them."""


def decode_strict(data: bytes) -> Levels | None:
    """RGB levels (H, W, 3), or None where strict libjpeg-turbo refuses: then see `judge`. The same pixels as Pillow's, to the bit.

    Raises:
        RejectError: zeros stand where coded data should.
    """
    look_for_holes(data)
    try:
        _, _, colourspace, _ = simplejpeg.decode_jpeg_header(data)
        if colourspace not in ("YCbCr", "RGB", "Gray"):
            return None
        return np.asarray(simplejpeg.decode_jpeg(data, colorspace="RGB", strict=True))
    except ValueError:
        return None


def _defect(data: bytes) -> str | None:
    """What strict libjpeg-turbo has against the file, if anything."""
    try:
        simplejpeg.decode_jpeg(data, colorspace="Gray", strict=True)
    except ValueError as error:
        return str(error)
    return None


def end_of_scans(data: bytes) -> int:
    """Where the end marker stands that closes the scans, or the length: thumbnails' markers, inside segments, do not count."""
    at = len(SOI)
    while (at := data.find(b"\xff", at)) >= 0 and at + 1 < len(data):
        marker = data[at + 1]
        if marker == 0xD9:
            return at
        if marker == 0xFF:
            at += 1
        elif marker in (0x00, 0x01) or 0xD0 <= marker <= 0xD8:  # stuffed byte, or a marker that stands alone
            at += 2
        else:  # a segment: its length follows; after SOS, coded data, in which only real markers count
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return len(data)


def judge(data: bytes, seen: Counter[str]) -> None:
    """Accept a file that strict libjpeg-turbo refuses, or not: its pixels must not change with what stands in for missing bytes.

    Raises:
        RejectError: truncated or corrupt.
    """
    defect = _defect(data)
    if defect is None:
        return
    stray = EXTRANEOUS.search(defect)
    if stray and int(stray[1]) > MAX_STRAY:
        raise RejectError("corrupt", defect)
    body = data[: end_of_scans(data)].rstrip(b"\xff")
    zeros = len(body) - len(body.rstrip(b"\0"))
    if zeros > MAX_STRAY:  # such a file may decode to its end, grey, where zeros are honest code words
        raise RejectError("truncated", f"ends with {zeros} bytes of zeros; {defect}")
    try:
        decoded = [_levels(body + filler + EOI) for filler in (b"", _filler(b"\x55", 0), _filler(b"\xaa", 4))]
    except Exception as error:  # Pillow raises almost anything on a broken file
        raise RejectError("corrupt", f"{type(error).__name__}: {error}") from error
    if not all(np.array_equal(decoded[0], other) for other in decoded[1:]):
        raise RejectError("truncated", defect)
    seen["JPEG with a harmless defect"] += 1


def _filler(byte: bytes, first: int) -> bytes:
    """Coded data, also behind every restart marker: a file cut just before one of them waits for that marker, and skips all else.

    libjpeg takes a marker that comes one or two too early for one to wait at: so two fillers begin with markers far apart.
    """
    return byte * FILLER + b"".join(bytes((0xFF, 0xD0 + (first + k) % 8)) + byte * FILLER for k in range(8))


def _levels(data: bytes) -> Levels:
    with Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture.convert("RGB"))


def mend(data: bytes) -> bytes:
    """The same file with its end marker, which Pillow insists on."""
    return data[: end_of_scans(data)].rstrip(b"\xff") + EOI
