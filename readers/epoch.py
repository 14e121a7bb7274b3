"""One pass over a Loader's part of an epoch: keeps some batches ahead in its threads, and hands them out in order."""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self

from convert.errors import PrebakeError
from readers.ahead import ASKING
from readers.batches import Batch, Batches
from readers.device import Sent
from readers.order import Order
from readers.ranks import Share
from readers.rows import Index
from readers.selection import Selection
from readers.threads import start_threads

LEAD = 2
"""Batches by which the disk is asked for pages before they are copied."""
SENT = 2
"""Batches on their way to a device, or there, before they are asked for."""
CHUNK = 4096
"""Positions whose order is computed at once."""


@dataclass
class Progress:
    """How far the user has got: in which epoch, and how many samples of it all ranks have received together."""

    epoch: int
    samples: int = 0


def _stop(pools: list[ThreadPoolExecutor], pid: int) -> None:
    """Let threads end after what they do now. It may be one of them that calls this, so it does not wait for them."""
    if os.getpid() == pid:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)


class Epoch(Iterator[Any]):
    """The batches of an epoch."""

    def __init__(
        self,
        batches: Batches,
        order: Order,
        selection: Selection,
        *,
        share: Share,
        progress: Progress,
        threads: int,
        prefetch: int,
    ) -> None:
        """From `progress` on, which is kept up to date."""
        self._batches, self._order, self._selection, self._share, self._progress = batches, order, selection, share, progress
        self._epoch, self._prefetch = progress.epoch, prefetch
        self._begun = self._asked = self._received = 0
        self._chunk: tuple[int, Index, Index] = (0, share.positions(0, 0), share.positions(0, 0))
        self._waiting: deque[Batch] = deque()
        self._sent: deque[Sent | Exception] = deque()
        self._pid = os.getpid()
        batches.fill.rows.look_again()
        self._pool, self._asking = start_threads(threads), ThreadPoolExecutor(ASKING, "prebake-asking")  # begins threads when asked
        self._end = weakref.finalize(self, _stop, [self._pool, self._asking], self._pid)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if os.getpid() != self._pid:
            raise PrebakeError("this iterator's threads are in the process that forked this one: begin a new one, by iter(loader)")
        try:
            self._begin_some()
            sent = self._next_sent()
            self._begin_some()
        except BaseException:  # also the end
            self.close()
            raise
        self._received += 1
        last = self._received == self._share.steps
        self._progress.samples = self._share.taken(self._received)
        if last:
            self._progress.epoch, self._progress.samples = self._epoch + 1, 0
        return self._batches.receive(sent)

    def close(self) -> None:
        """End the threads; what is ahead is dropped."""
        self._end()
        self._waiting.clear()
        self._sent.clear()
        self._begun = self._share.steps
        if os.getpid() == self._pid:
            self._pool.shutdown()
            self._asking.shutdown()

    def _next_sent(self) -> Sent:
        """The next batch, and maybe others after it, on the way to the user."""
        ahead = 1 if self._batches.staging is None else SENT
        while self._waiting and len(self._sent) < ahead and (not self._sent or self._waiting[0].filled):
            self._sent.append(self._send(self._waiting.popleft()))
        if not self._sent:
            raise StopIteration
        sent = self._sent.popleft()
        if isinstance(sent, Exception):
            raise sent
        return sent

    def _send(self, batch: Batch) -> Sent | Exception:
        """A batch on the way to the user, or why it is not: that is raised when its turn comes."""
        try:
            return self._batches.send(batch)
        except StopIteration as error:  # of a function in augment=; it would pass for the end of the epoch
            failed = RuntimeError("a step of augment= raised StopIteration")
            failed.__cause__ = error
            return failed
        except Exception as error:  # noqa: BLE001 - raised later
            return error

    def _begin_some(self) -> None:
        """Keep as many batches ahead as there may be."""
        while self._begun < self._share.steps and len(self._waiting) < self._prefetch:
            self._ask(self._begun)
            positions, numbers = self._of_step(self._begun)
            places, index = self._selection.places(numbers), self._selection.index(numbers)
            self._waiting.append(self._batches.begin(self._pool, self._epoch, positions, places=places, index=index))
            self._begun += 1

    def _of_step(self, step: int) -> tuple[Index, Index]:
        """Positions and numbers of pictures (B,) of a step."""
        first, positions, numbers = self._chunk
        start = (step - first) * self._share.batch
        if start >= len(positions):
            first, start = step, 0
            positions = self._share.positions(step, max(1, CHUNK // self._share.batch))
            numbers = self._order.at(self._epoch, positions)
            self._chunk = first, positions, numbers
        some = slice(start, start + self._share.batch)
        return positions[some], numbers[some]

    def _ask(self, step: int) -> None:
        """Have the pages of coming batches read from the disk: those of the first, then some ahead, and whole windows in quasi order."""
        each, stretch = self._share.batch * self._share.world, self._order.stretch
        until = step + 1 + (LEAD if step else 0)
        until = -(-(-(-(self._share.start + until * each) // stretch) * stretch - self._share.start) // each)
        if until > self._asked and self._batches.ahead.useful:
            numbers = self._order.at(self._epoch, self._share.positions(self._asked, until - self._asked))
            self._batches.ahead.ask(self._asking, self._selection.places(numbers))
        self._asked = max(until, self._asked)
