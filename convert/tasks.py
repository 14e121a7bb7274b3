"""Runs a function for each shard, in workers: shows a bar, tries again where a worker died, ends when too many pictures are bad."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convert import progress
from convert.bars import counting
from convert.contracts import Outcome
from convert.errors import NotStartedError, PrebakeError, WorkerDiedError, printable
from convert.plan import Plan
from convert.registry import load_executor

TRIES = 3
"""For each shard. A worker that dies takes the shards along that wait for it, so two may be bad luck."""
MIN_REJECTS = 10
"""So many rejects are always allowed by a limit that is a share: one bad file in a small folder is no disaster."""


@dataclass(frozen=True)
class Crew:
    """Who goes over the pictures, and how many bad ones are put up with."""

    workers: int = 1
    executor: str = "local"
    max_rejects: str = "1%"
    """A count, or a share."""
    strict: bool = False
    """Whether the first bad picture is one too many, whatever `max_rejects` says."""
    quiet: bool = False


def allowed_rejects(limit: str, items: int) -> int:
    """`1%` of the pictures, at least ten, or a count such as `25`."""
    return max(MIN_REJECTS, int(items * float(limit[:-1]) / 100)) if limit.endswith("%") else int(limit)


def _too_many(crew: Crew, limit: int) -> str:
    """Says which limit was passed, and how to have another."""
    if crew.strict:
        return "a picture was rejected, and --strict allows none (leave --strict out to go on without it)"
    if limit == 0:
        return f"a picture was rejected, and --max-rejects {crew.max_rejects} allows none (a higher one goes on without it)"
    return f"more than {limit} pictures were rejected (--max-rejects allows more)"


def check_process() -> None:
    """Look whether workers can be started from here.

    Raises:
        PrebakeError: this is a worker, which runs a script without a main guard.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # as multiprocessing itself sees it
        raise PrebakeError('a worker is importing the script that bakes: put the call under `if __name__ == "__main__":`')


@contextmanager
def bar(work: Path, total: int, crew: Crew, doing: str) -> Iterator[Callable[[], None]]:
    """A progress bar on a terminal, nothing elsewhere. Yields what looks at the numbers of `convert.progress`.

    Raises:
        PrebakeError: more pictures were rejected than allowed.
    """
    limit = 0 if crew.strict else allowed_rejects(crew.max_rejects, total)
    with counting(total, doing, "pictures", hidden=crew.quiet, initial=progress.totals(work)[0]) as drawn:

        def tick() -> None:
            done, rejected = progress.totals(work)
            if rejected > limit:
                raise PrebakeError(f"{_too_many(crew, limit)}: {_examples(work)}")
            if rejected:
                drawn.set_postfix_str(f"{rejected} rejected", refresh=False)
            drawn.update(done - drawn.n)

        yield tick
        tick()


def nothing_baked(plan: Plan, work: Path) -> PrebakeError:
    """The error that no picture was any good."""
    return PrebakeError(f"{printable(plan.root)}: no picture could be baked; {_examples(work)}")


def _examples(work: Path) -> str:
    """How many were rejected, and a few of them."""
    shown = [f"{printable(key)}: {reason} ({printable(detail)})" for key, reason, detail in progress.first_rejects(work, 3)]
    return f"{progress.totals(work)[1]} rejected, such as " + "; ".join(shown)


def run_shards(
    function: Callable[[int], Any],
    numbers: Iterable[int],
    crew: Crew,
    *,
    take: Callable[[int, Any], None],
    tick: Callable[[], None],
    between: Callable[[], None] | None = None,
) -> None:
    """Call `function(number)` for each shard, in any order, and `take(number, value)` here with what it returns.

    A shard whose worker died, or that failed for an unknown reason, is tried again once all others are done; `between` is called before.

    Raises:
        PrebakeError: a shard failed too often, or in a way that will not change; and whatever `take` raises.
    """
    tries: Counter[int] = Counter()
    todo = list(numbers)
    while todo:
        again = []
        with closing(load_executor(crew.executor)(function, todo, crew.workers)) as outcomes:
            for outcome in outcomes:
                tick()
                if outcome is None:
                    continue
                if outcome.error is None:
                    take(outcome.task, outcome.value)
                else:
                    tries[outcome.task] += not isinstance(outcome.error, NotStartedError)
                    _give_up(outcome, tries[outcome.task])
                    again.append(outcome.task)
        if between is not None:
            between()
        todo = sorted(again)


def _give_up(outcome: Outcome, tries: int) -> None:
    """Raise the error of a shard that need not be tried again."""
    error = outcome.error
    if isinstance(error, PrebakeError) and not isinstance(error, WorkerDiedError | NotStartedError):
        raise error
    if error is not None and tries >= TRIES:
        if isinstance(error, PrebakeError | OSError):
            raise PrebakeError(f"shard {outcome.task} failed {tries} times: {error}") from error
        raise error
