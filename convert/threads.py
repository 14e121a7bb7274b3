"""Calls a function for many things in threads, behind a progress bar, and ends at once when it is to end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TypeVar

from convert.bars import counting

T = TypeVar("T")
R = TypeVar("R")
AHEAD = 4
"""Calls for each thread that wait or run: more would only be more to give up."""
Wanted = Callable[[], None]
"""Raises where nobody wants the result any more. To be called wherever a thread has done a small part of its work."""


def in_threads(
    function: Callable[[T, Wanted], R],
    tasks: Sequence[T],
    threads: int,
    *,
    unit: str,
    weigh: Callable[[T], int] = lambda _: 1,
    hidden: bool = False,
) -> list[R]:
    """What `function(task, wanted)` returns for each task, in their order. The first error ends all, as Ctrl-C does.

    Args:
        function: calls `wanted` between its steps. Threads help where it lets Python's lock go: as it reads, or hashes.
        tasks: for which it is called.
        threads: how many calls run at once.
        unit: what the bar counts.
        weigh: how many of those a task is.
        hidden: no bar.
    """
    ended = threading.Event()
    waiting: deque[tuple[T, Future[R]]] = deque()
    found: list[R] = []

    def wanted() -> None:
        if ended.is_set():
            raise CancelledError

    pool = ThreadPoolExecutor(max(1, threads))
    try:
        with counting(sum(map(weigh, tasks)), "looking", unit, hidden=hidden) as bar:

            def take() -> None:
                task, future = waiting.popleft()
                found.append(future.result())
                bar.update(weigh(task))

            for task in tasks:
                waiting.append((task, pool.submit(function, task, wanted)))
                if len(waiting) >= AHEAD * max(1, threads):
                    take()
            while waiting:
                take()
    finally:
        ended.set()
        pool.shutdown(cancel_futures=True)
    return found
