"""Starts prebake in a session of its own, as a terminal does, and follows the session's processes until they have ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from launch import PREBAKE, ROOT

LATE = 60.0
Run = subprocess.Popen[str]


def start(*args: object) -> Run:
    command = [*PREBAKE, *map(str, args)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finish(run: Run, seconds: float = LATE) -> tuple[int, list[str]]:
    """Exit code, and the lines on stderr; all processes that have its pipes must end in time."""
    try:
        _, stderr = run.communicate(timeout=seconds)
    finally:
        for pid in processes(run.pid) if run.poll() is None else ():
            os.kill(pid, signal.SIGKILL)
    return run.returncode, [line for line in stderr.splitlines() if line]


def processes(session: int) -> dict[int, int]:
    """The parent of each living process of a session: orphans stay in it."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, _, own = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # ended meanwhile
            continue
        if int(own) == session and state not in "ZX":
            found[int(path.parent.name)] = int(parent)
    return found


def workers(run: Run) -> list[int]:
    """The processes that bake: children of the process that forks them, grandchildren of the run."""
    return [pid for pid, parent in processes(run.pid).items() if processes(run.pid).get(parent) == run.pid]


def imports_numpy(pid: int) -> bool:
    """Whether a process has come so far."""
    try:
        return "_multiarray_umath" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:  # ended meanwhile
        return False


def wait_for(condition: Callable[[], object], seconds: float = LATE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


def holds_in_threads_and_a_fork(read: Callable[[int], bool], times: int) -> None:
    """Sixteen threads at once, and then a forked child, must all find it true for their seeds."""
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(read, range(times)))
    pid = os.fork()
    if pid == 0:
        os._exit(0 if read(99) else 1)
    assert os.waitpid(pid, 0)[1] == 0
