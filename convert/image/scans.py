"""Whether a JPEG's scans are all there: one cut between two of them, and ended again, is whole to any decoder, only coarse or grey."""

from __future__ import annotations

import numpy as np

from convert.contracts import RejectError
from convert.image.segments import FRAMES, SEQUENTIAL, SOS, segments

COEFFICIENTS = 64
MISSING = 255
MOST = 100
"""Scans; encoders write ten or so, and each costs a pass over the whole picture."""


def check_scans(data: bytes) -> None:
    """Look at the scans' headers: every coefficient of every component must have been coded to its last bit (T.81, annex G).

    Raises:
        RejectError: truncated, where one was not; corrupt, where there are too many scans.
    """
    coverage, scans = _Coverage(b"", sequential=True), 0
    for segment in segments(data):
        body = data[segment.begin : segment.end]
        if segment.marker in FRAMES:
            coverage = _Coverage(body, sequential=segment.marker in SEQUENTIAL)
        elif segment.marker == SOS:
            scans += 1
            coverage.add(body)
            if coverage.sequential and not coverage.missing:
                return  # the usual case: all in one scan, and the rest need not be looked through
        if scans > MOST:
            raise RejectError("corrupt", f"more than {MOST} scans")
    if coverage.missing:
        raise RejectError("truncated", f"{coverage.missing} components are not coded to the end")


class _Coverage:
    """How many bits of each component's coefficients are not coded yet."""

    def __init__(self, frame: bytes, *, sequential: bool) -> None:
        """From what stands in a frame header."""
        self.sequential = sequential
        self._number = {frame[at]: number for number, at in enumerate(range(6, len(frame) - 2, 3))}
        self._bits = np.full((len(self._number), COEFFICIENTS), MISSING, np.uint8)

    def add(self, scan: bytes) -> None:
        """A scan, from what stands in its header. What makes no sense is the decoder's business."""
        if not scan or len(scan) < 4 + 2 * scan[0]:
            return
        first, last, low = (0, COEFFICIENTS - 1, 0) if self.sequential else (scan[-3], scan[-2], scan[-1] & 15)
        for component in scan[1 : 1 + 2 * scan[0] : 2]:
            if component in self._number:
                self._bits[self._number[component], first : last + 1] = low

    @property
    def missing(self) -> int:
        """Components with bits that no scan brought."""
        return int(np.count_nonzero(self._bits.any(axis=1)))
