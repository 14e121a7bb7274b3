"""Gives a finished bake the columns that a table of the user's would have given it, as Python's csv module writes them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from convert.manifest import MANIFEST


def with_columns(out: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    """Add columns to `samples.csv`, a cell for each row; the manifest says the new size. Returns `out`."""
    table = out / "samples.csv"
    with table.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        header, *rows = csv.reader(file)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*header, *columns])
    writer.writerows([*row, *cells] for row, *cells in zip(rows, *columns.values(), strict=True))
    replace(table, text.getvalue().encode("utf-8", "surrogateescape"))
    return out


def replace(table: Path, data: bytes) -> None:
    """Write a side file anew, and its size into the manifest."""
    table.write_bytes(data)
    manifest = json.loads((table.parent / MANIFEST).read_text("utf-8"))
    for file in manifest["files"]:
        if file["name"] == table.name:
            file["bytes"] = len(data)
    (table.parent / MANIFEST).write_text(json.dumps(manifest), "utf-8")
