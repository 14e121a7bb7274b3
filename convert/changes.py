"""Pictures of a finished bake that were changed since: by their time, which is a hint, or by what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np

from convert.bars import counting
from convert.errors import PrebakeError, counted, printable
from convert.hashes import HASHES, read_inventory
from convert.manifest import MANIFEST
from convert.source import NO_TIME, Source
from convert.stock import is_same
from convert.tasks import Crew

AT_ONCE = 64
"""Pictures that a thread looks at in one go."""


def newer(out: Path, source: Source, keys: Iterable[str] | None = None) -> str:
    """Says how many pictures (of `keys`, if given) were written to after the bake; empty if none were."""
    late = np.flatnonzero((source.times != NO_TIME) & (source.times > (out / MANIFEST).stat().st_mtime_ns)).tolist()
    known = None if keys is None else set(keys)
    found = [key for key in (source.keys[item] for item in late) if known is None or key in known]
    if not found:
        return ""
    return f"{counted(len(found), 'picture')} newer than the bake, such as {printable(found[0])}: --check-source compares what they hold"


def check_contents(out: Path, source: Source, crew: Crew, remedy: str) -> None:
    """Look that each row's picture, if it is in the source still, holds what was baked.

    Raises:
        PrebakeError: some do not, or the bake was made without hashes.
    """
    baked = read_inventory(out)
    if baked is None:
        raise PrebakeError(f"{printable(out)} has no {HASHES}, with which --check-source compares: it was baked with --dedupe off")
    here = set(source.keys)
    groups = [range(start, min(start + AT_ONCE, len(baked.keys))) for start in range(0, len(baked.keys), AT_ONCE)]

    def changed(rows: range) -> list[str]:
        keys = [(baked.keys[row], baked.hashes[row].tobytes()) for row in rows]
        return [key for key, known in keys if key in here and not is_same(source.root, key, known)]

    found: list[str] = []
    with (
        counting(len(baked.keys), "looking", "pictures", hidden=crew.quiet) as bar,
        ThreadPoolExecutor(max(1, crew.workers)) as pool,
        closing(pool.map(changed, groups)) as results,  # type: ignore[type-var]
    ):
        for rows, keys in zip(groups, results, strict=True):
            bar.update(len(rows))
            found += keys
    if found:
        what = f"something else than was baked is now in {counted(len(found), 'picture')}, such as {printable(found[0])}"
        raise PrebakeError(f"{printable(out)}: {what}: {remedy}")
