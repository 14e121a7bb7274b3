"""Makes a finished bake's bad shards again, from the pictures; what comes out must be what was there, to the last bit.

The contact sheet is drawn again from the shards.
"""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from convert import journal, progress
from convert.again import Again, plan_again
from convert.difference import both_versions, other_versions
from convert.errors import PrebakeError, printable
from convert.failing import said_as_one_line
from convert.finish import commit
from convert.hashes import HASHES
from convert.manifest import MANIFEST, Manifest, Shard, read_manifest
from convert.output import place
from convert.pack import pack
from convert.packed import Packed
from convert.plan import WORK, Plan
from convert.preview import PREVIEW, draw_preview
from convert.replace import sync
from convert.sidefiles import describe
from convert.tasks import Crew, bar, run_shards
from convert.verify import Verdict, verify

NEEDED = ("keys.bin", "keys.npy", "targets.npy", "offsets.npy", "lengths.npy", "sizes.npy")
"""Tables by which pictures and rows are found."""


@dataclass
class Repaired:
    """What was made again."""

    before: Verdict
    """What was wrong; of a shard that could not be made again, also why."""
    shards: list[Shard]
    drawn: bool = False
    """Whether the contact sheet was drawn again."""


def repair(folder: Path, source: Path, crew: Crew, *, allow_version_change: bool = False) -> Repaired:
    """Look at all shards, and make the bad ones again from the pictures below `source`. A shard is replaced once the new one is whole.

    Raises:
        PrebakeError: tables are bad, too; another Pillow may give other pixels.
    """
    before = verify(folder, crew)
    bad = before.bad_shards
    _check_rest(before)
    torn = PREVIEW in before.wrong
    if not bad and not torn:
        return Repaired(before, [])
    manifest = before.manifest
    plan = plan_again(folder, manifest, source)
    hashed = any(file.name == HASHES for file in manifest.files) and HASHES not in before.wrong
    _check_versions(folder, manifest.pillow, plan.pillow, allowed=allow_version_change, hashed=hashed)
    with place(folder) as work, said_as_one_line(folder), _bench(work) as bench:
        if read_manifest(folder) != manifest:
            raise PrebakeError(f"{printable(folder)} was changed while it was looked at: start again")
        packed = _make(plan, bench, bad, crew) if bad else {}
        made = _put(packed, bench, Again(folder, manifest, plan, hashed), before)
        now = manifest
        if any(shard.checksum != manifest.shards[number].checksum for number, shard in made.items()):
            shards = tuple(made.get(number, shard) for number, shard in enumerate(manifest.shards))
            now = dataclasses.replace(manifest, shards=shards, pillow=both_versions(manifest.pillow, plan.pillow))
        torn = torn and len(made) == len(bad)
        if torn:
            now = _draw(folder, now)
        if now != manifest:
            commit(folder, now)
    return Repaired(before, list(made.values()), torn)


def _put(packed: dict[int, Packed], bench: Path, again: Again, before: Verdict) -> dict[int, Shard]:
    """Put those that came out as they were in their places; of others, say why not."""
    made: dict[int, Shard] = {}
    for number, done in sorted(packed.items()):
        old = again.manifest.shards[number]
        if why := again.differs(number, done):
            before.wrong[old.name] += f"; {why}"
            continue
        made[number] = dataclasses.replace(done.shard, rejected=old.rejected)
        if done.shard.count:
            (bench / old.name).rename(again.folder / old.name)
        else:
            (again.folder / old.name).unlink()
    sync(again.folder)
    return made


def _draw(folder: Path, manifest: Manifest) -> Manifest:
    """Draw the contact sheet again. Another Pillow draws and compresses in another way."""
    labels = np.load(folder / "targets.npy", allow_pickle=False) if manifest.target.kind == "class" else None
    file = describe(draw_preview(folder, manifest, labels))
    return dataclasses.replace(manifest, files=tuple(file if each.name == PREVIEW else each for each in manifest.files))


def _check_rest(verdict: Verdict) -> None:
    if lost := [name for name in (MANIFEST, *NEEDED) if name in verdict.wrong]:
        what = f"{lost[0]} {verdict.wrong[lost[0]]}"
        raise PrebakeError(f"{printable(verdict.folder / what)}: without it nothing can be repaired; copy the bake again, or bake it again")


def _check_versions(folder: Path, old: dict[str, str], new: dict[str, str], *, allowed: bool, hashed: bool) -> None:
    """Pixels of another Pillow prove nothing: then the pictures must be known by their hashes."""
    if old == new:
        return
    what = f"{printable(folder)} was baked with {other_versions(old, new)}, whose pixels may differ"
    if not allowed:
        raise PrebakeError(f"{what}: use that again, or try --allow-version-change")
    if not hashed:
        raise PrebakeError(f"{what}, and without a whole {HASHES} nobody knows whether these are the pictures: use that again")


@contextmanager
def _bench(work: Path) -> Iterator[Path]:
    """A folder where shards are made; it goes, whatever happens."""
    bench = work / "repair"
    shutil.rmtree(bench, ignore_errors=True)  # what a killed process left
    (bench / WORK).mkdir(parents=True)
    try:
        yield bench
    finally:
        shutil.rmtree(bench, ignore_errors=True)


def _make(plan: Plan, bench: Path, bad: list[int], crew: Crew) -> dict[int, Packed]:
    """Make some of the shards."""
    work = bench / WORK
    plan.save(work)
    journal.begin(work, plan.fingerprint, plan.source)
    progress.create(work, plan.shards)
    made: dict[int, Packed] = {}
    rows = sum(stop - start for start, stop in map(plan.bounds, bad))
    with bar(work, rows, dataclasses.replace(crew, max_rejects="100%"), "repairing") as tick:
        run_shards(functools.partial(pack, bench), bad, crew, take=made.__setitem__, tick=tick)
    return made
