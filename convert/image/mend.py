"""Mends a JPEG that strict libjpeg-turbo refuses, where its defect is known and costs no pixel; what it refuses after that is broken."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

import simplejpeg

from convert.contracts import RejectError
from convert.image.fillers import check_end
from convert.image.segments import APP0, APP14, EOI, FRAMES, SEQUENTIAL, SOS, end_of_scans, segments

STRAY = re.compile(r"(\d+) extraneous bytes before marker 0x([0-9a-f]{2})")
MAX_STRAY, FEW = 64, 1
"""Bytes before a marker that may be padding; more are coded data that the decoder did not use, as is more than one behind coded
data that are not zeros."""
SAMPLING = "Could not determine subsampling"
"""What its simple interface cannot decode, and libjpeg can."""
TRIES = 16
"""Places at which stray bytes are looked for."""
MENDS = 8
"""Defects that one file may have."""


def mended(data: bytes, seen: Counter[str]) -> bytes:
    """The same picture without its harmless defects; `seen` counts them by kind.

    Raises:
        RejectError: truncated or corrupt.
    """
    for _ in range(MENDS):
        defect = first_defect(data)
        if defect is None:
            return data
        if SAMPLING in defect:
            check_end(data, 0)
            return data
        kind, data = _mend(data, defect)
        seen[kind] += 1
    raise RejectError("corrupt", "too many defects")


def first_defect(data: bytes) -> str | None:
    """The first thing that strict libjpeg-turbo has against the file, if any."""
    try:
        simplejpeg.decode_jpeg(data, colorspace="Gray", strict=True)
    except ValueError as error:
        return str(error)
    return None


def _mend(data: bytes, defect: str) -> tuple[str, bytes]:
    """What the defect is called, and the file without it."""
    if stray := STRAY.search(defect):
        return "JPEG with stray bytes before a marker", _without_stray(data, int(stray[1]), int(stray[2], 16), defect)
    for words, kind, mend in KNOWN:
        if words in defect and (new := mend(data)) != data:
            return kind, new
    raise RejectError("truncated" if "premature" in defect.lower() else "corrupt", defect)


def _with_end(data: bytes) -> bytes:
    body = data[: end_of_scans(data)].rstrip(b"\xff")
    zeros = len(body) - len(body.rstrip(b"\0"))
    if zeros > MAX_STRAY:  # where zeros are honest code words such a file decodes to its end, grey
        raise RejectError("truncated", f"ends with {zeros} bytes of zeros, and no end marker")
    return body + EOI


def _with_jfif_1(data: bytes) -> bytes:
    """Version 1.1: the later ones, if there are any, changed nothing that a decoder needs."""
    for segment in segments(data):
        if segment.marker == APP0 and data[segment.begin :].startswith(b"JFIF\0"):
            at = segment.begin + 5
            data = data[:at] + b"\1\1" + data[at + 2 :]
    return data


def _with_whole_scans(data: bytes) -> bytes:
    """A sequential scan holds coefficients 0 to 63, whatever its header says, as Samsung's phones write."""
    found = list(segments(data))
    if any(segment.marker in FRAMES and segment.marker not in SEQUENTIAL for segment in found):
        return data
    for segment in found:
        if segment.marker == SOS:
            data = data[: segment.end - 3] + b"\0\x3f\0" + data[segment.end :]
    return data


def _with_known_transform(data: bytes) -> bytes:
    """Adobe's colour transform: what decoders assume where its number is unknown, YCbCr or YCCK."""
    found = list(segments(data))
    components = next((data[segment.begin + 5] for segment in found if segment.marker in FRAMES), 3)
    for segment in found:
        if segment.marker == APP14 and data[segment.begin :].startswith(b"Adobe"):
            data = data[: segment.begin + 11] + bytes([2 if components == 4 else 1]) + data[segment.begin + 12 :]
    return data


KNOWN = (
    ("Premature end of JPEG", "JPEG without an end marker", _with_end),
    ("SOS parameters", "JPEG with invalid SOS parameters", _with_whole_scans),
    ("JFIF", "JPEG with an unknown JFIF version", _with_jfif_1),
    ("Adobe color transform", "JPEG with an unknown Adobe transform", _with_known_transform),
)
"""Words of libjpeg's message, what the defect is called in the summary, and what takes it away."""


def _without_stray(data: bytes, count: int, marker: int, defect: str) -> bytes:
    if count > MAX_STRAY:
        new = data[: end_of_scans(data)].rstrip(b"\0") + EOI  # padding, however long, if the file is whole without a byte of it
        if marker == EOI[1] and first_defect(new) is None:
            return new
        raise RejectError("corrupt", defect)
    for at, known in islice(_places(data, count, marker), TRIES):
        if not known and count > FEW and data[at - count : at].strip(b"\0\xff"):
            continue
        new = data[: at - count] + data[at:]
        if first_defect(new) != defect:
            return new
    raise RejectError("corrupt", defect)


def _places(data: bytes, count: int, marker: int) -> Iterator[tuple[int, bool]]:
    """Where the marker stands behind so many stray bytes, or may, and whether they are known as such: not behind coded data."""
    if 0xD0 <= marker <= 0xD7:
        yield from ((found.start(), False) for found in re.finditer(bytes([0xFF, marker]), data))
    for segment in segments(data):
        if segment.marker == marker and segment.stray in (count, None):
            yield segment.start, segment.stray is not None
