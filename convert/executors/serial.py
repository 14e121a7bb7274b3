"""The reference executor: one task after the other, in this process."""

from collections.abc import Callable, Generator
from typing import Any

from convert.contracts import Outcome


def run_tasks(function: Callable[[int], Any], tasks: list[int], workers: int) -> Generator[Outcome | None]:
    """See `convert.contracts.Executor`. Yields None after each outcome only: a task cannot be watched while it runs."""
    del workers
    for task in tasks:
        try:
            yield Outcome(task, function(task), None)
        except Exception as error:  # noqa: BLE001 - an executor never raises for a task
            yield Outcome(task, None, error)
        yield None


EXECUTOR = run_tasks
