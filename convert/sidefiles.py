"""Writes what lies beside the shards: labels, where rows are and how large, keys and the two CSV tables."""

import csv
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from convert.manifest import SideFile
from convert.packed import Packed
from convert.plan import Plan

SAMPLES = ["index", "shard", "row", "key", "label", "class", "source_height", "source_width", "scale_y", "scale_x", "offset_y", "offset_x"]
REJECTS = ["key", "reason", "detail"]


def describe(path: Path) -> SideFile:
    """Name, size and checksum of a file, once it is safe on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return SideFile(path.name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def row_offsets(packed: Sequence[Packed]) -> npt.NDArray[np.int64]:
    """Where each row of the data set begins in its shard's file."""
    parts = [np.empty(0, np.int64)]
    for done in packed:
        first, stride = done.shard.first, done.shard.stride
        if done.offsets is not None:
            parts.append(done.offsets)
        elif first is not None and stride is not None:
            parts.append(first + np.arange(done.shard.count, dtype=np.int64) * stride)
    return np.concatenate(parts)


def write_side_files(out: Path, plan: Plan, packed: Sequence[Packed], items: npt.NDArray[np.int64]) -> list[SideFile]:
    """Write all of them but the preview; the shards are in their order, and `items` became rows."""
    names = ["keys.bin", "keys.npy", "samples.csv", "rejects.csv"]
    plan.keys.take(items).save(out)
    if plan.targets is not None:
        np.save(out / "targets.npy", plan.targets[items], allow_pickle=False)
        names.append("targets.npy")
    for name, array in _places(plan, packed).items():
        np.save(out / name, array, allow_pickle=False)
        names.append(name)
    write_csv(out / "samples.csv", [*SAMPLES, *_carried(plan)], _samples(plan, packed))
    rejects = ((plan.keys[item], reason, detail) for done in packed for item, reason, detail in done.rejects)
    write_csv(out / "rejects.csv", REJECTS, rejects)
    return [describe(out / name) for name in sorted(names)]


def _places(plan: Plan, packed: Sequence[Packed]) -> dict[str, npt.NDArray[Any]]:
    """The arrays that say where rows begin, how many bytes and how many pixels each has: as many as it takes to know."""
    pixels, found = plan.recipe.pixels, dict[str, npt.NDArray[Any]]()
    if any(done.offsets is not None for done in packed):
        found["offsets.npy"] = row_offsets(packed)
    if pixels.encoding != "raw":
        found["lengths.npy"] = np.concatenate([done.lengths for done in packed if done.lengths is not None])
    if pixels.shape is None:
        found["sizes.npy"] = np.concatenate([done.stored for done in packed if done.stored is not None])
    return found


class _UnixLines:
    """Ends rows by a line feed. Were the writer itself told to, it would not quote a carriage return in a name."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, row: str) -> int:
        """See csv.writer, which writes a whole row at a time."""
        return self._file.write(row.removesuffix("\r\n") + "\n")


def write_csv(path: Path, header: list[str], rows: Iterable[Iterable[object]]) -> None:
    """A table; what is not UTF-8 in names stays as it is."""
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.writer(_UnixLines(file))
        writer.writerow(header)
        writer.writerows(rows)


def _carried(plan: Plan) -> list[str]:
    """What the table's own columns are called behind ours: one of the same name gets `own_` in front."""
    names = []
    for name in plan.columns:
        new = name
        while new in SAMPLES or (new != name and new in plan.columns):
            new = f"own_{new}"
        names.append(new)
    return names


def _samples(plan: Plan, packed: Sequence[Packed]) -> Iterator[tuple[object, ...]]:
    """One line for each row. A point of the upright source lies at `scale * point + offset` in the row, in pixels."""
    index = 0
    for done in packed:
        for row, (item, (height, width)) in enumerate(zip(done.items, done.sizes.tolist(), strict=True)):
            target = plan.target_of(item)
            label, name = (target, plan.classes[target]) if isinstance(target, int) else ("", "")
            at = plan.recipe.place(height, width)
            own = [cells[item] for cells in plan.columns.values()]
            scale = f"{at.height / height:.9g}", f"{at.width / width:.9g}"
            yield index, done.shard.name, row, plan.keys[item], label, name, height, width, *scale, at.top, at.left, *own
            index += 1
