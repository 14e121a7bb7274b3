"""Reads a text file of lines `path label`, or with a whole number alone on each, as ImageNet's ground truth is."""

from __future__ import annotations

from pathlib import Path

from convert.errors import PrebakeError, printable
from convert.labels.table import Table
from convert.labels.text import opened

PATH, LABEL = "path", "label"


def read_lines(path: Path) -> Table:
    """The columns `path` and `label`, or `label` alone: then the rows are in the order of the sorted file names.

    Raises:
        PrebakeError: lines of both kinds, or of neither.
    """
    table = Table(path)
    rows: list[list[str]] = []
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if cells := line.strip("\r\n").rsplit("\t" if "\t" in line.strip() else None, 1):  # a path may hold spaces
                rows.append(cells)
                table.lines.append(number)
    for row, cells in enumerate(rows):
        if len(cells) != len(rows[0]) or (len(cells) == 1 and not (cells[0].isascii() and cells[0].strip().isdecimal())):
            raise PrebakeError(
                f"{table.where(row)} is {printable(' '.join(cells))[:80]!r}: each line must be a path and a label, or each a whole number"
            )
    table.columns = {LABEL: [cells[-1].strip() for cells in rows]}
    if rows and len(rows[0]) == 2:
        table.columns = {PATH: [cells[0].strip() for cells in rows], **table.columns}
    return table
