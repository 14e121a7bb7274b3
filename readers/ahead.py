"""Asks the kernel for the pages of coming batches, as long as that makes it read something."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from readers.rows import Index, Rows

PATIENCE = 16
"""Batches that are asked for after the last sign that pages are not in memory."""
ASKING, PART = 4, 16
"""Threads that ask, and rows in a call: asking waits for room in the disk's queue, which threads that copy have no time for."""


def _usage() -> resource.struct_rusage:
    return resource.getrusage(resource.RUSAGE_THREAD)


class Ahead:
    """Decides by two signs, both counted by the kernel for each thread: what asking made it read, and how often copying had to wait.

    On pages that are in memory, asking costs a tenth of the copy and gains nothing. So it ends when neither sign was seen for
    some batches, and begins again when a copy waits for the disk. The first batch is asked for to find out.
    """

    def __init__(self, rows: Rows) -> None:
        """For a bake."""
        self._rows = rows
        self._left = 1 if rows.io == "mmap" else 0

    @property
    def useful(self) -> bool:
        """Whether to ask for the next batch."""
        return self._left > 0

    def ask(self, pool: Executor, places: Index) -> None:
        """Let threads ask for rows of the bake."""
        self._left -= 1
        for first in range(0, len(places), PART):
            pool.submit(self._ask, places[first : first + PART])

    def _ask(self, places: Index) -> None:
        before = _usage().ru_inblock
        self._rows.arena.will_need(self._rows.addresses(places), self._rows.layout.lengths(places))
        if _usage().ru_inblock > before:
            self._left = PATIENCE

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Around a copy: whether it waits for the disk."""
        before = _usage().ru_majflt
        yield
        if self._rows.io == "mmap" and _usage().ru_majflt > before:
            self._left = PATIENCE
