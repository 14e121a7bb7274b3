"""Carries the bench out: chooses, bakes, times, compares."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benching import results, room
from benching.baking import Baked, bake_all, needed, there
from benching.contenders import field
from benching.feeds import Contender, common
from benching.machine import describe
from benching.pictures import Pictures, choose, read_once
from benching.settings import FOLDER, Settings
from benching.turns import BOUND, Turns
from benching.verdict import notes, verdict
from benching.work import Nothing, Training, model_threads, precision
from convert.errors import PrebakeError


def prepare(settings: Settings, work: Path, say: Callable[[str], None]) -> tuple[Pictures | None, list[Baked]]:
    """The pictures and bakes that are measured; bakes are made in `work`.

    Raises:
        PrebakeError: too little room, or a bake fails.
    """
    room.ready(settings)  # before baking, not after
    bakes = [there(folder) for folder in settings.baked]
    if settings.data is None:
        return None, bakes
    pictures = choose(settings.data, settings.samples, work)
    formats = tuple(name for name in settings.formats if name != FOLDER)
    room.check(work, needed(pictures, formats, settings.kinds, settings.size), say)
    read_once(pictures.files)
    return pictures, bakes + bake_all(pictures, work, formats, kinds=settings.kinds, size=settings.size, say=say)


def measure(settings: Settings, work: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Everything that goes into JSON, table and page.

    Raises:
        PrebakeError: too little room, nothing to compare, or rows that did not see the same labels in the same order.
    """
    about = describe(settings.device, work, settings.data)
    pictures, bakes = prepare(settings, work, say)
    contenders = field(pictures, bakes, settings)
    if not contenders:
        raise PrebakeError("nothing to measure: give --data FOLDER, or --baked DIR")
    keys = common(contenders)[: settings.samples]
    if not keys:
        raise PrebakeError("the bakes and the folder have no picture in common: give those of one data set")
    full = pictures.total if pictures else max(bake.count for bake in bakes)
    rows = [results.row(one, len(one.keys), full if one.bake_seconds or one.role else len(one.keys)) for one in contenders]
    with model_threads(settings):
        bound = _time(Turns(settings, contenders, keys, say), rows, full)
    results.compare(rows, bound)
    checksums = results.streams(rows)
    if len(checksums) > 1:
        raise PrebakeError(f"the rows did not see the same labels in the same order ({', '.join(sorted(checksums))}): bake from one folder")
    counts = {"measured": len(keys), "full": full, "scaled": full != len(keys), "batch": settings.batch}
    told: dict[str, Any] = {"schema": 1, "machine": about, "asked": _plain(settings), "pictures": counts, "labels": checksums.pop()}
    told |= {"one_class": _classes(contenders) == 1, "precision": precision(settings), "bound": bound, "rows": rows}
    return told | {"notes": notes(told), "verdict": verdict(told)}


def _time(turns: Turns, rows: list[dict[str, Any]], full: int) -> dict[str, Any] | None:
    """Fill in the rows' figures; returns those of the upper bound."""
    settings, bound = turns.settings, None
    for name, timed in turns.rounds("loader", Nothing()).items():
        _put(rows, name, "loader_only", results.figures(timed, full))
    if settings.trains:
        training = Training(settings, _classes(turns.contenders))
        found = turns.rounds("training", training)
        bound = results.figures(found.pop(BOUND), full)
        for name, timed in found.items():
            _put(rows, name, "training", results.figures(timed, full))
    if settings.cold:
        for name, timed in turns.rounds("cold", Nothing()).items():
            _put(rows, name, "cold", results.cold_figures(timed, full))
    return bound


def _classes(contenders: Sequence[Contender]) -> int:
    return max(one.labels for one in contenders)


def _put(rows: list[dict[str, Any]], name: str, kind: str, figures: dict[str, Any]) -> None:
    next(one for one in rows if one["name"] == name)[kind] = figures


def _plain(settings: Settings) -> dict[str, Any]:
    """For JSON."""
    return {
        name: str(value) if isinstance(value, Path) else [str(one) for one in value] if isinstance(value, tuple) else value
        for name, value in dataclasses.asdict(settings).items()
    }
