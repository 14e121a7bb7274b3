"""Finds the columns of a table that name the picture and its label, as the user said or by their usual names."""

from __future__ import annotations

import re
import string

from convert.errors import PrebakeError, UsageError, printable
from convert.labels.table import Table

PATHS = frozenset(["path", "file", "filename", "image", "imagepath", "img", "imageid", "id", "key"])
LABELS = frozenset(["label", "class", "target", "category"])
FIRST_WORD = "predictionstring"
"""Kaggle's ImageNet tables: the first word is the class, what follows are boxes."""


def _plain(name: str) -> str:
    """`File_Name`, `file name` and `filename` are one."""
    return re.sub(r"[-_ ]", "", name.lower())


def path_columns(table: Table, asked: str | None) -> list[str]:
    """The columns that make a picture's path: one, or those in a template's braces.

    Raises:
        PrebakeError: no such column, or none or several with a usual name; lists the columns.
        UsageError: braces that do not close.
    """
    if asked is not None:
        names = [name for _, name in _template(asked) if name] if "{" in asked else [asked]
        for name in names:
            table.column(name, "--path")
        return names
    fit = [name for name in table.columns if _plain(name) in PATHS]
    if len(fit) != 1:
        several = f"{' and '.join(map(printable, fit[:4]))} could all name the picture"
        which = several if fit else "none has a usual name of a picture's path"
        raise PrebakeError(f"{printable(table.path)} has the columns {table.names()}: {which}; say which with --path")
    return fit


def picture_paths(table: Table, asked: str | None) -> list[str]:
    """For each row the text that names its picture.

    Raises:
        PrebakeError: rows without one, and as `path_columns`.
    """
    names = path_columns(table, asked)
    columns = [table.columns[name] for name in names]
    missing = [row for row, cells in enumerate(zip(*columns, strict=True)) if not all(cell.strip() for cell in cells)]
    if missing:
        raise table.complain(missing, f"no {' or '.join(map(printable, names))}", [""] * len(missing))
    if asked is None or "{" not in asked:
        return columns[0]
    parts = _template(asked)
    fields = [(literal, table.columns[name] if name else None) for literal, name in parts]
    return ["".join(literal + (column[row].strip() if column else "") for literal, column in fields) for row in range(len(table))]


def _template(text: str) -> list[tuple[str, str | None]]:
    """`{patient}/{image}.png` as pairs of what stands before a column, and the column."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise UsageError(f"--path {printable(text)}: {error}") from error
    if any(name == "" or form or conversion for _, name, form, conversion in parts):
        raise UsageError(f"--path {printable(text)}: only names of columns may stand in braces")
    return [(literal, name) for literal, name, _, _ in parts]


def label_column(table: Table, asked: str | None, paths: list[str]) -> str:
    """The column of the labels: as asked, the one with a usual name, or the only one besides the path's.

    Raises:
        PrebakeError: no such column, or none or several that could be it; lists the columns.
    """
    if asked is not None:
        table.column(asked, "--label")
        return asked
    others = [name for name in table.columns if name not in paths]
    fit = [name for name in others if _plain(name) in LABELS] or others
    if len(fit) != 1:
        which = f"{' and '.join(map(printable, fit[:4]))} could all be the label" if fit else "none is left for the label"
        raise PrebakeError(f"{printable(table.path)} has the columns {table.names()}: {which}; say which with --label, or --target")
    return fit[0]


def label_texts(table: Table, name: str) -> list[str]:
    """The labels, without spaces around them."""
    if _plain(name) == FIRST_WORD:
        return [(cell.split() or [""])[0] for cell in table.columns[name]]
    return [cell.strip() for cell in table.columns[name]]
