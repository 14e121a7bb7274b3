"""Adds a source's new pictures to a finished bake, as shards of their own; the old shards and indices stay as they are.

The new pictures are baked into `.prebake/append` (`convert.workbench`), like any bake, so that it can be ended and go on; `convert.grown`
then makes the tables of both, and puts everything in its place.
"""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from convert.difference import PILLOW, difference, of_manifest, of_plan, other_versions
from convert.errors import PrebakeError, UsageError, counted, printable
from convert.manifest import Keys, Manifest
from convert.plan import Plan, shard_count
from convert.planning import source_fingerprint
from convert.recipe import recipe_of
from convert.request import Request
from convert.room import expected_row
from convert.sidefiles import SAMPLES


def request_like(request: Request, old: Manifest) -> Request:
    """The request, with all that the bake decides; what the user typed must not contradict it (`check_options`)."""
    if request.like is not None:
        return request
    recipe: dict[str, Any] = {name: getattr(old, name) for name in ("resize", "filter", "dtype", "colour", "mean", "std")}
    recipe |= {"size": recipe_of(old).size, "upscale": old.upscale} | dataclasses.asdict(old.decoding)
    if old.jpeg is not None:
        recipe |= {"encoding": old.encoding} | dataclasses.asdict(old.jpeg)
    typed = {name: value for name, value in request.recipe.items() if value not in (None, "auto")}
    names = old.classes if request.labels is not None and request.classes is None and old.target.kind == "class" else None
    return dataclasses.replace(request, recipe=recipe | typed, mean_std=None, names=names)


def with_classes(plan: Plan, old: Manifest, out: Path, *, listed: bool) -> Plan:
    """The plan, its classes those of the bake, and perhaps new ones behind them; those that are `listed` stay as they are.

    Raises:
        UsageError: a label that is stored would change its meaning.
    """
    if listed or plan.target.kind != "class" or plan.classes[: len(old.classes)] == old.classes:
        return plan
    new = sorted(set(plan.classes) - set(old.classes))
    together = (*old.classes, *new)
    if new and (plan.labelling or list(together) != sorted(together)):
        raise UsageError(
            f"the new class {printable(new[0])} does not come behind those of {printable(out)}, whose labels are stored and must stay: "
            "say where it stands with --classes FILE, which begins with the bake's classes in their order; or bake anew"
        )
    place = {name: label for label, name in enumerate(together)}
    if plan.targets is None or not place.keys() >= set(plan.classes):
        return plan
    numbers = np.array([place[name] for name in plan.classes], np.int64)
    return dataclasses.replace(plan, classes=together, targets=numbers[plan.targets.astype(np.int64)])


def check_options(plan: Plan, old: Manifest, out: Path, *, allow_version_change: bool) -> None:
    """Look whether the bake can take these pictures.

    Raises:
        UsageError: an option contradicts it.
        PrebakeError: it was made by another Pillow.
    """
    there, here = ({**words, "shards": 0, "classes": 0, PILLOW: {}} for words in (of_manifest(old), of_plan(plan)))
    if told := difference(there, here):
        raise UsageError(f"--append bakes as {printable(out)} was baked, and {told}: leave that option as it was, or bake anew")
    if plan.target != old.target or plan.classes[: len(old.classes)] != old.classes:
        raise UsageError(f"--append: {printable(out)} has other {'columns' if old.target.kind == 'values' else 'classes'}: label as it was")
    if old.pillow != plan.pillow and not allow_version_change:
        versions = other_versions(old.pillow, plan.pillow)
        raise PrebakeError(f"{printable(out)} was baked with {versions}, whose pixels may differ: use that, or --allow-version-change")


def only_new(plan: Plan, old: Manifest, out: Path, request: Request) -> Plan:
    """The plan of the pictures that the bake does not know, accepted or rejected.

    Raises:
        UsageError: the table has other columns, or another label for a picture that was baked.
    """
    header, rejected = _tables(out)
    if plan.columns.keys() - set(header) or len(header) != len(SAMPLES) + len(plan.columns):
        raise UsageError(f"--append: the table's columns are not those of {printable(out / 'samples.csv')}: give it the same ones")
    known = dict(zip(Keys.load(out), range(old.count), strict=True))
    _check_labels(plan, out, known)
    fresh = np.array([item for item, key in enumerate(plan.keys) if key not in known and key not in rejected], np.int64)
    keys = plan.keys.take(fresh)
    stamps = np.asarray(plan.stamps)[fresh]
    row = expected_row(dataclasses.replace(plan, keys=keys), plan.recipe) if len(fresh) else 1
    shards = request.shards or (-(-len(fresh) // max(1, request.shard_size // row)) if request.shard_size else shard_count(len(fresh), row))
    return dataclasses.replace(
        plan,
        keys=keys,
        targets=None if plan.targets is None else plan.targets[fresh],
        columns={name: [cells[item] for item in fresh.tolist()] for name, cells in plan.columns.items()},
        stamps=stamps,
        source=source_fingerprint(keys, stamps[:, 0]),
        shards=min(len(fresh), shards),
        first=len(old.shards),
    )


def _tables(out: Path) -> tuple[list[str], set[str]]:
    """The columns of `samples.csv`, and the keys that were rejected."""
    with (out / "samples.csv").open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        header = next(csv.reader(file))
    with (out / "rejects.csv").open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return header, {row[0] for row in csv.reader(file) if row}


def _check_labels(plan: Plan, out: Path, known: dict[str, int]) -> None:
    """Look whether a table says of the old pictures what is stored."""
    if not plan.labelling or plan.targets is None:
        return
    stored = np.load(out / "targets.npy", mmap_mode="r", allow_pickle=False)
    for item, key in enumerate(plan.keys):
        index = known.get(key)
        if index is not None and not np.array_equal(stored[index], plan.targets[item], equal_nan=stored.dtype.kind == "f"):
            raise UsageError(f"--append: {printable(key)} is labelled otherwise than in {printable(out)}, which stays as it is: bake anew")


def nothing_new(out: Path, old: Manifest) -> str:
    """What is said then."""
    rejected = sum(shard.rejected for shard in old.shards)
    but = f", but for {rejected:,} that were rejected" if rejected else ""
    return f"{printable(out)} holds all pictures of the source already{but} ({counted(old.count, 'row')}): nothing to append"
