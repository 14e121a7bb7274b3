"""Reads from /proc what a row costs: memory, CPU time and bytes from the disk, over this process and its workers."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PAUSE, SHARE = 0.4, 50
"""Seconds between two looks at memory, and how many times longer than a look they are at least."""


def children(pid: int) -> set[int]:
    """All descendants of a process."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            below = {int(word) for word in path.read_text().split()}
        except OSError:  # the thread has just ended
            continue
        for child in below:
            found |= {child} | children(child)
    return found


def _words(pid: int, name: str) -> dict[str, int]:
    """`name: number` lines of a file below /proc; none if it cannot be read."""
    try:
        lines = Path(f"/proc/{pid}/{name}").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {key: int(value.split()[0]) for key, value in pairs if value.split() and value.split()[0].isdigit()}


def _cpu(pid: int) -> float:
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / TICKS


@dataclass
class Spent:
    """CPU seconds, and bytes that came from a disk."""

    cpu: float
    disk: int


class Meter:
    """Watches this process and the workers that are started after the meter was made."""

    def __init__(self) -> None:
        """Other children that are there already are not counted."""
        self._others = children(os.getpid())

    def workers(self) -> set[int]:
        """Started since."""
        return children(os.getpid()) - self._others

    def spent(self) -> Spent:
        """So far."""
        pids = [os.getpid(), *self.workers()]
        return Spent(sum(map(_cpu, pids)), sum(_words(pid, "io").get("read_bytes", 0) for pid in pids))

    def memory(self) -> tuple[int, int]:
        """Proportional bytes: of the processes' own (shared memory too), and of mapped files, which are the page cache's."""
        rows = [_words(pid, "smaps_rollup") for pid in [os.getpid(), *self.workers()]]
        own = sum(row.get("Pss_Anon", 0) + row.get("Pss_Shmem", 0) for row in rows)
        return 1024 * own, 1024 * sum(row.get("Pss_File", 0) for row in rows)

    def wait_for_workers(self, seconds: float = 10.0) -> None:
        """Until all of them have ended."""
        until = time.monotonic() + seconds
        while self.workers() and time.monotonic() < until:
            time.sleep(0.01)


class Peak:
    """The most memory that is seen while the block runs and at its end; looks so seldom that it takes 2 % of a core at most."""

    def __init__(self, meter: Meter) -> None:
        """Of what the meter watches."""
        self._meter, self._end = meter, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.own = self.mapped = 0

    def _look(self) -> None:
        own, mapped = self._meter.memory()
        self.own, self.mapped = max(self.own, own), max(self.mapped, mapped)

    def _watch(self) -> None:
        pause = PAUSE
        while not self._end.wait(pause):
            began = time.perf_counter()
            self._look()
            pause = max(PAUSE, SHARE * (time.perf_counter() - began))

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()
        self._look()
