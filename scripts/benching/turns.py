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

from benching.cold import drop, resident
from benching.epochs import Timed, Work, run
from benching.feeds import Contender, Feed, stream
from benching.meters import Meter
from benching.settings import FOLDER, Settings
from benching.work import Nothing, to_device

TRIES = 4
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

    @property
    def base(self) -> int:
        """Pictures in one pass, rounded up to full batches: an epoch ends with a full batch always."""
        return self.settings.batch * math.ceil(len(self.keys) / self.settings.batch)

    def rounds(self, kind: str, work: Work) -> dict[str, list[Timed]]:
        """Each contender's epochs, one a round; `kind` is loader, training or cold. With training comes BOUND, which takes its turn too."""
        jobs: dict[str, Callable[[], Timed]] = {}
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
        """One warm epoch, of at least a second."""
        for _ in range(TRIES):
            passes = self._passes[kind, contender.name]
            done = self._one(contender, work, passes)
            if done.seconds >= self.settings.seconds:
                break
            self._passes[kind, contender.name] = math.ceil(passes * 1.3 * self.settings.seconds / done.seconds)
        return done

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

    def _bound(self, work: Work) -> Timed:
        """The network on one batch that is on the device already: no data can come faster."""
        last = self.contenders[-1]
        feed = last.open(last.indices(self.keys, stream(len(self.keys), self.settings.batch)))
        batch = to_device(next(feed.batches()), self.settings.device)
        _close(feed, Meter())
        work(*batch)
        while True:
            passes = self._passes["training", BOUND]
            repeated = itertools.repeat(batch, passes * self.base // self.settings.batch)
            done = run(repeated, work, self.settings.device, meter=Meter(), checked=0)
            if done.seconds >= self.settings.seconds:
                return done
            self._passes["training", BOUND] = math.ceil(passes * 1.3 * self.settings.seconds / done.seconds)

    def _warm_up(self, contender: Contender, feed: Feed, work: Work, began: float) -> float:
        """Start workers and map rows, outside the clock. Seconds until the first batch was there."""
        # A folder's pages are in the cache already, by the bakes; its workers need a batch each.
        few = self.settings.batch * max(1, self.settings.workers)
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
