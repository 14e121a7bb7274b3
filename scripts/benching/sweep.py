"""Tries settings of torch's DataLoader, one at a time from the best so far, and says which is fastest, as code to paste."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benching.baking import Baked
from benching.contenders import of_bake, of_folder
from benching.feeds import Contender
from benching.pictures import Pictures
from benching.settings import FOLDER, Settings
from benching.turns import Turns
from benching.work import Nothing
from convert.errors import UsageError

NAMES = ("num_workers", "prefetch_factor", "batch_size", "pin_memory")
NO_ROOM = ("out of memory", "killed by signal", "exited unexpectedly", "No space left", "Cannot allocate memory", "/dev/shm")
"""What torch's errors say when memory is short."""
Points = list[tuple[str, float]]


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


def _options(tried: dict[str, int]) -> dict[str, Any]:
    """As DataLoader takes them: without workers nothing is prefetched, and nothing persists."""
    options: dict[str, Any] = dict(tried)
    options["pin_memory"] = bool(options.get("pin_memory", 0))
    if options["num_workers"]:
        options["persistent_workers"] = True
    else:
        options.pop("prefetch_factor", None)
    return options


def code(swept: Swept) -> str:
    """To paste."""
    options = _options(swept.best)
    call, first = ("DataLoader", "dataset") if swept.name == FOLDER else ("torch_loader", "dataset")
    batch = options.pop("batch_size")
    words = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{call}({first}, {batch}, shuffle=True, {words})"


def sweep(
    make: Callable[[dict[str, Any]], Contender], name: str, grid: dict[str, list[int]], *, turns: Turns, start: dict[str, int], until: float
) -> Swept:
    """One coordinate after the other; each value is timed once. Ends a curve where memory is short, and all when time is up."""
    best, rate, curves, stopped = dict(start), 0.0, dict[str, Points](), list[str]()
    for coordinate, values in grid.items():
        points, chosen = Points(), best
        for value in values:
            tried = best | {coordinate: value}
            if time.monotonic() > until:
                stopped.append(f"{coordinate}={value}: --sweep-budget is used up")
                break
            turns.say(f"{name}: {coordinate}={value}")
            try:
                done = turns.timed(f"{coordinate}={value}", make(_options(tried)), Nothing())
            except (RuntimeError, OSError, MemoryError) as error:
                if not isinstance(error, MemoryError) and not any(sign in str(error) for sign in NO_ROOM):
                    raise
                stopped.append(f"{coordinate}={value}: out of memory ({str(error).splitlines()[0][:100]})")
                break
            points.append((str(value), done.pictures / done.seconds))
            if points[-1][1] > rate:
                chosen, rate = tried, points[-1][1]
        best, curves[coordinate] = chosen, points
    return Swept(name, best, rate, curves, stopped)


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
    start = {
        "num_workers": settings.workers,
        "prefetch_factor": 2,
        "batch_size": settings.batch,
        "pin_memory": settings.device.startswith("cuda"),
    }
    makers: list[tuple[str, Callable[[dict[str, Any]], Contender]]] = []
    if pictures is not None and FOLDER in settings.formats:
        makers.append((FOLDER, functools.partial(of_folder, pictures, settings, role="swept")))
    for bake in bakes:
        makers.append((f"{bake.format} {bake.dtype}", functools.partial(of_bake, bake, settings, "DataLoader")))
    found, began = [], time.monotonic()
    for number, (name, make) in enumerate(makers):
        contender = make(_options(start))
        turns = Turns(settings, [contender], list(contender.keys)[: settings.samples], say)
        until = began + budget * (number + 1) / len(makers)
        found.append(sweep(make, name, grid, turns=turns, start={**start}, until=until))
    return found


def report(found: Sequence[Swept]) -> str:
    """For a terminal."""
    lines = []
    for one in found:
        lines.append(f"{one.name}: {one.rate:,.0f} pictures/s at best")
        for coordinate, points in one.curves.items():
            lines.append(f"  {coordinate:<16}" + "  ".join(f"{value}: {rate:,.0f}" for value, rate in points))
        lines += [f"  not tried further: {reason}" for reason in one.stopped]
        lines += [f"  {code(one)}", ""]
    return "\n".join(lines)
