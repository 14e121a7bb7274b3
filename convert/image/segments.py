"""The parts of a JPEG, by its markers: ITU-T T.81, annex B."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

SOI, EOI = b"\xff\xd8", b"\xff\xd9"
SOS, APP0, APP14 = 0xDA, 0xE0, 0xEE
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Frame headers: DHT, JPG and DAC stand among them."""
SEQUENTIAL, ARITHMETIC = (0xC0, 0xC1), (0xC9, 0xCA)
ALONE = frozenset([0x00, 0x01, *range(0xD0, 0xD9)])
"""Stuffed bytes, and markers that no segment follows."""
MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])", re.DOTALL)
"""The next marker after coded data, in which FF 00 is data and restart markers divide them. More FF may stand before it: to look for
those, too, would take ten times as long."""


class Segment(NamedTuple):
    """A marker, and where it and what follows it stand."""

    marker: int
    start: int
    """Of the marker's FF."""
    begin: int
    """Of what follows the length."""
    end: int
    stray: int | None
    """Bytes before the marker that belong to nothing; None behind coded data, where they cannot be told from those."""


def segments(data: bytes) -> Iterator[Segment]:
    """All segments up to the end marker, which comes last, or to the end of the data. Thumbnails are inside of segments."""
    at, coded = len(SOI), False
    while found := MARKER.search(data, at):
        marker, start = found[1][0], found.end() - 2
        stray = None if coded else len(data[at:start].rstrip(b"\xff"))
        if marker in ALONE:
            at = found.end()
            continue
        begin = found.end() + 2
        end = begin if marker == EOI[1] else found.end() + max(2, int.from_bytes(data[found.end() : begin], "big"))
        yield Segment(marker, start, begin, end, stray)
        if marker == EOI[1]:
            return
        at, coded = end, marker == SOS


def frame(data: bytes) -> int:
    """The marker of a JPEG's first frame header, or 0: how its coefficients are coded."""
    return next((segment.marker for segment in segments(data) if segment.marker in FRAMES), 0)


def is_arithmetic(data: bytes) -> bool:
    """Whether a JPEG's coefficients are coded arithmetically."""
    return frame(data) in ARITHMETIC


def end_of_scans(data: bytes) -> int:
    """Where the end marker stands that closes the scans, or the length."""
    return next((segment.start for segment in segments(data) if segment.marker == EOI[1]), len(data))
