"""Tries settings of torch's DataLoader, one at a time from the best so far, and says which is fastest, as code to paste."""

from __future__ import annotations

import dataclasses
import functools
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benching.baking import Baked
from benching.contenders import of_bake, of_folder
from benching.feeds import Contender
from benching.pictures import Pictures
from benching.settings import FOLDER, Settings
from benching.turns import Turns
from benching.work import Nothing, model_threads
from convert.errors import UsageError

NAMES = ("num_workers", "prefetch_factor", "batch_size", "pin_memory")
NO_ROOM = ("out of memory", "killed by signal", "exited unexpectedly", "No space left", "Cannot allocate memory", "/dev/shm")
"""What torch's errors say when memory is short."""
Points = list[tuple[str, float]]
Make = Callable[[Settings, dict[str, Any]], Contender]


@dataclass
class Swept:
    """What was found for one contender."""

    name: str
    best: dict[str, int]
    rate: float
    """Pictures per second with these."""
    curves: dict[str, Points]
    stopped: list[str]
    """Why some were not tried."""


def parse(words: Sequence[str]) -> dict[str, list[int]]:
    """`num_workers=0,1,2` and so on, in the order given.

    Raises:
        UsageError: another name, or no numbers.
    """
    found = {}
    for word in words:
        name, _, values = word.partition("=")
        numbers = values.split(",")
        if name not in NAMES or not all(number.isdigit() for number in numbers):
            raise UsageError(f"--sweep {word}: write NAME=0,1,2 with one of {', '.join(NAMES)}")
        found[name] = [int(number) for number in numbers]
    if 0 in found.get("prefetch_factor", []) or 0 in found.get("batch_size", []):
        raise UsageError("--sweep: prefetch_factor and batch_size begin at 1")
    return found


def options_of(tried: dict[str, int]) -> dict[str, Any]:
    """As DataLoader takes them: without workers nothing is prefetched, and nothing persists."""
    options: dict[str, Any] = dict(tried)
    options["pin_memory"] = bool(options["pin_memory"])
    del options["batch_size"]  # goes by the settings
    if options["num_workers"]:
        options["persistent_workers"] = True
    else:
        options.pop("prefetch_factor", None)
    return options


def sweep(name: str, make: Make, settings: Settings, *, grid: dict[str, list[int]], until: float, say: Callable[[str], None]) -> Swept:
    """One coordinate after the other; each value is timed once. Ends a curve where memory is short, and all when time is up."""
    pinned = int(settings.device.startswith("cuda"))
    best = {"num_workers": settings.workers, "prefetch_factor": 2, "batch_size": settings.batch, "pin_memory": pinned}
    rate, curves, stopped = 0.0, dict[str, Points](), list[str]()
    for coordinate, values in grid.items():
        points, chosen = Points(), best
        for value in values:
            tried = best | {coordinate: value}
            say(f"{name}: {coordinate}={value}")
            found = _vain(coordinate, settings, until) or _rate(make, tried, settings, say)
            if isinstance(found, str):
                stopped.append(f"{coordinate}={value}: {found}")
                break
            points.append((str(value), found))
            if found > rate:
                chosen, rate = tried, found
        best, curves[coordinate] = chosen, points
    return Swept(name, best, rate, curves, stopped)


def _vain(coordinate: str, settings: Settings, until: float) -> str:
    """Why nothing more need be tried, if so."""
    if time.monotonic() > until:
        return "--sweep-budget is used up"
    return "only GPUs copy from pinned memory" if coordinate == "pin_memory" and settings.device == "cpu" else ""


def _rate(make: Make, tried: dict[str, int], settings: Settings, say: Callable[[str], None]) -> float | str:
    """Pictures per second, or why not."""
    settings = dataclasses.replace(settings, batch=tried["batch_size"])
    try:
        contender = make(settings, options_of(tried))
        done = Turns(settings, [contender], list(contender.keys)[: settings.samples], say).timed("sweep", contender, Nothing())
    except (RuntimeError, OSError, MemoryError) as error:
        if not isinstance(error, MemoryError) and not any(sign in str(error) for sign in NO_ROOM):
            raise
        return f"out of memory ({str(error).splitlines()[0][:100]})"
    return done.pictures / done.seconds


def sweep_all(
    pictures: Pictures | None,
    bakes: Sequence[Baked],
    settings: Settings,
    *,
    grid: dict[str, list[int]],
    budget: float,
    say: Callable[[str], None],
) -> list[Swept]:
    """The folder and each bake, which share the time."""
    makers: list[tuple[str, Make]] = []
    if pictures is not None and FOLDER in settings.formats:
        makers.append((FOLDER, functools.partial(of_folder, pictures, role="swept")))
    makers += [(f"{bake.format} {bake.dtype}", functools.partial(of_bake, bake, loader="DataLoader")) for bake in bakes]
    found, began = [], time.monotonic()
    with model_threads(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create")  # more workers than cores: the user asked for it
        for number, (name, make) in enumerate(makers):
            until = began + budget * (number + 1) / len(makers)
            found.append(sweep(name, make, settings, grid=grid, until=until, say=say))
    return found
