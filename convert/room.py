"""Whether the disk has room for a bake, and what would fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from convert.errors import PrebakeError, human, printable
from convert.estimate import mean_pixels, row_bytes, some_sizes
from convert.image.bake import Recipe
from convert.machine import free_disk
from convert.manifest import Jpeg
from convert.plan import Plan
from convert.preview import CLASSES, COLUMNS
from convert.registry import load_format

SHARD = 16 << 10
"""Bytes of a shard without its rows."""
THUMB = 24 << 10
"""Bytes of a picture on the contact sheet."""
BESIDE = 256
"""Bytes of a row in the tables: keys, labels, samples.csv."""
SHARES = (1, 0.875, 0.75, 0.5, 0.25)
"""Of the sides, in what is proposed instead."""
MOST = 6
"""Proposals."""


def expected_row(plan: Plan, recipe: Recipe) -> int:
    """Bytes of a row that is not made yet, on average."""
    sizes = some_sizes(plan.root, plan.keys) if recipe.pixels.shape is None else []
    return row_bytes(recipe, mean_pixels(recipe, sizes))


def shard_bytes(plan: Plan, recipe: Recipe, row: int) -> int:
    """Bytes of all shards whose rows take so many bytes on average."""
    return len(plan.keys) * load_format(plan.format).footprint(row, recipe.pixels.even, plan.options)


def _needed(plan: Plan, recipe: Recipe, row: int) -> int:
    """Bytes on disk: shards and all that lies beside them."""
    count = len(plan.keys)
    carried = sum(len(cell) for cells in plan.columns.values() for cell in cells)
    return carried + shard_bytes(plan, recipe, row) + count * BESIDE + plan.shards * SHARD + min(count, COLUMNS * CLASSES) * THUMB


def check_room(plan: Plan, out: Path, freed: int, row: int) -> None:
    """Look whether the disk has room, counting bytes that the bake will free.

    Args:
        plan: the bake.
        out: where it goes.
        freed: bytes.
        row: bytes of a row, on average.

    Raises:
        PrebakeError: it has not; lists what would fit.
    """
    free = free_disk(out) + freed
    need = _needed(plan, plan.recipe, row)
    if need <= free:
        return
    fits = []
    for recipe, words in _proposals(plan.recipe):
        nbytes = _needed(plan, recipe, expected_row(plan, recipe))
        if nbytes <= free:
            fits.append(f"  {words}  {human(nbytes)}")
    what = "\n".join(["What fits:", *fits[:MOST]]) if fits else "Nothing that is worth baking fits there: choose an OUT on another disk."
    raise PrebakeError(f"{printable(out)}: disk has {human(free)} free, and this bake needs {human(need)}. {what}")


def _proposals(recipe: Recipe) -> Iterator[tuple[Recipe, str]]:
    """Other kinds of rows, and what to type for them; the largest first."""
    dtypes = ("uint16", "uint8") if recipe.dtype == "uint16" else ("float32", "float16", "uint8")
    for share in SHARES:
        size = max(1, int(recipe.size[0] * share)), max(1, int(recipe.size[1] * share))
        typed = f"--size {size[0]}x{size[1]}" if recipe.pixels.shape else f"--size {size[0]}"
        for dtype in dtypes:
            yield dataclasses.replace(recipe, size=size, dtype=dtype, jpeg=None), f"--dtype {dtype} {typed}"
        if recipe.dtype != "uint16":
            yield dataclasses.replace(recipe, size=size, dtype="uint8", jpeg=recipe.jpeg or Jpeg()), f"--encoding jpeg {typed}"
