"""Pictures that were changed while a bake was made, or since it was finished: by their time, or by what they hold."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from convert.errors import PrebakeError, counted, printable
from convert.hashes import HASHES, NBYTES, Hashes, read_inventory
from convert.manifest import MANIFEST
from convert.packed import Packed
from convert.pictures import is_same
from convert.plan import Plan
from convert.reading import is_as_listed, was_changed
from convert.source import Source
from convert.tasks import Crew
from convert.threads import Wanted, in_threads

AT_ONCE = 64
"""Pictures that a thread looks at in one go."""


def newer(out: Path, source: Source, keys: Iterable[str] | None = None) -> str:
    """Says how many pictures (of `keys`, if given) were written to after the bake; empty if none were."""
    late = np.flatnonzero(source.times > (out / MANIFEST).stat().st_mtime_ns).tolist()
    known = None if keys is None else set(keys)
    found = [key for key in (source.keys[item] for item in late) if known is None or key in known]
    if not found:
        return ""
    return f"{counted(len(found), 'picture')} newer than the bake, such as {printable(found[0])}: --check-source compares what they hold"


def check_contents(out: Path, source: Source, crew: Crew, remedy: str) -> None:
    """Look that each row's picture, if it is in the source still, holds what was baked.

    Raises:
        PrebakeError: some do not, one was changed meanwhile or went away, or the bake was made without hashes.
    """
    baked = read_inventory(out)
    if baked is None:
        raise PrebakeError(f"{printable(out)} has no {HASHES}, with which --check-source compares: it was baked with --dedupe off")
    place = {key: item for item, key in enumerate(source.keys)}

    def changed(rows: range, wanted: Wanted) -> list[str]:
        found = []
        for row in rows:
            wanted()
            key = baked.keys[row]
            if key in place and not is_same(source.root, key, baked.hashes[row].tobytes(), source.stamp(place[key])):
                found.append(key)
        return found

    groups = in_threads(changed, _groups(len(baked.keys)), crew.workers, unit="pictures", weigh=len, hidden=crew.quiet)
    if found := [key for keys in groups for key in keys]:
        what = f"something else than was baked is now in {counted(len(found), 'picture')}, such as {printable(found[0])}"
        raise PrebakeError(f"{printable(out)}: {what}: {remedy}")


def check_unchanged(plan: Plan, packed: Iterable[Packed], crew: Crew, *, by_time: bool) -> int:
    """Look once more at all pictures of a bake whose shards are made: each must be what it was when the run began.

    One that went away was read in time. One whose time alone differs may hold what was baked: its hash tells; where there is none, it
    counts as changed if it is to be known `by_time`.

    Returns:
        When that began, in ns since 1970.

    Raises:
        PrebakeError: one was changed meanwhile.
    """
    began, root, hashes = time.time_ns(), Path(plan.root), _hashes(plan, packed)

    def look(items: range, wanted: Wanted) -> None:
        for item in items:
            wanted()
            key, stamp = plan.keys[item], plan.stamp_of(item)
            if stamp is None or is_as_listed(root, key, stamp):
                continue
            if by_time if not hashes[item].any() else not is_same(root, key, hashes[item].tobytes(), stamp):
                raise was_changed(root / key)

    in_threads(look, _groups(len(plan.keys)), crew.workers, unit="pictures", weigh=len, hidden=crew.quiet)
    return began


def _groups(count: int) -> list[range]:
    """So many pictures, by their numbers, in groups for a thread."""
    return [range(start, min(start + AT_ONCE, count)) for start in range(0, count, AT_ONCE)]


def _hashes(plan: Plan, packed: Iterable[Packed]) -> Hashes:
    """The hash of each item (N, 16), zero where none is known."""
    found = np.zeros((len(plan.keys), NBYTES), np.uint8)
    for done in packed:
        if done.hashes:
            found[done.items] = np.frombuffer(done.hashes, np.uint8).reshape(-1, NBYTES)
    return found
