"""Carries a plan out: runs the shards, tries again, counts rejects."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from convert import progress
from convert.errors import PrebakeError, WorkerDiedError, printable
from convert.finish import commit, finish
from convert.manifest import Manifest
from convert.output import place, sweep
from convert.pack import FULL, PROGRESS, Packed, pack
from convert.plan import Plan
from convert.registry import load_executor

TRIES = 2
MIN_REJECTS = 10
"""So many rejects are always allowed by a limit that is a share: one bad file in a small folder is no disaster."""


@dataclasses.dataclass
class Result:
    """A finished bake."""

    manifest: Manifest
    packed: list[Packed]
    seconds: float


def allowed_rejects(limit: str, items: int) -> int:
    """`1%` of the pictures, at least ten, or a count such as `25`."""
    return max(MIN_REJECTS, int(items * float(limit[:-1]) / 100)) if limit.endswith("%") else int(limit)


def carry_out(
    plan: Plan, out: Path, *, workers: int, max_rejects: str = "1%", preview: bool = True, executor: str = "local", quiet: bool = False
) -> Result:
    """Make the bake. When it fails or is interrupted, nothing of it is left in `out`.

    Raises:
        PrebakeError: too many rejects, a disk that is full, a shard that failed twice.
    """
    began = time.perf_counter()
    with place(out) as work, _said_as_one_line(out):
        plan.save(work)
        progress.create(work / PROGRESS, plan.shards)
        with _bar(work / PROGRESS, len(plan.keys), quiet) as tick:
            limit = allowed_rejects(max_rejects, len(plan.keys))
            packed = _shards(plan, out, tick, workers=workers, executor=executor, limit=limit)
        if not any(done.items for done in packed):
            raise PrebakeError(f"{printable(plan.root)}: no picture could be baked; {_examples(plan, packed)}")
        manifest = finish(plan, out, packed, preview)
        commit(out, manifest)
    return Result(manifest, packed, time.perf_counter() - began)


@contextmanager
def _said_as_one_line(out: Path) -> Iterator[None]:
    """What the system has against writing beside the shards."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise PrebakeError(f"{printable(out)}: disk full; make room, or choose an OUT on another disk") from error
        raise PrebakeError(f"{printable(out)} cannot be written: {error}") from error


@contextmanager
def _bar(path: Path, total: int, quiet: bool) -> Iterator[Callable[[], None]]:
    """A progress bar on a terminal, nothing elsewhere."""
    from tqdm import tqdm  # `prebake --help` must start at once

    with tqdm(total=total, unit=" pictures", disable=True if quiet else None, dynamic_ncols=True, smoothing=0.1) as bar:

        def tick() -> None:
            done, rejected = progress.totals(path)
            if rejected:
                bar.set_postfix_str(f"{rejected} rejected", refresh=False)
            bar.update(done - bar.n)

        yield tick
        tick()


def _shards(plan: Plan, out: Path, tick: Callable[[], None], *, workers: int, executor: str, limit: int) -> list[Packed]:
    """Make every shard; one whose worker died, or that failed for an unknown reason, is tried again."""
    done: dict[int, Packed] = {}
    todo = list(range(plan.shards))
    failed: dict[int, Exception] = {}
    for _ in range(TRIES):
        failed = {}
        for outcome in load_executor(executor)(functools.partial(pack, out), todo, workers):
            tick()
            if outcome is None:
                continue
            if outcome.error is None:
                done[outcome.task] = outcome.value
                _check_rejects(plan, list(done.values()), limit)
            elif isinstance(outcome.error, PrebakeError) and not isinstance(outcome.error, WorkerDiedError):
                raise outcome.error
            else:
                failed[outcome.task] = outcome.error
        sweep(out)  # what a killed worker left would take room from its second try
        todo = sorted(failed)
        if not todo:
            return [done[number] for number in range(plan.shards)]
    number, error = min(failed.items())
    if isinstance(error, PrebakeError | OSError):
        raise PrebakeError(f"{printable(out)}: shard {number} failed {TRIES} times: {error}") from error
    raise error


def _examples(plan: Plan, packed: list[Packed]) -> str:
    rejects = [reject for done in packed for reject in done.rejects]
    shown = [f"{printable(plan.keys[item])}: {reason} ({printable(detail)})" for item, reason, detail in rejects[:3]]
    return f"{len(rejects)} rejected, such as " + "; ".join(shown)


def _check_rejects(plan: Plan, packed: list[Packed], limit: int) -> None:
    if sum(len(done.rejects) for done in packed) > limit:
        raise PrebakeError(f"more than {limit} pictures were rejected (--max-rejects allows more): {_examples(plan, packed)}")
