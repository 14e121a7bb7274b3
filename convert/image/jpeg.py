"""Decodes a JPEG, and tells a whole one from a broken one.

Strict libjpeg-turbo first: what passes is good. It also refuses good files (stray bytes between segments, padding before the end
marker, no end marker at all), so what it refuses is judged by whether its pixels depend on bytes that are not there.
"""

import hashlib
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
SCALES = (8, 4, 2)
"""What a decoder can divide both sides by."""
HARMLESS = (
    ("Premature end of JPEG", "JPEG without an end marker"),
    ("extraneous bytes", "JPEG with stray bytes before a marker"),
    ("SOS parameters", "JPEG with invalid SOS parameters"),
    ("JFIF", "JPEG with an unknown JFIF version"),
)
"""What strict libjpeg-turbo says, and what it is called in the summary."""
FILLER = 4096
"""Bytes put in place of missing ones: more than a decoder could skip without decoding them."""


def decode_strict(data: bytes, least: tuple[int, int] | None = None) -> Levels | None:
    """RGB levels (H, W, 3), or None where strict libjpeg-turbo refuses: then see `judge`. The same pixels as Pillow's, to the bit.

    A picture of which less is enough (`least`: height and width) is decoded at 1/2, 1/4 or 1/8 of its size, where its sides divide
    by that; the same coefficients are read, so that no defect is missed.

    Raises:
        RejectError: zeros stand where coded data should.
    """
    look_for_holes(data)
    try:
        height, width, colourspace, _ = simplejpeg.decode_jpeg_header(data)
        if colourspace not in ("YCbCr", "RGB", "Gray"):
            return None
        by = _scale(height, width, least) if least else 1
        scale = {"min_height": height // by, "min_width": width // by, "min_factor": by} if by > 1 else {}
        return np.asarray(simplejpeg.decode_jpeg(data, colorspace="RGB", strict=True, **scale))
    except ValueError:
        return None


def _scale(height: int, width: int, least: tuple[int, int]) -> int:
    fits = (by for by in SCALES if height % by == width % by == 0 and height >= by * least[0] and width >= by * least[1])
    return next(fits, 1)


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
        decoded = {_digest(body + filler + EOI) for filler in (b"", _filler(b"\x55", 0), _filler(b"\xaa", 4))}
    except Exception as error:  # Pillow raises almost anything on a broken file
        raise RejectError("corrupt", f"{type(error).__name__}: {error}") from error
    if len(decoded) > 1:
        raise RejectError("truncated", defect)
    seen[next((kind for words, kind in HARMLESS if words in defect), "JPEG with a harmless defect")] += 1


def _filler(byte: bytes, first: int) -> bytes:
    """Coded data, also behind every restart marker: a file cut just before one of them waits for that marker, and skips all else.

    libjpeg takes a marker that comes one or two too early for one to wait at: so two fillers begin with markers far apart.
    """
    return byte * FILLER + b"".join(bytes((0xFF, 0xD0 + (first + k) % 8)) + byte * FILLER for k in range(8))


def _digest(data: bytes) -> bytes:
    """SHA-256 of the pixels: three copies of a large picture would fill the memory."""
    with Image.open(io.BytesIO(data)) as picture:
        picture.load()
        return hashlib.sha256(np.asarray(picture).data).digest()


def mend(data: bytes) -> bytes:
    """The same file with its end marker, which Pillow insists on."""
    return data[: end_of_scans(data)].rstrip(b"\xff") + EOI
