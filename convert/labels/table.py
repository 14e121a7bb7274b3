"""A table as it was read: a text for every cell, and the line of the file where each row begins."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from convert.errors import PrebakeError, counted, printable

SHOWN = 3
"""Rows that an error names."""
NAMED = 20
"""Columns that an error names."""


@dataclass
class Table:
    """Columns of equal length, by name, in the file's order."""

    path: Path
    columns: dict[str, list[str]] = field(default_factory=dict)
    lines: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        """Names a row in an error: `labels.csv, line 7`."""
        return f"{printable(self.path)}, line {self.lines[row]}"

    def names(self) -> str:
        """The columns, for an error: the first few of many."""
        more = len(self.columns) - NAMED
        return ", ".join(map(printable, islice(self.columns, NAMED))) + (f" and {more:,} more" if more > 0 else "")

    def column(self, name: str, option: str) -> list[str]:
        """A column that the user named.

        Raises:
            PrebakeError: there is none; lists those that there are.
        """
        if name not in self.columns:
            raise PrebakeError(f"{option} {printable(name)}: {printable(self.path)} has no such column; it has {self.names()}")
        return self.columns[name]

    def complain(self, rows: list[int], what: str, texts: Iterable[str], more: str = "") -> PrebakeError:
        """An error that counts rows and names the first few: `labels.csv: 12 rows have no label: line 4 (a.jpg), ...`."""
        first = zip(rows[:SHOWN], texts, strict=False)
        shown = [f"line {self.lines[row]}" + (f" ({printable(text)})" if text else "") for row, text in first]
        verb = "have" if len(rows) > 1 else "has"
        dots = ", ..." if len(rows) > SHOWN else ""
        return PrebakeError(f"{printable(self.path)}: {counted(len(rows), 'row')} {verb} {what}: {', '.join(shown)}{dots}{more}")

    def check_known(self, labels: Iterable[tuple[int, str]], known: Container[str], whose: str) -> None:
        """Look whether the labels of rows, as pairs, are all known.

        Raises:
            PrebakeError: one is not.
        """
        unknown = [(row, label) for row, label in labels if label not in known]
        if unknown:
            raise self.complain([row for row, _ in unknown], f"a label that {whose} does not know", [label for _, label in unknown])
