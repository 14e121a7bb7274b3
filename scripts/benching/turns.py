"""Times every contender once in a round, in an order that rotates, each alone in the machine: opened, warmed up, timed, closed."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benching.cold import drop, resident
from benching.epochs import Timed, Work, run
from benching.feeds import Contender, Feed, stream
from benching.meters import Meter
from benching.settings import FOLDER, Settings
from benching.shortage import ShortageError, no_room
from benching.work import Batch, Nothing, to_device

STEPS = 3
"""Of the network before anything is timed: a GPU chooses its algorithms then."""
BOUND = "upper bound"
"""The name of that row."""
Say = Callable[[str], None]


@dataclass
class Turns:
    """What is measured, of which pictures, and how long each must take."""

    settings: Settings
    contenders: Sequence[Contender]
    keys: Sequence[str]
    say: Say

    def __post_init__(self) -> None:
        # How often the pictures are read for a row to last long enough.
        self._passes: dict[tuple[str, str], int] = defaultdict(lambda: 1)
        self._kept: Batch = (torch.empty(0), None)

    @property
    def base(self) -> int:
        """Pictures in one pass, rounded up to full batches: an epoch ends with a full batch always."""
        return self.settings.batch * math.ceil(len(self.keys) / self.settings.batch)

    def rounds(self, kind: str, work: Work) -> dict[str, list[Timed]]:
        """Each contender's epochs, one a round; `kind` is loader, training or cold. With training comes BOUND, which takes its turn too."""
        jobs: dict[str, Callable[[], Timed]] = {}
        if kind == "training":
            self._keep_a_batch(work)
        for one in self.contenders:
            # Training through both loaders would take twice as long to tell what the loaders alone tell.
            if kind != "training" or self.settings.loader != "both" or one.role or one.loader == "Loader":
                jobs[one.name] = functools.partial(self.cold, one) if kind == "cold" else functools.partial(self.timed, kind, one, work)
        if kind == "training":
            jobs[BOUND] = functools.partial(self._bound, work)
        found: dict[str, list[Timed]] = {name: [] for name in jobs}
        for number in range(self.settings.epochs):
            turn, names = number % len(jobs), list(jobs)
            for name in names[turn:] + names[:turn]:
                self.say(f"{kind}, round {number + 1} of {self.settings.epochs}: {name}")
                found[name].append(jobs[name]())
        return found

    def timed(self, kind: str, contender: Contender, work: Work) -> Timed:
        """One warm epoch, of at least a second.

        Raises:
            ShortageError: a batch is too large for the memory.
        """
        return self._long_enough((kind, contender.name), lambda passes: self._one(contender, work, passes))

    def _long_enough(self, row: tuple[str, str], timed: Callable[[int], Timed]) -> Timed:
        """What is timed over so many passes that it takes at least a second; next time it begins with as many."""
        while True:
            try:
                done = timed(self._passes[row])
            except (RuntimeError, OSError, MemoryError) as error:
                if reason := no_room(error):
                    what = f"{row[1]}: out of memory with batches of {self.settings.batch} ({reason})"
                    raise ShortageError(f"{what}: take a smaller --batch-size, or fewer --workers") from error
                raise
            if done.seconds >= self.settings.seconds:
                return done
            self._passes[row] = math.ceil(self._passes[row] * 1.3 * self.settings.seconds / done.seconds)

    def cold(self, contender: Contender) -> Timed:
        """One pass from opening on, after the files were dropped from the page cache."""
        drop(contender.files)
        there = resident(contender.files)
        indices, firsts = contender.indices(self.keys, stream(len(self.keys), self.base)), list[float]()
        meter, began = Meter(), time.perf_counter()
        feed = contender.open(indices)
        done = run(_from_opening(feed, began, firsts), Nothing(), self.settings.device, meter=meter, checked=self.base)
        done.seconds, done.first_batch, done.resident = time.perf_counter() - began, firsts[0], there
        _close(feed, meter)
        return done

    def _one(self, contender: Contender, work: Work, passes: int) -> Timed:
        indices = contender.indices(self.keys, stream(len(self.keys), self.base * passes))
        meter, began = Meter(), time.perf_counter()
        feed = contender.open(indices)
        first = self._warm_up(contender, feed, work, began)
        done = run(feed.batches(), work, self.settings.device, meter=meter, checked=self.base)
        done.first_batch = first
        _close(feed, meter)
        return done

    def _keep_a_batch(self, work: Work) -> None:
        """For the upper bound; the network learns its shape outside the clock."""
        last = self.contenders[-1]
        meter, feed = Meter(), last.open(last.indices(self.keys, stream(len(self.keys), self.settings.batch)))
        images, labels = to_device(next(feed.batches()), self.settings.device)
        # Not the loader's memory, which it would use again, nor a view of it.
        self._kept = images.clone(), None if labels is None else labels.clone()
        del images, labels
        _close(feed, meter)
        for _ in range(STEPS):
            work(*self._kept)

    def _bound(self, work: Work) -> Timed:
        """The network on one batch that is on the device already: no data can come faster."""

        def timed(passes: int) -> Timed:
            repeated = itertools.repeat(self._kept, passes * self.base // self.settings.batch)
            return run(repeated, work, self.settings.device, meter=Meter(), checked=0)

        work(*self._kept)
        return self._long_enough(("training", BOUND), timed)

    def _warm_up(self, contender: Contender, feed: Feed, work: Work, began: float) -> float:
        """Start workers and map rows, outside the clock. Seconds until the first batch was there."""
        # A folder's pages are in the cache already, by the bakes; its workers need a batch each.
        few = self.settings.batch * max(1, contender.workers)
        batches = feed.batches(min(self.base, few) if contender.format == FOLDER else self.base)
        batch = next(batches)
        first = time.perf_counter() - began
        work(*to_device(batch, self.settings.device))
        for one in batches:
            to_device(one, self.settings.device)
        return first


def _from_opening(feed: Feed, began: float, firsts: list[float]) -> Iterator[Any]:
    for batch in feed.batches():
        if not firsts:
            firsts.append(time.perf_counter() - began)
        yield batch


def _close(feed: Feed, meter: Meter) -> None:
    """All of it: a mapped file keeps its pages, and an idle worker its memory."""
    feed.close()
    meter.wait_for_workers()
