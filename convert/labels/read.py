"""Reads a file given as `--labels`; its extension says how."""

from __future__ import annotations

from pathlib import Path

from convert.errors import PrebakeError, UsageError, printable
from convert.labels.delimited import read_delimited
from convert.labels.jsonlines import read_json_lines
from convert.labels.lines import read_lines
from convert.labels.table import Table

READERS = {".csv": read_delimited, ".tsv": read_delimited, ".jsonl": read_json_lines, ".ndjson": read_json_lines, ".txt": read_lines}


def read_table(path: Path) -> Table:
    """The table in a file.

    Raises:
        UsageError: another kind of file.
        PrebakeError: it cannot be read, or holds no rows.
    """
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise UsageError(f"--labels {printable(path)}: not a kind of table that is known; give {' '.join(READERS)}")
    table = read(path)
    if not len(table):
        raise PrebakeError(f"{printable(path)}: no rows in it")
    return table
