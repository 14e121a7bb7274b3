"""Finds pictures whose bytes were baked twice, here or in the bake of `--like`, and writes `hashes.npy` and `duplicates.csv`."""

from __future__ import annotations

import csv
import heapq
import operator
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from convert.errors import counted
from convert.hashes import HASHES, NBYTES, Hashes, Inventory, first_places
from convert.manifest import SideFile
from convert.packed import Packed
from convert.plan import Plan
from convert.sidefiles import describe, write_csv

DUPLICATES = "duplicates.csv"
HEADER = ["key", "class", "index", "same_as", "other_key", "other_class", "other_index"]
Pairs = npt.NDArray[np.int64]
"""(K, 2): the index of a picture, and the first index with the same bytes."""


class Duplicates(NamedTuple):
    """How many pictures have the bytes of another."""

    here: int = 0
    """Of an earlier one of this bake."""
    astray: int = 0
    """Of these, in another class than that one."""
    there: int = 0
    """Of one in the bake of `--like`."""

    def line(self, like: str) -> str:
        """One sentence for the summary; empty if there are none. `like` is what the other bake is called."""
        parts = []
        if self.here:
            astray = f", {self.astray:,} of them in another class" if self.astray else ""
            parts.append(f"{counted(self.here, 'picture')} {'has' if self.here == 1 else 'have'} the bytes of another{astray}")
        if self.there:
            parts.append(f"{counted(self.there, 'picture')} {'is' if self.there == 1 else 'are'} also in {like}")
        return f"duplicates: {'; '.join(parts)}: see {DUPLICATES}" if parts else ""


def write_duplicates(
    out: Path, plan: Plan, packed: Sequence[Packed], *, items: npt.NDArray[np.int64], labels: npt.NDArray[np.int64] | None
) -> tuple[list[SideFile], Duplicates]:
    """Write both files, unless that was not asked for; the shards are in their order, `items` became rows, and these are their labels."""
    if plan.dedupe == "off":
        return [], Duplicates()
    hashes = np.frombuffer(b"".join(done.hashes for done in packed), np.uint8).reshape(-1, NBYTES)
    own = Inventory(hashes, plan.keys.take(items), plan.classes, labels)
    np.save(out / HASHES, hashes, allow_pickle=False)
    found = write_pairs(out / DUPLICATES, own, plan.other)
    return [describe(out / name) for name in (DUPLICATES, HASHES)], found


def write_pairs(path: Path, own: Inventory, other: Inventory | None) -> Duplicates:
    """Write `duplicates.csv` of a bake, and of another that it is compared with."""
    here = _twins(own.hashes)
    there = np.empty((0, 2), np.int64) if other is None else _leaked(own.hashes, other.hashes)
    labels = own.labels
    astray = 0 if labels is None else int(np.count_nonzero(labels[here[:, 0]] != labels[here[:, 1]]))
    write_csv(path, HEADER, _lines(own, here, other or own, there))
    return Duplicates(len(here), astray, len(there))


def keep_leaks(path: Path, before: Path) -> None:
    """Put what another `duplicates.csv` says of the bake of `--like` among the lines of this one, which was made without it."""
    (header, *lines), old = _rows(path), _rows(before)
    if leaks := [line for line in old if len(line) == len(header) and line[3] == "like"]:
        together = sorted(lines + leaks, key=lambda line: int(line[2]))
        write_csv(path, header, together)


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return list(csv.reader(file))


def _twins(hashes: Hashes) -> Pairs:
    """The pictures whose bytes stand earlier in the same bake."""
    first = first_places(hashes)
    index = np.flatnonzero(first < np.arange(len(first)))
    return np.stack([index, first[index]], axis=1)


def _leaked(hashes: Hashes, other: Hashes) -> Pairs:
    """The pictures whose bytes stand in another bake."""
    first = first_places(np.concatenate([other, hashes]))[len(other) :]
    index = np.flatnonzero(first < len(other))
    return np.stack([index, first[index]], axis=1)


def _lines(own: Inventory, here: Pairs, other: Inventory, there: Pairs) -> Iterator[tuple[object, ...]]:
    """By index; what is in this bake before what is in the other."""
    twins = ((index, "here", own.line(first)) for index, first in here.tolist())
    leaks = ((index, "like", other.line(first)) for index, first in there.tolist())
    for index, same_as, line in heapq.merge(twins, leaks, key=operator.itemgetter(0)):
        yield *own.line(index), same_as, *line
