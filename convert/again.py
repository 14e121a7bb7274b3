"""Shards of a finished bake, made once more: the plan for that, and whether they came out as they were."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from convert.errors import PrebakeError, printable
from convert.hashes import HASHES, NBYTES
from convert.image.pillow import pillow_versions
from convert.manifest import Keys, Manifest, load_array
from convert.pack import shard_name
from convert.packed import Packed
from convert.plan import Plan
from convert.recipe import recipe_of
from convert.registry import load_format
from convert.stored import Stored


def plan_again(folder: Path, manifest: Manifest, source: Path) -> Plan:
    """A plan by which each shard gets the rows that it had. The tables are what the manifest says (`convert.tables.check_arrays`).

    Raises:
        PrebakeError: shards have other names than a bake gives them.
    """
    ends = np.cumsum([shard.count for shard in manifest.shards])
    counts = np.array([shard.count for shard in manifest.shards])
    room = counts + [shard.rejected for shard in manifest.shards]
    targets = load_array(folder / "targets.npy", mapped=False) if manifest.target.width else None
    return Plan(
        root=str(source.absolute()),
        format=manifest.format,
        options=manifest.options,
        recipe=recipe_of(manifest),
        target=manifest.target,
        classes=manifest.classes,
        order="source",
        seed=0,
        shards=len(manifest.shards),
        source=manifest.source,
        labelling="",
        pillow=pillow_versions(),
        keys=Keys.load(folder),
        targets=targets,
        columns={},
        first=_first(folder, manifest),
        ranges=np.stack([ends - counts, ends, room], axis=1).astype(np.int64),
    )


def _first(folder: Path, manifest: Manifest) -> int:
    """The first shard's number."""
    format = load_format(manifest.format)
    found = re.match("shard-([0-9]{5,9})[.]", manifest.shards[0].name)
    first = int(found[1]) if found else 0
    for number, shard in enumerate(manifest.shards, first):
        if shard.name != (name := shard_name(number, format)):
            raise PrebakeError(f"{printable(folder / shard.name)} should be called {name}: repair makes no shards of other names")
    return first


@dataclass(frozen=True)
class Again:
    """A bake, and the plan by which shards of it were made again."""

    folder: Path
    manifest: Manifest
    plan: Plan
    hashed: bool
    """Whether `hashes.npy` is there and whole, by which pictures are known again."""

    def differs(self, number: int, packed: Packed) -> str:
        """Why a shard did not come out as it was; empty if it did. By another Pillow its pixels may differ, nothing else."""
        old, new = self.manifest.shards[number], packed.shard
        root = Path(self.plan.root)
        for item, reason, detail in packed.rejects:
            return f"{printable(root / self.plan.keys[item])}: {reason} ({printable(detail)})"
        if (other := self._other_picture(number, packed)) is not None:
            return f"{printable(root / self.plan.keys[other])} is not the picture that was baked"
        known = None if packed.offsets is None else Stored(self.folder, self.manifest).places(number, 0, old.count)[0]
        moved = (new.count, new.bytes, new.first, new.stride) != (old.count, old.bytes, old.first, old.stride)
        if moved or (known is not None and not np.array_equal(packed.offsets, known)):  # type: ignore[arg-type]
            return "it came out otherwise: are h5py, lmdb and NumPy the same versions?"
        same_pillow = self.plan.pillow == self.manifest.pillow
        return "it came out otherwise: is the rest of the software the same?" if same_pillow and new.checksum != old.checksum else ""

    def _other_picture(self, number: int, packed: Packed) -> int | None:
        """The first item whose file has another hash than was noted; None if there is none, or nothing was noted."""
        if not self.hashed:
            return None
        known = load_array(self.folder / HASHES)[slice(*self.plan.bounds(number))]
        now = np.frombuffer(packed.hashes, np.uint8).reshape(-1, NBYTES)
        other = np.flatnonzero((known != now).any(axis=1))
        return packed.items[int(other[0])] if len(other) else None
