"""Reads a file that says which class an id stands for, such as the ImageNet devkit's map_clsloc.txt: `n02119789 1 kit_fox`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from convert.errors import PrebakeError, printable
from convert.labels.text import opened

Pairs = list[tuple[str, str]]
HEADERS = frozenset(
    ["id", "index", "number", "label", "class", "class_id", "label_id", "name", "class_name", "label_name", "synset", "wnid"]
)


def _readings(lines: list[str]) -> Iterator[Pairs]:
    """The first two cells of each line, cut at tabs, commas, semicolons or spaces, where all lines have as many; or at the first space."""
    for separator in ("\t", ",", ";", None):
        try:
            rows = list(csv.reader(lines, delimiter=separator, strict=True)) if separator else [line.split() for line in lines]
        except csv.Error:
            continue
        if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            yield [(row[0].strip(), row[1].strip()) for row in rows]
    rows = [line.split(None, 1) for line in lines]
    if all(len(row) == 2 for row in rows):
        yield [(row[0], row[1]) for row in rows]


def _pairs(path: Path, wanted: set[str]) -> Pairs:
    """(id, class): of all ways to read the file the one that finds most of the labels among the ids."""
    with opened(path) as file:
        lines = [line.strip() for line in file if line.strip()]
    readings = [pairs[HEADERS.issuperset(cell.lower() for cell in pairs[0]) :] for pairs in _readings(lines)] if lines else []
    if not any(readings):
        raise PrebakeError(f"--label-map {printable(path)} must have an id and a class on each line, such as n02119789 1")
    ways = [way for pairs in readings for way in (pairs, [(second, first) for first, second in pairs])]
    hits = [len(wanted & {name for name, _ in way}) for way in ways]
    best = hits.index(max(hits))
    if best % 2 == 0 and hits[best + 1] == hits[best] and ways[best] != ways[best + 1]:
        which = "both columns hold" if hits[best] else "no column holds"
        raise PrebakeError(f"--label-map {printable(path)}: {which} the labels of the table")
    return ways[best]


def read_label_map(path: Path, wanted: set[str]) -> dict[str, str]:
    """The class of each id. Which column has the ids is told by the labels that are wanted.

    Raises:
        PrebakeError: it cannot be read, it is not clear which column has the ids, an id or a class stands there twice.
    """
    classes: dict[str, str] = {}
    for name, meant in _pairs(path, wanted):
        if classes.setdefault(name, meant) != meant:
            both = f"{printable(classes[name])} and {printable(meant)}"
            raise PrebakeError(f"--label-map {printable(path)}: {printable(name)} stands there twice, for {both}")
    ids: dict[str, str] = {}
    for name, meant in classes.items():
        if ids.setdefault(meant, name) != name:
            both = f"{printable(ids[meant])} and {printable(name)}"
            raise PrebakeError(f"--label-map {printable(path)}: {both} are both called {printable(meant)}: classes must differ")
    return classes
