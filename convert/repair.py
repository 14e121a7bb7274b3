"""Makes a finished bake's bad shards again, from the pictures; what comes out must be what was there, to the last bit.

The contact sheet is drawn again from the shards.
"""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from convert import journal, progress
from convert.again import Again, plan_again
from convert.clearing import sweep
from convert.difference import other_versions
from convert.errors import PrebakeError, printable
from convert.exchange import Exchange
from convert.failing import said_as_one_line
from convert.finish import commit
from convert.hashes import HASHES
from convert.inspection import Spared
from convert.interrupts import signals_held_back
from convert.manifest import MANIFEST, Manifest, Shard, load_array, read_manifest
from convert.output import place, tidy
from convert.pack import pack
from convert.packed import Packed
from convert.plan import WORK, Plan
from convert.preview import PREVIEW, draw_preview
from convert.sidefiles import describe
from convert.tables import check_arrays
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
    """Look at all shards, and make the bad ones again from the pictures below `source`; each is replaced as soon as the new one is whole.

    Raises:
        PrebakeError: tables are bad, too, or cannot be read; a folder is in a file's place; another Pillow may give other pixels.
    """
    before = verify(folder, crew)
    bad, torn = before.bad_shards, before.torn
    _check_rest(before)
    if not bad and not torn:
        tidy(folder)
        return Repaired(before, [])
    manifest = before.manifest
    before.wrong |= {name: wrong for name, wrong in check_arrays(folder, manifest).items() if name not in before.wrong}
    _check_rest(before)
    plan = plan_again(folder, manifest, source)
    hashed = any(file.name == HASHES for file in manifest.files) and HASHES not in before.wrong
    _check_versions(folder, manifest.pillow, plan.pillow, allowed=allow_version_change, hashed=hashed)
    exchange = Exchange(Again(folder, manifest, plan, hashed), len(bad), manifest)
    with place(folder) as work, exchange.said_when_it_fails(), said_as_one_line(folder), _bench(work) as bench:
        if read_manifest(folder) != manifest:
            raise PrebakeError(f"{printable(folder)} was changed while it was looked at: start again")
        sweep(folder)
        if bad:
            _make(plan, bench, bad, crew, take=functools.partial(exchange.take, bench))
        for number, why in exchange.others.items():
            before.wrong[manifest.shards[number].name] += f"; {why}"
        torn = torn and all(shard.name not in before.wrong or number in exchange.made for number, shard in enumerate(manifest.shards))
        if torn:
            _draw(folder, exchange.now, bench)
    return Repaired(before, [shard for _, shard in sorted(exchange.made.items())], torn)


def _draw(folder: Path, manifest: Manifest, bench: Path) -> None:
    """Draw the contact sheet again. Another Pillow draws and compresses in another way."""
    labels = load_array(folder / "targets.npy", mapped=False) if manifest.target.kind == "class" else None
    drawn = draw_preview(folder, manifest, labels, bench)
    file = describe(drawn)
    now = dataclasses.replace(manifest, files=tuple(file if each.name == PREVIEW else each for each in manifest.files))
    with signals_held_back():
        drawn.rename(folder / PREVIEW)  # not into it: a link could lead anywhere
        if now != manifest:
            commit(folder, now)


def _check_rest(verdict: Verdict) -> None:
    """Look that all is there that shards are made by, and nothing in their way."""
    if folders := [name for name in verdict.wrong if (verdict.folder / name).is_dir()]:
        raise PrebakeError(f"{printable(verdict.folder / folders[0])} is a folder, where a file belongs: move it elsewhere")
    if lost := [name for name in (MANIFEST, *NEEDED) if name in verdict.wrong]:
        wrong = verdict.wrong[lost[0]]
        remedy = "look at its permissions and the disk" if isinstance(wrong, Spared) else "copy the bake again, or bake it again"
        raise PrebakeError(f"{printable(verdict.folder / f'{lost[0]} {wrong}')}: without it nothing can be repaired; {remedy}")


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


def _make(plan: Plan, bench: Path, bad: list[int], crew: Crew, *, take: Callable[[int, Packed], None]) -> None:
    """Make some of the shards; `take` gets each once it is whole."""
    work = bench / WORK
    plan.save(work)
    journal.begin(work, plan.fingerprint, plan.source)
    progress.create(work, plan.shards)
    rows = sum(stop - start for start, stop in map(plan.bounds, bad))
    with bar(work, rows, dataclasses.replace(crew, max_rejects="100%"), "repairing") as tick:
        run_shards(functools.partial(pack, bench), bad, crew, take=take, tick=tick)
