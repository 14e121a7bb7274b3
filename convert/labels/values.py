"""Turns columns of numbers into values, and lists of names into a 0 or 1 for each name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, UsageError, printable
from convert.labels.label_map import read_label_map
from convert.labels.table import Table

LARGEST = float(np.finfo(np.float32).max)


def value_targets(table: Table, names: tuple[str, ...]) -> npt.NDArray[np.float32]:
    """Columns as float32 (N, K); a blank cell, or the word nan, is NaN.

    Raises:
        PrebakeError: no such column, or a cell that is no number of this size; names row and column.
        UsageError: a column twice.
    """
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"--target names {printable(min(twice))} twice")
    return np.stack([_numbers(table, name) for name in names], axis=1)


def _numbers(table: Table, name: str) -> npt.NDArray[np.float32]:
    numbers = np.full(len(table), np.nan, np.float32)
    for row, cell in enumerate(table.column(name, "--target")):
        if text := cell.strip():
            numbers[row] = _number(table, row, name, text)
    return numbers


def _number(table: Table, row: int, name: str, text: str) -> float:
    try:
        number = float(text) if "_" not in text else math.inf
    except ValueError:
        number = math.inf
    if abs(number) > LARGEST:
        what = f"{printable(text)[:80]!r} is not a number that float32 holds; blank means unknown"
        raise PrebakeError(f"{table.where(row)}, column {printable(name)}: {what}")
    return number


def split_names(texts: list[str], separator: str) -> list[list[str]]:
    """The names in each cell."""
    return [[part for word in text.split(separator) if (part := word.strip())] for text in texts]


def _pairs(rows: list[list[str]]) -> Iterator[tuple[int, str]]:
    return ((row, name) for row, names in enumerate(rows) for name in names)


def map_names(table: Table, rows: list[list[str]], path: Path) -> tuple[list[list[str]], tuple[str, ...]]:
    """The names that labels stand for, and all names in the file, sorted.

    Raises:
        PrebakeError: a label that is not in the file.
    """
    classes = read_label_map(path, {name for _, name in _pairs(rows)})
    table.check_known(_pairs(rows), classes, f"--label-map {printable(path)}")
    return [[classes[name] for name in row] for row in rows], tuple(sorted(classes.values()))


def multi_hot(
    table: Table, rows: list[list[str]], names: tuple[str, ...] | None, whose: str
) -> tuple[npt.NDArray[np.float32], tuple[str, ...]]:
    """A 1 for each name that a row has, float32 (N, K), and the names: sorted, or as given.

    Raises:
        PrebakeError: a name that is not in `names`, or no name at all.
    """
    names = tuple(sorted({name for row in rows for name in row})) if names is None else names
    if not names:
        raise PrebakeError(f"{printable(table.path)}: no row has a label")
    place = {name: column for column, name in enumerate(names)}
    table.check_known(_pairs(rows), place, whose)
    hot = np.zeros((len(rows), len(names)), np.float32)
    for row, each in enumerate(rows):
        hot[row, [place[name] for name in each]] = 1
    return hot, names
