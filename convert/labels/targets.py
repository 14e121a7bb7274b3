"""Makes the targets that were asked for out of a table's columns, row by row, and says what they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from convert.errors import counted, printable
from convert.labels.asked import Asked
from convert.labels.classes import Names, map_labels, number_labels, plain_labels, refuse_devkit
from convert.labels.columns import label_column, label_texts
from convert.labels.table import Table
from convert.labels.values import map_names, multi_hot, split_names, value_targets

Targets = npt.NDArray[np.int64] | npt.NDArray[np.float32]


class Made(NamedTuple):
    """Targets of a table's rows: int64 (N,) or float32 (N, K); the classes' or columns' names; and a line for a person."""

    targets: Targets
    classes: Names
    said: str


def make_targets(table: Table, asked: Asked, paths: list[str], *, names: Names | None, whose: str) -> Made:
    """What `asked` asks for; `names` are the classes if they are given, and `whose` says by what.

    Raises:
        PrebakeError: a column that is not there, a cell that is missing, unknown or no number.
    """
    if asked.target is not None:
        return _values(table, asked.target)
    column = label_column(table, asked.label, paths)
    texts = label_texts(table, column)
    if asked.separator is not None:
        return _lists(table, asked, split_names(texts, asked.separator), (column, names, whose))
    texts = plain_labels(table, texts, table.columns[(paths or [column])[0]])
    if asked.label_map is None:
        refuse_devkit(table, texts)
    else:
        texts, mapped = map_labels(table, texts, asked.label_map)
        names = mapped if names is None else names
    labels, classes = number_labels(table, texts, names, whose)
    through = f" through {printable(asked.label_map.name)}" if asked.label_map else ""
    return Made(labels, classes, f"column {printable(column)}{through}")


def _values(table: Table, columns: Names) -> Made:
    targets = value_targets(table, columns)
    unknown = np.isnan(targets).sum(axis=0).tolist()
    blank = ", ".join(f"{count:,} in {printable(name)}" for name, count in zip(columns, unknown, strict=True) if count)
    return Made(targets, columns, f"values of {', '.join(map(printable, columns))}" + (f" (NaN: {blank})" if blank else ""))


def _lists(table: Table, asked: Asked, rows: list[list[str]], by: tuple[str, Names | None, str]) -> Made:
    column, names, whose = by
    if asked.label_map is not None:
        rows, mapped = map_names(table, rows, asked.label_map)
        names = mapped if names is None else names
    targets, names = multi_hot(table, rows, names, whose)
    each = targets.sum(axis=0, dtype=np.int64)
    none = int((~targets.any(axis=1)).sum())
    often = f"{each.min():,} to " if each.min() < each.max() else ""
    said = f"column {printable(column)}, {counted(len(names), 'name')} ({often}{counted(int(each.max()), 'picture')} each)"
    return Made(targets, names, said + (f"; {counted(none, 'row')} without any" if none else ""))
