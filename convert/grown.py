"""A bake that has grown: the tables of the old and the new shards as one, and all of them put in their place.

What is to be there lies complete in `.prebake/next`, its manifest last, before anything is touched. From then on a run that is ended is
taken up by the next one, which does the rest.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.difference import both_versions
from convert.duplicates import DUPLICATES, keep_leaks, write_pairs
from convert.errors import PrebakeError
from convert.finish import commit
from convert.hashes import HASHES, Inventory
from convert.interrupts import signals_held_back
from convert.links import VIEW
from convert.manifest import MANIFEST, Keys, Manifest, read_manifest
from convert.output import APPEND, NEXT
from convert.plan import WORK, Plan
from convert.preview import PREVIEW, draw_preview
from convert.replace import sync
from convert.sidefiles import describe
from convert.stored import Stored

MADE = ("keys.bin", "keys.npy", "samples.csv", "rejects.csv", "offsets.npy", HASHES, DUPLICATES, PREVIEW)
"""Side files that are made here each in its own way; others are arrays with an entry for each row."""


def is_pending(out: Path) -> bool:
    """Whether a bake has grown, and not everything is in its place yet."""
    return (out / WORK / NEXT / MANIFEST).exists()


def grow(out: Path, old: Manifest, plan: Plan, whole: str, *, preview: bool) -> Manifest:
    """Lay out what the bake will be. `plan` is that of the new shards, `whole` the fingerprint of all pictures of the source."""
    bench, after = out / WORK / APPEND, out / WORK / NEXT
    shutil.rmtree(after, ignore_errors=True)
    after.mkdir()
    new = read_manifest(bench)
    added = dataclasses.replace(plan, pillow=new.pillow).fingerprint  # not the bench's own, in which files' times are
    grown = dataclasses.replace(
        old,
        count=old.count + new.count,
        classes=plan.classes,
        source=whole,
        pillow=both_versions(old.pillow, new.pillow),
        plan=hashlib.sha256(f"{old.plan} {added}".encode()).hexdigest(),
        shards=(*old.shards, *new.shards),
        files=(),
    )
    names = [file.name for file in old.files if file.name not in MADE]
    for name in names:
        parts = [np.load(folder / name, mmap_mode="r", allow_pickle=False) for folder in (out, bench)]
        np.save(after / name, np.concatenate(parts), allow_pickle=False)
    keys = Keys.make(itertools.chain(Keys.load(out), Keys.load(bench)))
    keys.save(after)
    _join(after / "samples.csv", out, bench, old.count)
    _join(after / "rejects.csv", out, bench, None)
    if any(shard.count and shard.stride is None for shard in grown.shards):
        np.save(after / "offsets.npy", np.concatenate(list(_offsets(out, old, bench, new))), allow_pickle=False)
    labels = np.load(after / "targets.npy", allow_pickle=False) if old.target.kind == "class" else None
    if any(file.name == HASHES for file in old.files):
        hashes = np.concatenate([np.load(folder / HASHES, allow_pickle=False) for folder in (out, bench)])
        np.save(after / HASHES, hashes, allow_pickle=False)
        write_pairs(after / DUPLICATES, Inventory(hashes, keys, plan.classes, labels), plan.other)
        if plan.other is None:
            keep_leaks(after / DUPLICATES, out / DUPLICATES)
    if preview:
        _draw(out, bench, grown, labels)
    files = tuple(describe(path) for path in sorted(after.iterdir()) if path.is_file())
    grown = dataclasses.replace(grown, files=files)
    commit(after, grown)
    return grown


def settle_growth(out: Path) -> Manifest:
    """Put everything in its place, or what is not there yet. The old manifest goes first, the new one comes last."""
    bench, after = out / WORK / APPEND, out / WORK / NEXT
    grown = read_manifest(after)
    places = [bench / shard.name for shard in grown.shards] + [after / file.name for file in grown.files]
    with signals_held_back():
        for folder in (out / WORK, out):  # nor may it take along what is to be there
            sync(folder)
        (out / MANIFEST).unlink(missing_ok=True)
        sync(out)  # a power cut must not bring it back, beside other tables
        for path in places:
            if path.exists():
                path.rename(out / path.name)
        if all(path.name != PREVIEW for path in places):
            (out / PREVIEW).unlink(missing_ok=True)
        sync(out)
        (after / MANIFEST).rename(out / MANIFEST)
        sync(out)
        for folder in (bench, after):
            shutil.rmtree(folder, ignore_errors=True)
    return grown


def _offsets(out: Path, old: Manifest, bench: Path, new: Manifest) -> Iterator[npt.NDArray[np.int64]]:
    """Where the rows of each shard begin."""
    for folder, manifest in ((out, old), (bench, new)):
        stored = Stored(folder, manifest)
        yield from (stored.places(number, 0, shard.count)[0] for number, shard in enumerate(manifest.shards) if shard.count)


def _join(path: Path, out: Path, bench: Path, count: int | None) -> None:
    """One table behind the other, byte for byte; where `count` is given, the second one's first column goes on from there."""
    with path.open("wb") as joined:
        with (out / path.name).open("rb") as first:
            shutil.copyfileobj(first, joined)
        with (bench / path.name).open(encoding="utf-8", errors="surrogateescape", newline="") as second:
            for line, row in enumerate(_records(second)):
                if line:
                    index, comma, rest = row.partition(",")
                    text = row if count is None else f"{int(index) + count}{comma}{rest}"
                    joined.write(text.encode("utf-8", "surrogateescape"))


def _records(file: Any) -> Iterator[str]:
    """The rows of a table as they are written: a cell in quotes may hold line ends."""
    row = ""
    for line in file:
        row += line
        if row.count('"') % 2 == 0:
            yield row
            row = ""


def _draw(out: Path, bench: Path, grown: Manifest, labels: Any) -> None:
    """The contact sheet, of shards that lie in two places."""
    view = out / WORK / VIEW
    shutil.rmtree(view, ignore_errors=True)
    view.mkdir()
    try:
        for name in ("sizes.npy", "lengths.npy", "offsets.npy"):
            (view / name).symlink_to((out / WORK / NEXT).absolute() / name)
        for shard in grown.shards:
            (view / shard.name).symlink_to((bench if (bench / shard.name).exists() else out).absolute() / shard.name)
        draw_preview(view, grown, labels).rename(out / WORK / NEXT / PREVIEW)
    except (OSError, ValueError, PrebakeError):  # hours of baking are worth more than a contact sheet
        (out / WORK / NEXT / PREVIEW).unlink(missing_ok=True)
    finally:
        shutil.rmtree(view, ignore_errors=True)
