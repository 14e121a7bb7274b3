"""Looks at the tables beside a bake's shards: whether they tell the same of each row."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from convert.errors import PrebakeError
from convert.manifest import Keys, Manifest


def check_tables(folder: Path, manifest: Manifest) -> dict[str, str]:
    """What is wrong, by file; the files are whole, by their checksums."""
    count = manifest.count
    try:
        keys = Keys.load(folder)
        if len(keys) != count:
            return {"keys.npy": f"has {len(keys):,} keys, its manifest says {count:,}"}
        targets = None
        if manifest.target.kind != "none":
            targets = np.load(folder / "targets.npy", mmap_mode="r", allow_pickle=False)
            if wrong := _wrong_targets(targets, manifest):
                return {"targets.npy": wrong}
        if wrong := _wrong_samples(folder / "samples.csv", manifest, keys, targets):
            return {"samples.csv": wrong}
        with _rows(folder / "rejects.csv") as rows:
            found, promised = sum(1 for _ in rows), sum(shard.rejected for shard in manifest.shards)
        if found != promised:
            return {"rejects.csv": f"has {found:,} rows, its manifest says {promised:,}"}
    except (OSError, ValueError, EOFError, KeyError, PrebakeError) as error:
        return {"tables": f"cannot be read: {type(error).__name__}: {error}"}
    return {}


def _wrong_targets(targets: np.ndarray[Any, np.dtype[Any]], manifest: Manifest) -> str:
    kind, width = manifest.target.kind, manifest.target.width
    shape = (manifest.count,) if kind == "class" else (manifest.count, width)
    if targets.shape != shape or targets.dtype != (np.int64 if kind == "class" else np.float32):
        return f"holds {targets.dtype} {targets.shape}, not {shape}"
    if kind == "class" and len(targets) and not 0 <= targets.min() <= targets.max() < len(manifest.classes):
        return f"has labels from {targets.min()} to {targets.max()}, of {len(manifest.classes)} classes"
    return ""


def _wrong_samples(path: Path, manifest: Manifest, keys: Keys, targets: np.ndarray[Any, np.dtype[Any]] | None) -> str:
    """Row for row: index, shard, row, key and label."""
    places = ((shard.name, row) for shard in manifest.shards for row in range(shard.count))
    index = -1
    with _rows(path) as rows:
        for index, (line, place, key) in enumerate(zip(rows, places, keys, strict=False)):
            label = str(int(targets[index])) if targets is not None and targets.ndim == 1 else ""
            said = (line["index"], line["shard"], line["row"], line["key"], line["label"])
            if said != (str(index), place[0], str(place[1]), key, label):
                return f"says something else of row {index} than keys and labels do"
        more = next(rows, None) is not None
    return "" if index + 1 == manifest.count and not more else f"has not {manifest.count:,} rows"


@contextmanager
def _rows(path: Path) -> Iterator[csv.DictReader[str]]:
    """A table's rows. The csv module's limit for a cell is the process's: a user's own columns may be longer."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            yield csv.DictReader(file)
    finally:
        csv.field_size_limit(before)
