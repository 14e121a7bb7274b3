"""Reads a file with one JSON object a line: its names are the columns, and what an object lacks is blank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from convert.errors import PrebakeError, printable
from convert.labels.table import Table
from convert.labels.text import opened

MOST = 10_000
"""Columns: more are no columns, but keys of pictures."""
SPARSE, ALWAYS = 100, 1_000_000
"""A table may have so many cells for each one that is filled, and this many in any case: that bounds the memory by the file's size."""


def read_json_lines(path: Path) -> Table:
    """A table of texts: null is blank, a list or an object is its compact JSON.

    Raises:
        PrebakeError: a line that is no JSON object, or holds half a character.
    """
    table, filled = Table(path), 0
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                texts = _object(path, number, line)
                filled += len(texts)
                _check_columns(table, number, len(table.columns) + sum(name not in table.columns for name in texts), filled)
                for name, text in texts.items():
                    column = table.columns.setdefault(name, [])
                    column += [""] * (len(table) - len(column))  # rows before the first that has it
                    column.append(text)
                table.lines.append(number)
    for column in table.columns.values():
        column += [""] * (len(table) - len(column))
    return table


def _check_columns(table: Table, number: int, columns: int, filled: int) -> None:
    """Refuse `{"a.jpg": "cat"}` on each line: each key would be a column, blank in all rows but one."""
    if columns > MOST or columns * (len(table) + 1) > ALWAYS + SPARSE * filled:
        raise PrebakeError(
            f"{printable(table.path)}: {columns:,} different names up to line {number} are too many, or too rarely given, for columns: "
            'it looks like pictures as names; write {"path": "a.jpg", "label": "cat"} on each line'
        )


def _object(path: Path, number: int, line: str) -> dict[str, str]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PrebakeError(f"{printable(path)}, line {number} is not JSON: {printable(error)}") from error
    if not isinstance(found, dict):
        raise PrebakeError(f'{printable(path)}, line {number} is not a JSON object such as {{"path": "a.jpg", "label": "cat"}}')
    texts = {name.strip(): _text(value) for name, value in found.items()}
    for text in (*texts, *texts.values()):
        if not text.isascii() and not _writable(text):
            raise PrebakeError(f"{printable(path)}, line {number} holds half a character (a lone surrogate): {printable(text)[:80]}")
    return texts


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _writable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
