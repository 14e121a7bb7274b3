"""Threads that copy: how many, and that each computes on one core without a change to anybody else's setting."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from convert.errors import PrebakeError
from readers.machine import cores

MOST = 8
"""Threads that `auto` starts: as many saturate the memory of any machine that we know."""

_starting = threading.Lock()


def _after_fork() -> None:
    global _starting  # another thread may have held it when this process was forked
    _starting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def thread_count(threads: int | str, local_ranks: int) -> int:
    """How many threads: as given, or for "auto" this rank's part of the usable cores, at most 8, at least 1.

    Raises:
        PrebakeError: it is neither a positive whole number nor "auto".
    """
    if threads == "auto":
        return max(1, min(MOST, cores() // local_ranks))
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise PrebakeError(f'threads={threads!r}: give a positive whole number, or "auto"')
    return threads


def start_threads(count: int) -> ThreadPoolExecutor:
    """A pool of threads in which torch computes on one core: the threads together use as many as there are of them.

    `torch.set_num_threads` also sets what threads get that use torch for the first time. So what they got before is read in a new
    thread, and set again from a new thread when all have started; the caller's own count is never touched.
    """
    torch.get_num_threads()  # so that the caller has its count before it is changed for new threads
    with _starting:
        usual = _in_new_thread(torch.get_num_threads)
        ready = threading.Barrier(count + 1)
        pool = ThreadPoolExecutor(count, "prebake-loader", initializer=_compute_alone)
        try:
            for _ in range(count):  # each waits for the others, so each is a thread of its own
                pool.submit(ready.wait)
            ready.wait()
        except BaseException:
            ready.abort()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            _in_new_thread(lambda: torch.set_num_threads(usual))
    return pool


def _compute_alone() -> None:
    torch.get_num_threads()  # without a first call, torch would set the default later
    torch.set_num_threads(1)


def _in_new_thread(function: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()
