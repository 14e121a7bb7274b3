"""Turns a column of labels into class numbers and class names."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from convert.labels.label_map import read_label_map
from convert.labels.table import Table

WHOLE = re.compile(r"([0-9]+)(\.0*)?")
"""pandas writes whole numbers as 3.0 where others are missing."""
MOST = 1_000_000
"""Classes that numbers may stand for; a larger number is no label."""
DEVKIT = 1000
Names = tuple[str, ...]


def _whole(text: str) -> int | None:
    """The number that a text is, if it is a whole one."""
    found = WHOLE.fullmatch(text) if len(text) < 20 else None
    return int(found[1]) if found else None


def plain_labels(table: Table, texts: list[str], pictures: list[str]) -> list[str]:
    """The labels; whole numbers without a point, if all are such.

    Raises:
        PrebakeError: rows without a label.
    """
    if missing := [row for row, text in enumerate(texts) if not text]:
        raise table.complain(missing, "no label", (pictures[row] for row in missing))
    return [text.partition(".")[0] for text in texts] if all(_whole(text) is not None for text in set(texts)) else texts


def map_labels(table: Table, texts: list[str], path: Path) -> tuple[list[str], Names]:
    """The classes that labels stand for, and all classes that the file names, sorted.

    Raises:
        PrebakeError: a label that is not in the file.
    """
    classes = read_label_map(path, set(texts))
    table.check_known(enumerate(texts), classes, f"--label-map {printable(path)}")
    return [classes[text] for text in texts], tuple(sorted(classes.values()))


def number_labels(table: Table, texts: list[str], names: Names | None, whose: str) -> tuple[npt.NDArray[np.int64], Names]:
    """A label for each row, int64 (N,), and the names of the classes.

    Names are numbered in sorted order, or by their place in `names`. Whole numbers are the labels themselves, and `names` then names them,
    unless they are names there.

    Raises:
        PrebakeError: a name or a number that `names` lacks, a number that is no class; `whose` says where the names are from.
    """
    values = set(texts)
    numeric = all(_whole(text) is not None for text in values)
    if numeric and (names is None or _by_place(names)):
        return _numbers(table, texts, names, whose)
    if names is None:
        _refuse_measurements(table, texts)
        names = tuple(sorted(values))
    place = {name: label for label, name in enumerate(names)}
    table.check_known(enumerate(texts), place, whose)
    return np.array([place[text] for text in texts], np.int64), names


def _by_place(names: Names) -> bool:
    """Whether numbers are places in the list: none of the names is a number, or each is its own place."""
    return all(_whole(name) is None for name in names) or names == tuple(map(str, range(len(names))))


def _numbers(table: Table, texts: list[str], names: Names | None, whose: str) -> tuple[npt.NDArray[np.int64], Names]:
    limit = MOST if names is None else len(names)
    known = {text: _whole(text) or 0 for text in set(texts)}
    bad = [row for row, text in enumerate(texts) if known[text] >= limit]
    if bad:
        what = f"a label that {whose} does not know" if names else f"a label of {limit:,} or more, which is no class"
        advice = f"; its last is {limit - 1}" if names else "; --target stores numbers as values"
        raise table.complain(bad, what, (texts[row] for row in bad), advice)
    labels = np.array([known[text] for text in texts], np.int64)
    return labels, names if names is not None else tuple(map(str, range(int(labels.max()) + 1)))


def _refuse_measurements(table: Table, texts: list[str]) -> None:
    """Labels that are all numbers, but not whole ones from 0, are measurements or codes: classes sorted as text would be nonsense."""
    try:
        numbers = {text: float(text) for text in set(texts)}
    except ValueError:
        return
    if any("_" in text for text in numbers):  # Python's float takes 1_0, which is a name
        return
    odd = [row for row, text in enumerate(texts) if _whole(text) is None]
    if negative := [row for row in odd if numbers[texts[row]] < 0 and numbers[texts[row]].is_integer()]:
        raise table.complain(
            negative,
            "a negative label, which is no class",
            (texts[row] for row in negative),
            "; --target stores numbers as values, or leave the row out",
        )
    raise PrebakeError(f"{table.where(odd[0])}: {printable(texts[odd[0]])} is a number, not a class; --target stores values")


def refuse_devkit(table: Table, texts: list[str]) -> None:
    """ImageNet's own numbers begin at 1 and follow no order of names: a network's class 0 is the first of the sorted synsets.

    Raises:
        PrebakeError: the labels look like those.
    """
    values = [number for text in set(texts) if (number := _whole(text)) is not None]
    if len(values) < len(set(texts)) or not 1 <= min(values) <= max(values) <= DEVKIT:
        return
    bare = len(table.columns) == 1
    if bare or max(values) == DEVKIT:  # places of 1000 classes end at 999
        raise PrebakeError(
            f"{printable(table.path)}: labels from {min(values)} to {max(values)}, none 0, look like the ids of ImageNet's devkit, "
            "which are not the places of the sorted synsets: say which synset each is with --label-map map_clsloc.txt, or count from 0"
        )
