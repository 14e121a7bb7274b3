"""Compares what could be stored instead: dtypes, JPEG and sizes side by side, by bytes and by what one core then has to do for a row."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from convert.contracts import RejectError
from convert.estimate import mean_pixels, row_bytes, some_items, some_sizes
from convert.image.bake import Bake, Recipe
from convert.image.code import decode_row
from convert.manifest import Jpeg
from convert.order import permutation
from convert.plan import Plan
from convert.reading import read_item

BUFFER = 64 << 20
"""Bytes that copies come from: more than caches hold."""
COPYING = 0.01
"""Seconds of copying that are timed."""


@dataclass
class Choice:
    """What a row could be."""

    recipe: Recipe
    row: int
    """Stored bytes, on average."""
    rate: float | None
    """Rows that one core copies with NumPy, or decodes with libjpeg-turbo, in a second; None if no picture could be looked at."""


@dataclass
class Comparison:
    """The plan's own choice comes first."""

    choices: list[Choice]
    looked: int
    """Pictures that were made into JPEGs."""
    seconds: float


def compare(plan: Plan, budget: float) -> Comparison:
    """Make JPEGs of up to 200 pictures, for some seconds at most, and copy rows."""
    began = time.perf_counter()
    sizes = some_sizes(plan.root, plan.keys)
    recipes = list(dict.fromkeys(_alternatives(plan.recipe)))
    probes = {recipe: _Probe(Bake(recipe)) for recipe in recipes if recipe.jpeg is not None}
    looked = 0
    for data in _pictures(plan) if probes else ():
        try:
            for probe in probes.values():
                probe.look(data)
        except RejectError:
            continue
        looked += 1
        if time.perf_counter() - began > budget:
            break
    choices = []
    for recipe in recipes:
        row = row_bytes(recipe, mean_pixels(recipe, sizes))
        if recipe.jpeg is None:
            choices.append(Choice(recipe, row, copies_per_s(row)))
        else:
            choices.append(probes[recipe].choice(recipe, row))
    return Comparison(choices, looked, time.perf_counter() - began)


def _alternatives(recipe: Recipe) -> Iterator[Recipe]:
    """The recipe itself, then its kinds of rows, in its own shape and uncropped."""
    yield recipe
    side = min(recipe.size)
    for size, resize in ((recipe.size, recipe.resize), ((side, side), "short"), ((side * 3 // 2,) * 2, "short")):
        form = dataclasses.replace(recipe, size=size, resize=resize, jpeg=None, upscale=recipe.upscale and resize == recipe.resize)
        if recipe.dtype == "uint16":
            yield form
            continue
        for dtype in ("float16", "uint8"):
            yield dataclasses.replace(form, dtype=dtype)
        yield dataclasses.replace(form, dtype="uint8", jpeg=recipe.jpeg or Jpeg())


def _pictures(plan: Plan) -> Iterator[bytes]:
    """Files at equal distances, in an order whose beginning is spread over all of them, too."""
    items = some_items(len(plan.keys))
    for place in permutation(len(items), 0).tolist():
        try:
            yield read_item(Path(plan.root), plan.keys[items[place]])
        except RejectError:
            continue


class _Probe:
    """JPEGs of one recipe."""

    def __init__(self, bake: Bake) -> None:
        self._bake = bake
        self._count, self._nbytes, self._seconds = 0, 0, 0.0

    def look(self, data: bytes) -> None:
        row = self._bake(data).row.tobytes()
        began = time.thread_time()  # of this core alone: others may be busy
        decode_row(row, self._bake.channels)
        self._seconds += time.thread_time() - began
        self._nbytes += len(row)
        self._count += 1

    def choice(self, recipe: Recipe, guess: int) -> Choice:
        if not self._count:
            return Choice(recipe, guess, None)
        return Choice(recipe, -(-self._nbytes // self._count), self._count / self._seconds)


def copies_per_s(row: int) -> float:
    """Rows of so many bytes that NumPy copies in a second, from memory that was not just used into memory that was.

    Rows that are larger than the buffer are copied piece by piece, in the same memory.
    """
    piece = min(row, BUFFER // 2)
    places = BUFFER // piece
    source, target = np.ones((places, piece), np.uint8), np.ones(piece, np.uint8)
    count, began = 0, time.thread_time()
    while (spent := time.thread_time() - began) < COPYING or not count:
        np.copyto(target, source[count % places])
        count += 1
    return count * piece / row / spent
