"""Every executor: an outcome for each task, errors as outcomes, dead workers told from tasks that never began, and nothing left running."""

from __future__ import annotations

import math
import os
import pkgutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from convert import executors
from convert.errors import NotStartedError, PrebakeError, WorkerDiedError
from convert.registry import load_executor

NAMES = [module.name for module in pkgutil.iter_modules(executors.__path__)]
each = pytest.mark.parametrize("name", NAMES)


def refuse_odd(task: int) -> int:
    if task % 2:
        raise PrebakeError(f"task {task} is odd")
    return os.getpid()


def die_at_three(task: int) -> int:
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def sleep_long(task: int) -> int:
    time.sleep(60)
    return task


def _outcomes(name: str, function: Callable[[int], Any], count: int, workers: int) -> dict[int, Any]:
    found = {}
    for outcome in load_executor(name)(function, list(range(count)), workers):
        if outcome is not None:
            assert outcome.task not in found
            found[outcome.task] = outcome
    return found


@each
@pytest.mark.parametrize(("count", "workers"), [(1, 1), (1, 8), (7, 2), (40, 3)])
def test_every_task_has_its_outcome(name: str, count: int, workers: int) -> None:
    found = _outcomes(name, math.factorial, count, workers)
    assert {task: outcome.value for task, outcome in found.items()} == {task: math.factorial(task) for task in range(count)}
    assert all(outcome.error is None for outcome in found.values())


@each
def test_an_error_is_the_outcome_of_its_task_alone(name: str) -> None:
    found = _outcomes(name, refuse_odd, 6, 2)
    assert {task: str(outcome.error) for task, outcome in found.items() if outcome.error} == {t: f"task {t} is odd" for t in (1, 3, 5)}
    assert all(type(outcome.error) in (PrebakeError, type(None)) for outcome in found.values())


@each
def test_a_slow_consumer_is_no_broken_pool(name: str) -> None:
    """All running tasks are done at the same look; those that wait are not dead."""
    found = {}
    for outcome in load_executor(name)(math.factorial, list(range(30)), 2):
        if outcome is None:
            time.sleep(0.02)
        else:
            found[outcome.task] = outcome.error
    assert found == dict.fromkeys(range(30))


def test_a_dead_worker_and_tasks_that_never_began_are_told_apart() -> None:
    found = _outcomes("local", die_at_three, 40, 2)
    errors = {type(outcome.error) for outcome in found.values()}
    assert sorted(found) == list(range(40))
    assert isinstance(found[3].error, WorkerDiedError)
    assert isinstance(found[39].error, NotStartedError)
    assert errors <= {type(None), WorkerDiedError, NotStartedError}
    assert sum(isinstance(outcome.error, WorkerDiedError) for outcome in found.values()) <= 4


def test_closing_ends_the_workers_at_once() -> None:
    outcomes = load_executor("local")(sleep_long, [0, 1, 2], 2)
    assert next(outcomes) is None
    children = {path.name for path in Path("/proc").iterdir() if _is_worker(path.name)}
    assert len(children) == 2
    outcomes.close()
    for _ in range(100):
        if not any(map(_is_worker, children)):
            return
        time.sleep(0.05)
    pytest.fail("workers are still there")


def _is_worker(pid: str) -> bool:
    """Whether a process was made by a forkserver of this one."""
    try:
        state, parent = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[:2]
        above = Path("/proc", parent, "stat").read_text().rpartition(")")[2].split()[1]
    except (OSError, ValueError):
        return False
    return state != "Z" and int(above) == os.getpid()
