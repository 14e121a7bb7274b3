"""Worker processes on this machine.

Workers outlive a killed parent unless they watch it, and a pool offers no way to end them at once. So each watches two things: its
parent's death, and a pipe whose other end the parent holds; when either closes, it ends there and then.
"""

import errno
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_pipes
from multiprocessing.context import BaseContext
from typing import Any

from convert.contracts import Outcome
from convert.errors import NotStartedError, PrebakeError, WorkerDiedError, printable
from convert.interrupts import signals_held_back

SOCKET = 107
"""Bytes of a Unix socket's path, at most; multiprocessing makes one in the temporary folder."""
NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
"""What a file system has against a new file."""
TICK = 0.2
"""Seconds between two looks at the watch."""


def _watch(stop: Connection) -> None:
    parent = multiprocessing.parent_process()
    wait_for_pipes([stop] if parent is None else [stop, parent.sentinel])
    os._exit(1)


def _begin(stop: Connection) -> None:
    """A worker's initialiser: Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(stop,), daemon=True).start()


def _context(module: str) -> BaseContext:
    """A forkserver that has imported the task's module; it and its children are born with Ctrl-C blocked, so none prints a traceback."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})  # a terminal that goes away tells all its processes: they end by us
    try:
        resource_tracker.ensure_running()  # which unblocks Ctrl-C when it starts: so before
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


def _ready(module: str) -> BaseContext:
    """The same, or one line on why there is no place for its socket.

    Raises:
        PrebakeError: the temporary folder's path is too long, or it takes no file.
    """
    folder = tempfile.gettempdir()
    if len(os.fsencode(folder)) > SOCKET - len("/pymp-12345678/listener-12345678"):
        raise PrebakeError(f"TMPDIR {printable(folder)} is too long a path for the socket of the workers: set TMPDIR=/tmp")
    try:
        with signals_held_back():
            return _context(module)
    except OSError as error:
        if error.errno not in NO_PLACE:
            raise
        what = f"TMPDIR {printable(folder)} has no place for the socket of the workers ({error.strerror})"
        raise PrebakeError(f"{what}: make room there, or set TMPDIR to a folder on another disk") from error


def run_tasks(function: Callable[[int], Any], tasks: list[int], workers: int) -> Generator[Outcome | None]:
    """See `convert.contracts.Executor`. A killed worker breaks a pool for good: what was not finished comes back as failed.

    Raises:
        PrebakeError: the temporary folder has no place for the workers' socket.
    """
    context = _ready(getattr(function, "func", function).__module__)
    stop, hold = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(min(workers, len(tasks)), context, _begin, (stop,))
    running: dict[Future[Any], int] = {}
    waiting = list(reversed(tasks))
    broken = False
    try:
        while running or waiting:
            while waiting and not broken and len(running) < 2 * workers:
                try:
                    with signals_held_back():
                        future = pool.submit(function, waiting[-1])
                except BrokenProcessPool:
                    broken = True
                    continue
                running[future] = waiting.pop()
            done, _ = wait(running, TICK, FIRST_COMPLETED)
            for future in done:
                yield _outcome(running.pop(future), future)
            if broken and not running:
                yield from (Outcome(task, None, NotStartedError("no worker is left")) for task in waiting)
                waiting.clear()
            yield None
    finally:
        hold.close()
        pool.shutdown(wait=True, cancel_futures=True)
        stop.close()


def _died() -> Exception:
    return WorkerDiedError("a worker process died; if the system killed it for memory, use fewer --workers")


def _outcome(task: int, future: Future[Any]) -> Outcome:
    error = future.exception()
    if isinstance(error, BrokenProcessPool):
        return Outcome(task, None, _died())
    if error is None:
        return Outcome(task, future.result(), None)
    return Outcome(task, None, error if isinstance(error, Exception) else WorkerDiedError(f"a worker ended: {error!r}"))


EXECUTOR = run_tasks
