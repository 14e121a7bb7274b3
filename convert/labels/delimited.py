"""Reads a CSV or TSV file with a line of column names; comma, semicolon or tab is told by that line."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from convert.errors import PrebakeError, printable
from convert.labels.table import Table
from convert.labels.text import opened
from convert.walk import EXTENSIONS

SEPARATORS = ",;\t"


@contextmanager
def _any_length() -> Iterator[None]:
    """Cells may be longer than the 128 KB that Python's csv takes; the limit is the process's, so it is put back."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def read_delimited(path: Path) -> Table:
    """A table of texts.

    Raises:
        PrebakeError: no column names, a row with more or fewer cells, quotes that do not close.
    """
    table = Table(path)
    with opened(path) as file, _any_length():
        reader = csv.reader(file, delimiter=_separator(file), strict=True)
        line = 1
        try:
            header = _header(path, next(reader, []))
            cells: list[list[str]] = [[] for _ in header]
            line = reader.line_num + 1
            for row in reader:
                if row:
                    if len(row) != len(header):
                        raise PrebakeError(f"{printable(path)}, line {line} has {len(row)} cells, and the first line names {len(header)}")
                    for column, cell in zip(cells, row, strict=True):
                        column.append(cell)
                    table.lines.append(line)
                line = reader.line_num + 1
        except csv.Error as error:
            raise PrebakeError(f"{printable(path)}, line {line} is not CSV: {error}") from error
    table.columns = dict(zip(header, cells, strict=True))
    return table


def _separator(file: TextIO) -> str:
    """The one that cuts the first line into most cells; a comma where none does. The file then stands at its start again."""
    first = file.readline()
    file.seek(0)
    return max(SEPARATORS, key=lambda separator: len(next(csv.reader(io.StringIO(first), delimiter=separator), [])))


def _header(path: Path, cells: list[str]) -> list[str]:
    """The columns' names; one without is called by its number."""
    names = [cell.strip() or f"column_{number}" for number, cell in enumerate(cells, 1)]
    if not any(cell.strip() for cell in cells):
        raise PrebakeError(f"{printable(path)}: its first line must name the columns, such as path,label")
    counts = Counter(names)
    for name in names:
        if counts[name] > 1:
            raise PrebakeError(f"{printable(path)} has two columns called {printable(name)}: rename one")
        if name.lower().endswith(EXTENSIONS):
            raise PrebakeError(f"{printable(path)}: its first line must name the columns, such as path,label, and has {printable(name)}")
    return names
