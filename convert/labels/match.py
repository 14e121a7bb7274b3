"""Matches the names in a table to the pictures in a folder."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, counted, printable
from convert.labels.nearest import nearest
from convert.labels.table import SHOWN, Table

NOBODY = -1
Found = list[dict[str, tuple[int, ...]]]
"""Tuples, here and below: of lists, Python's collector would look at each of a million again and again."""


def _forms(key: str) -> tuple[str, str, str, str]:
    """What a row may call a picture: its path; or, if no other can be meant, path without extension, file name, and that without one."""
    path = _composed(key)
    bare = path.rpartition("/")[2]
    return path, path.rpartition(".")[0], bare, bare.rpartition(".")[0]


def _composed(text: str) -> str:
    """NFC: a Mac takes names apart, into letters and accents."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _spellings(name: str, roots: frozenset[str]) -> tuple[str, ...]:
    r"""A name as a path below the root: without `./`, with `/` for `\`, and without what leads to a folder called like the root."""
    if "/" not in name and "\\" not in name:
        return (_composed(name.strip()),)
    parts = [part for part in _composed(name.strip()).replace("\\", "/").split("/") if part not in ("", ".")]
    return ("/".join(parts), *("/".join(parts[place:]) for place in range(1, len(parts)) if parts[place - 1] in roots))


def _exact(keys: Sequence[str], names: list[str]) -> dict[str, int]:
    """For each different name the picture whose key it is, to the letter."""
    items = dict.fromkeys(names, NOBODY)
    for item, key in enumerate(keys):
        if key in items:
            items[key] = item
    return items


def _search(keys: Sequence[str], wanted: set[str]) -> Found:
    """For each form, the pictures that have it; only forms that are wanted are kept."""
    found: Found = [{}, {}, {}, {}]
    for item, key in enumerate(keys):
        for kind, form in zip(found, _forms(key), strict=True):
            if form in wanted:
                kind[form] = (*kind.get(form, ()), item)
    return found


def _hits(spellings: tuple[str, ...], found: Found) -> list[int]:
    """The pictures that a name may mean: those with this path, else those with any other form. File names go by the name as it stands."""
    paths, short, *bare = found
    hits = {item for spelling in spellings for item in paths.get(spelling, ())}
    if not hits:
        hits = {item for spelling in spellings for item in short.get(spelling, ())}
        hits |= {item for kind in bare for item in kind.get(spellings[0], ())}
    return sorted(hits)


def match(keys: Sequence[str], root: Path, table: Table, names: list[str]) -> npt.NDArray[np.int64]:
    """For each row of a table the picture that it names, as a place in `keys`.

    Raises:
        PrebakeError: a row that could mean several pictures or means none, or two rows for one picture.
    """
    items = _exact(keys, names)
    others = [name for name, item in items.items() if item == NOBODY]
    if others:
        roots = frozenset(_composed(path.name) for path in (Path(os.path.abspath(root)), root.resolve()))  # noqa: PTH100 - `..` goes, links stay
        spellings = {name: _spellings(name, roots) for name in others}
        found = _search(keys, {spelling for each in spellings.values() for spelling in each})
        for name, each in spellings.items():
            hits = _hits(each, found)
            if len(hits) > 1:
                shown = ", ".join(printable(keys[item]) for item in hits[:SHOWN]) + (", ..." if len(hits) > SHOWN else "")
                raise PrebakeError(f"{table.where(names.index(name))}: {printable(name)} could be {shown}: write the path")
            items[name] = hits[0] if hits else NOBODY
    rows = np.array([items[name] for name in names], np.int64)
    _check_misses(keys, table, names, rows)
    _check_doubles(keys, table, rows)
    return rows


def _check_misses(keys: Sequence[str], table: Table, names: list[str], rows: npt.NDArray[np.int64]) -> None:
    missed = np.flatnonzero(rows == NOBODY).tolist()
    if missed:
        first = names[missed[0]]
        hint = f"; nearest to {printable(first)}: {', '.join(map(printable, nearest(keys, first.strip())))}"
        if any(0xDC80 <= ord(letter) < 0xDD00 for letter in first):
            hint += "; the table is not UTF-8: save it as UTF-8"
        raise table.complain(missed, "no picture", (names[row] for row in missed), hint)


def _check_doubles(keys: Sequence[str], table: Table, rows: npt.NDArray[np.int64]) -> None:
    counts = Counter(rows.tolist())
    if len(counts) == len(rows):
        return
    doubles = [item for item, count in counts.items() if count > 1]
    shown = []
    for item in doubles[:SHOWN]:
        lines = [table.lines[row] for row in np.flatnonzero(rows == item)[:2].tolist()]
        shown.append(f"{printable(keys[item])} (lines {lines[0]} and {lines[1]})")
    dots = ", ..." if len(doubles) > SHOWN else ""
    verb = "have" if len(doubles) > 1 else "has"
    raise PrebakeError(f"{printable(table.path)}: {counted(len(doubles), 'picture')} {verb} more than one row: {', '.join(shown)}{dots}")
