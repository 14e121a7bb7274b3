"""Ends a bake: what lies beside the shards, the contact sheet, and the manifest, last."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from convert import sidefiles
from convert.duplicates import Duplicates, write_duplicates
from convert.errors import printable
from convert.manifest import MANIFEST, SCHEMA, Manifest
from convert.packed import Packed
from convert.plan import Plan
from convert.preview import PREVIEW, draw_preview
from convert.replace import replaced, sync


class Finished(NamedTuple):
    """A bake but for its manifest, which is not written yet."""

    manifest: Manifest
    note: str
    """What the user should know of the contact sheet."""
    duplicates: Duplicates


def finish(plan: Plan, out: Path, packed: Sequence[Packed], preview: bool) -> Finished:
    """Write all that lies beside the shards."""
    recipe = plan.recipe
    items = np.fromiter((item for done in packed for item in done.items), np.int64)  # once: each pass unpacks all shards
    labels = plan.targets[items].astype(np.int64) if plan.targets is not None and plan.target.kind == "class" else None
    lists, duplicates = write_duplicates(out, plan, packed, items=items, labels=labels)
    files = sorted([*sidefiles.write_side_files(out, plan, packed, items), *lists], key=lambda file: file.name)
    manifest = Manifest(
        schema=SCHEMA,
        format=plan.format,
        options=plan.options,
        encoding=recipe.pixels.encoding,
        jpeg=recipe.jpeg,
        count=sum(done.shard.count for done in packed),
        shape=recipe.pixels.shape,
        dtype=recipe.dtype,
        layout="HWC",
        colour=recipe.colour,
        decoding=recipe.decoding,
        mean=recipe.mean,
        std=recipe.std,
        normalized=recipe.dtype.startswith("float"),
        resize=recipe.resize,
        side=recipe.size[0] if recipe.pixels.shape is None else None,
        upscale=recipe.upscale,
        filter=recipe.filter,
        target=plan.target,
        classes=plan.classes,
        order=plan.order,
        seed=plan.seed,
        source=plan.source,
        pillow=plan.pillow,
        plan=plan.fingerprint,
        shards=tuple(done.shard for done in packed),
        files=tuple(files),
    )
    if not preview:
        return Finished(manifest, "", duplicates)
    try:
        drawn = draw_preview(out, manifest, labels)
    except Exception as error:  # noqa: BLE001 - whatever it is, hours of baking are worth more than a contact sheet
        (out / PREVIEW).unlink(missing_ok=True)
        return Finished(manifest, f"no contact sheet: {type(error).__name__}: {printable(error)}", duplicates)
    return Finished(dataclasses.replace(manifest, files=(*files, sidefiles.describe(drawn))), "", duplicates)


def commit(out: Path, manifest: Manifest, looked: int | None = None) -> None:
    """The manifest, last and at once: it is there = the bake is complete.

    Its time is when the pictures were `looked` at last, in ns since 1970: newer ones may be others. None: that of the one it replaces.
    """
    sync(out)  # the shards' names before the manifest's
    if looked is None and (out / MANIFEST).exists():
        looked = (out / MANIFEST).stat().st_mtime_ns
    with replaced(out / MANIFEST) as file:
        file.write(manifest.sealed().to_json().encode())
        if looked is not None:
            file.flush()  # what is written afterwards has a time of its own
            with suppress(OSError):  # some disks allow that to the owner alone: without it fewer pictures count as newer
                os.utime(file.fileno(), ns=(looked, looked))
