"""Tries settings of torch's DataLoader, one at a time from the best so far."""

from __future__ import annotations

import dataclasses
import functools
import gc
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benching.baking import Baked
from benching.contenders import of_bake, of_folder, told_apart
from benching.epochs import Work
from benching.feeds import Contender
from benching.grid import Grid, options_of
from benching.pictures import Pictures
from benching.settings import FOLDER, Settings
from benching.shortage import ShortageError
from benching.turns import Turns
from benching.work import Nothing, Training, model_threads

Make = Callable[[Settings, dict[str, Any]], Contender]
Try = Callable[[], float]
"""Pictures per second with one set of settings."""


@dataclass
class Point:
    """One value of a setting, and how fast it was in each round."""

    value: int
    rates: list[float]
    pictures_per_s: float = 0.0
    """The median."""
    epoch_s: float = 0.0
    """Of the full set, at that rate."""

    def settle(self, full: int) -> None:
        """Make the figures out of the rounds."""
        self.pictures_per_s = statistics.median(self.rates)
        self.epoch_s = full / self.pictures_per_s


@dataclass
class Swept:
    """What was found for one contender."""

    name: str
    full: int
    """Pictures of the full set."""
    best: dict[str, int]
    rate: float
    """Pictures per second with these."""
    curves: dict[str, list[Point]]
    stopped: list[str]
    """Why some were not tried."""


def sweep(swept: Swept, make: Make, settings: Settings, *, grid: Grid, until: float, say: Callable[[str], None]) -> None:
    """One coordinate after the other; ends a curve where memory is short, and all when time is up.

    Every value is timed once, in the order given; then again in turns, as long as there is time, up to the rounds asked for.
    """
    began = time.monotonic()
    for number, (coordinate, values) in enumerate(grid.items()):
        share = began + (until - began) * (number + 1) / len(grid)
        tries = {value: _tried(make, swept.best | {coordinate: value}, settings, say) for value in values}
        points = list[Point]()
        for value, one in tries.items():
            say(f"{swept.name}: {coordinate}={value}")
            found = _vain(coordinate, settings, until) or _rate(one)
            if isinstance(found, str):
                swept.stopped.append(f"{coordinate}={value}: {found}")
                break
            points.append(Point(value, [found]))
        _again(points, tries, settings.epochs, until=share)
        for point in points:
            point.settle(swept.full)
        swept.curves[coordinate] = points
        best = max(points, key=lambda point: point.pictures_per_s, default=None)
        if best is not None and best.pictures_per_s > swept.rate:
            swept.best, swept.rate = swept.best | {coordinate: best.value}, best.pictures_per_s


def _again(points: list[Point], tries: dict[int, Try], rounds: int, *, until: float) -> None:
    """Further rounds, in an order that rotates, while there is time."""
    for turn in range(1, rounds):
        first = turn % max(1, len(points))
        for point in points[first:] + points[:first]:
            if time.monotonic() > until:
                return
            if not isinstance(found := _rate(tries[point.value]), str):
                point.rates.append(found)


def _vain(coordinate: str, settings: Settings, until: float) -> str:
    """Why nothing more need be tried, if so."""
    if time.monotonic() > until:
        return "--sweep-budget is used up"
    return "only GPUs copy from pinned memory" if coordinate == "pin_memory" and settings.device == "cpu" else ""


def _tried(make: Make, tried: dict[str, int], settings: Settings, say: Callable[[str], None]) -> Try:
    """What times these settings."""
    settings = dataclasses.replace(settings, batch=tried["batch_size"])
    contender = make(settings, options_of(tried))
    turns = Turns(settings, [contender], list(contender.keys)[: settings.samples], say)

    def rate() -> float:
        work: Work = Training(settings, contender.labels) if settings.trains else Nothing()
        done = turns.timed("sweep", contender, work)
        return done.pictures / done.seconds

    return rate


def _rate(one: Try) -> float | str:
    """Pictures per second, or why not."""
    try:
        return one()
    except ShortageError as error:
        reason = str(error)
    gc.collect()  # what the error held on to
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return reason


def sweep_all(
    pictures: Pictures | None,
    bakes: Sequence[Baked],
    settings: Settings,
    *,
    grid: Grid,
    budget: float,
    say: Callable[[str], None],
) -> list[Swept]:
    """The folder and each bake, which share the time."""
    makers: list[tuple[str, int, Make]] = []
    if pictures is not None and FOLDER in settings.formats:
        makers.append((FOLDER, pictures.total, functools.partial(of_folder, pictures, role="swept")))
    for bake, name in zip(bakes, told_apart([f"{bake.format} {bake.kind}" for bake in bakes]), strict=True):
        full = pictures.total if pictures else bake.count
        makers.append((name, full, functools.partial(of_bake, bake, loader="DataLoader")))
    start = {"num_workers": settings.workers, "prefetch_factor": 2, "batch_size": settings.batch}
    start["pin_memory"] = int(settings.device.startswith("cuda"))
    found, began = [], time.monotonic()
    with model_threads(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create")  # more workers than cores: the user asked for it
        for number, (name, full, make) in enumerate(makers):
            until = began + budget * (number + 1) / len(makers)
            found.append(swept := Swept(name, full, start, 0.0, {}, []))
            sweep(swept, make, settings, grid=grid, until=until, say=say)
    return found
