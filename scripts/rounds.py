"""Measures things in turns, round by round, so that a disturbance hits them all, and compares them round by round."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def rate(batches: Iterable[Any]) -> float:
    """Pictures per second of an epoch."""
    began, done = time.perf_counter(), 0
    for images, _ in batches:
        done += len(images)
    return done / (time.perf_counter() - began)


def take_turns(measures: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """What each measures in each round."""
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, one in measures.items():
            found[name].append(one())
    return found


def ratio(found: Mapping[str, list[float]], name: str, other: str, factor: float = 1.0) -> float:
    """The median over all rounds of one thing, times a factor, over another."""
    return statistics.median(one * factor / two for one, two in zip(found[name], found[other], strict=True))
