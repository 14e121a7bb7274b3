"""Tables of text, for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 80


@dataclass(frozen=True)
class Section:
    """One table: what goes before it, its columns, and its rows."""

    title: str
    head: list[str]
    rows: list[list[str]]


def number(value: float | None) -> str:
    """With three digits that mean something."""
    if value is None:
        return "-"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 or value == 0 else 3
    return f"{value:,.{digits}f}"


def spread(low: float, high: float, median: float) -> str:
    """Half of the range of all rounds, in percent of their median; nothing of a single round."""
    return "-" if low == high else f"{50 * (high - low) / median:.0f}"


def aligned(section: Section) -> list[str]:
    """Columns as wide as their widest cell; the first one is text."""
    cells = [section.head, *section.rows]
    head = section.head
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    return [
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in cells
    ]


def wrapped(line: str) -> list[str]:
    """For a terminal. What is indented is code, and stays a line."""
    return [line] if line.startswith(" ") else textwrap.wrap(line, WIDTH, subsequent_indent="  ")


def plain(top: Sequence[str], found: Sequence[Section], bottom: Sequence[str]) -> str:
    """Lines, tables and lines for a terminal."""
    lines = [part for line in top for part in wrapped(line)]
    for one in found:
        lines += ["", *wrapped(one.title), *aligned(one)]
    lines += ["", *(part for line in bottom for part in wrapped(line))]
    return "\n".join(lines).strip("\n")
