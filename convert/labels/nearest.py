"""Finds the keys that look most like a name that none has."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import islice

import numpy as np
import numpy.typing as npt

BLOCK = 50_000
CANDIDATES, SHOWN = 100, 3
"""Keys that difflib looks at, however many there are; and those that are shown."""


def _codes(text: str) -> npt.NDArray[np.uint16]:
    """Each two bytes in a row, as one number."""
    blob = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8).astype(np.uint16)
    return np.asarray(blob[:-1] << 8 | blob[1:])


def _candidates(keys: Iterable[str], name: str) -> list[str]:
    """The keys that share most pairs of letters with a name, for their length (Dice's coefficient)."""
    known = np.zeros(1 << 16, np.int32)
    known[_codes(f"\0{name}\0")] = 1
    best: list[tuple[float, str]] = []
    rest = iter(keys)
    while block := list(islice(rest, BLOCK)):
        codes = _codes("\0" + "\0".join(block) + "\0")  # no name holds a NUL
        starts = np.flatnonzero(codes < 1 << 8)
        scores = np.add.reduceat(known[codes], starts) / (np.diff(starts, append=len(codes)) + len(name))
        places = np.argsort(-scores, kind="stable")[:CANDIDATES]
        best = heapq.nlargest(CANDIDATES, [*best, *((float(scores[place]), block[place]) for place in places.tolist())])
    return [key for _, key in best]


def nearest(keys: Iterable[str], name: str) -> list[str]:
    """The three most alike, best first; a name without folders is compared with names without folders."""

    def alike(key: str) -> float:
        return SequenceMatcher(None, name, key if "/" in name else key.rpartition("/")[2]).ratio()

    return heapq.nlargest(SHOWN, _candidates(keys, name[:255]), key=alike)
