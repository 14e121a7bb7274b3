"""Carries a plan out: runs the shards, tries again, counts rejects."""

from __future__ import annotations

import dataclasses
import functools
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from convert import progress
from convert.contracts import Outcome
from convert.errors import NotStartedError, PrebakeError, WorkerDiedError, printable
from convert.finish import commit, finish
from convert.interrupts import heed
from convert.manifest import Manifest
from convert.output import place, sweep
from convert.pack import FULL, Packed, pack
from convert.plan import Plan
from convert.registry import load_executor

TRIES = 3
"""For each shard. A worker that dies takes the shards along that wait for it, so two may be bad luck."""
MIN_REJECTS = 10
"""So many rejects are always allowed by a limit that is a share: one bad file in a small folder is no disaster."""


@dataclasses.dataclass
class Result:
    """A finished bake."""

    manifest: Manifest
    packed: list[Packed]
    seconds: float
    note: str
    """What the user should know."""


def allowed_rejects(limit: str, items: int) -> int:
    """`1%` of the pictures, at least ten, or a count such as `25`."""
    return max(MIN_REJECTS, int(items * float(limit[:-1]) / 100)) if limit.endswith("%") else int(limit)


def carry_out(
    plan: Plan, out: Path, *, workers: int, max_rejects: str = "1%", preview: bool = True, executor: str = "local", quiet: bool = False
) -> Result:
    """Make the bake. When it fails or is interrupted, nothing of it is left in `out`.

    Raises:
        PrebakeError: too many rejects, a disk that is full, a shard that failed too often.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # as multiprocessing itself sees it
        raise PrebakeError('a worker is importing the script that bakes: put the call under `if __name__ == "__main__":`')
    began = time.perf_counter()
    with place(out) as work, _said_as_one_line(out):
        plan.save(work)
        progress.create(work, plan.shards)
        limit = allowed_rejects(max_rejects, len(plan.keys))
        with _bar(work, len(plan.keys), quiet=quiet, limit=limit) as tick:
            packed = _shards(plan, out, tick, workers=workers, executor=executor)
        if not any(done.items for done in packed):
            raise PrebakeError(f"{printable(plan.root)}: no picture could be baked; {_examples(work)}")
        manifest, note = finish(plan, out, packed, preview)
        commit(out, manifest)
    return Result(manifest, packed, time.perf_counter() - began, note)


@contextmanager
def _said_as_one_line(out: Path) -> Iterator[None]:
    """What the system has against writing beside the shards."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise PrebakeError(f"{printable(out)}: disk full; make room, or choose an OUT on another disk") from error
        raise PrebakeError(f"{printable(out)}: {printable(error)}; nothing was kept") from error


@contextmanager
def _bar(work: Path, total: int, *, quiet: bool, limit: int) -> Iterator[Callable[[], None]]:
    """A progress bar on a terminal, nothing elsewhere. Yields what looks at the numbers: too many rejects are an error."""
    from tqdm import tqdm  # `prebake --help` must start at once

    with tqdm(total=total, unit=" pictures", disable=True if quiet else None, dynamic_ncols=True, smoothing=0.1) as bar:

        def tick() -> None:
            done, rejected = progress.totals(work)
            if rejected > limit:
                what = f"more than {limit} pictures were rejected (--max-rejects allows more)"
                raise PrebakeError(f"{what}: {_examples(work)}")
            if rejected:
                bar.set_postfix_str(f"{rejected} rejected", refresh=False)
            bar.update(done - bar.n)

        yield tick
        tick()


def _shards(plan: Plan, out: Path, tick: Callable[[], None], *, workers: int, executor: str) -> list[Packed]:
    """Make every shard; one whose worker died, or that failed for an unknown reason, is tried again."""
    done: dict[int, Packed] = {}
    tries: Counter[int] = Counter()
    todo = list(range(plan.shards))
    while todo:
        again = []
        with closing(load_executor(executor)(functools.partial(pack, out), todo, workers)) as outcomes:
            for outcome in outcomes:
                heed()
                tick()
                if outcome is None:
                    continue
                if outcome.error is None:
                    done[outcome.task] = outcome.value
                else:
                    tries[outcome.task] += not isinstance(outcome.error, NotStartedError)
                    _give_up(outcome, tries[outcome.task])
                    again.append(outcome.task)
        sweep(out)  # what a killed worker left would take room from its second try
        todo = sorted(again)
    return [done[number] for number in range(plan.shards)]


def _give_up(outcome: Outcome, tries: int) -> None:
    """Raise the error of a shard that need not be tried again."""
    error = outcome.error
    if isinstance(error, PrebakeError) and not isinstance(error, WorkerDiedError | NotStartedError):
        raise error
    if error is not None and tries >= TRIES:
        if isinstance(error, PrebakeError | OSError):
            raise PrebakeError(f"shard {outcome.task} failed {tries} times: {error}") from error
        raise error


def _examples(work: Path) -> str:
    """How many were rejected, and a few of them."""
    shown = [f"{printable(key)}: {reason} ({printable(detail)})" for key, reason, detail in progress.first_rejects(work, 3)]
    return f"{progress.totals(work)[1]} rejected, such as " + "; ".join(shown)
