"""Carries a plan out: every shard, what lies beside them, and the manifest, or nothing."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from convert import progress
from convert.duplicates import Duplicates
from convert.errors import PrebakeError, printable
from convert.finish import commit, finish
from convert.manifest import Manifest
from convert.output import place, sweep
from convert.pack import FULL, Packed, pack
from convert.plan import Plan
from convert.tasks import Crew, bar, check_process, nothing_baked, run_shards


@dataclasses.dataclass
class Result:
    """A finished bake."""

    manifest: Manifest
    packed: list[Packed]
    seconds: float
    note: str
    """What the user should know."""
    duplicates: Duplicates


def carry_out(plan: Plan, out: Path, crew: Crew, *, preview: bool = True) -> Result:
    """Make the bake. When it fails or is interrupted, nothing of it is left in `out`.

    Raises:
        PrebakeError: too many rejects, a disk that is full, a shard that failed too often.
    """
    check_process()
    began = time.perf_counter()
    with place(out) as work, _said_as_one_line(out):
        plan.save(work)
        packed = _shards(plan, out, work, crew)
        if not any(done.items for done in packed):
            raise nothing_baked(plan, work)
        ended = finish(plan, out, packed, preview)
        commit(out, ended.manifest)
    return Result(ended.manifest, packed, time.perf_counter() - began, ended.note, ended.duplicates)


@contextmanager
def _said_as_one_line(out: Path) -> Iterator[None]:
    """What the system has against writing beside the shards."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise PrebakeError(f"{printable(out)}: disk full; make room, or choose an OUT on another disk") from error
        raise PrebakeError(f"{printable(out)}: {printable(error)}; nothing was kept") from error


def _shards(plan: Plan, out: Path, work: Path, crew: Crew) -> list[Packed]:
    """Make every shard."""
    done: dict[int, Packed] = {}
    progress.create(work, plan.shards)
    with bar(work, len(plan.keys), crew, "baking") as tick:
        # What a killed worker left would take room from its second try.
        between = functools.partial(sweep, out)
        run_shards(functools.partial(pack, out), plan.shards, crew, take=done.__setitem__, tick=tick, between=between)
    return [done[number] for number in range(plan.shards)]
