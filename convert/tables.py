"""Looks at the tables beside a bake's shards: whether they tell the same of each row."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from convert.contracts import Array
from convert.errors import PrebakeError, printable
from convert.hashes import HASHES, NBYTES
from convert.manifest import Keys, Manifest, load_array


def check_tables(folder: Path, manifest: Manifest) -> dict[str, str]:
    """What is wrong, by file; the files are whole, by their checksums."""
    if found := check_arrays(folder, manifest):
        return found
    try:
        for name in ("samples.csv", "rejects.csv"):
            if _is_torn(folder / name):
                return {name: "ends within a line"}
        keys = Keys.load(folder)
        targets = load_array(folder / "targets.npy") if manifest.target.kind != "none" else None
        if wrong := _wrong_samples(folder / "samples.csv", manifest, keys, targets):
            return {"samples.csv": wrong}
        with _rows(folder / "rejects.csv") as rows:
            there, promised = sum(1 for _ in rows), sum(shard.rejected for shard in manifest.shards)
        if there != promised:
            return {"rejects.csv": f"has {there:,} rows, its manifest says {promised:,}"}
    except (OSError, ValueError, EOFError, KeyError, PrebakeError) as error:
        return {"tables": f"cannot be read: {type(error).__name__}: {error}"}
    return {}


def check_arrays(folder: Path, manifest: Manifest) -> dict[str, str]:
    """What is wrong with keys, labels and hashes, by file: each has an entry for each row, and a key leads nowhere out of its source."""
    looks: dict[str, Callable[[], str]] = {"keys.npy": lambda: _wrong_keys(Keys.load(folder), manifest)}
    if manifest.target.kind != "none":
        looks["targets.npy"] = lambda: _wrong_targets(load_array(folder / "targets.npy"), manifest)
    if any(file.name == HASHES for file in manifest.files):
        looks[HASHES] = lambda: _other_than(load_array(folder / HASHES), (manifest.count, NBYTES), np.uint8)
    found = {}
    for name, look in looks.items():
        try:
            found[name] = look()
        except (OSError, ValueError, PrebakeError) as error:
            found[name] = f"cannot be read: {printable(error)}"
    return {name: wrong for name, wrong in found.items() if wrong}


def _wrong_keys(keys: Keys, manifest: Manifest) -> str:
    if len(keys) != manifest.count:
        return f"has {len(keys):,} keys, its manifest says {manifest.count:,}"
    stray = keys.stray()
    return "" if stray is None else f"has a key that leads elsewhere ({printable(stray)})"


def _other_than(array: Array, shape: tuple[int, ...], dtype: type[np.generic]) -> str:
    return "" if array.shape == shape and array.dtype == dtype else f"holds {array.dtype} {array.shape}, not {np.dtype(dtype)} {shape}"


def _wrong_targets(targets: Array, manifest: Manifest) -> str:
    kind, width = manifest.target.kind, manifest.target.width
    shape = (manifest.count,) if kind == "class" else (manifest.count, width)
    if wrong := _other_than(targets, shape, np.int64 if kind == "class" else np.float32):
        return wrong
    if kind == "class" and len(targets) and not 0 <= targets.min() <= targets.max() < len(manifest.classes):
        return f"has labels from {targets.min()} to {targets.max()}, of {len(manifest.classes)} classes"
    return ""


def _wrong_samples(path: Path, manifest: Manifest, keys: Keys, targets: Array | None) -> str:
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


def _is_torn(path: Path) -> bool:
    """Whether a table does not end as a line does."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 1))
        return file.read() != b"\n"


@contextmanager
def _rows(path: Path) -> Iterator[csv.DictReader[str]]:
    """A table's rows. The csv module's limit for a cell is the process's: a user's own columns may be longer."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            yield csv.DictReader(file)
    finally:
        csv.field_size_limit(before)
