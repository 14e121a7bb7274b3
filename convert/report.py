"""What a person reads before a bake."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from convert.compare import Comparison
from convert.errors import counted, human, printable
from convert.estimate import some_sizes
from convert.image.bake import Recipe
from convert.image.resize import kept_share
from convert.machine import free_disk, memory
from convert.manifest import Decoding
from convert.plan import Plan
from convert.room import shard_bytes
from convert.source import Source


def _area(plan: Plan) -> list[tuple[str, str]]:
    """How much of a picture's area is not stored, on average."""
    if plan.recipe.pixels.shape is None:
        return [("area", "all of it is kept")]
    sizes = some_sizes(plan.root, plan.keys)
    kept = [kept_share(*size, plan.recipe.size, plan.recipe.resize) for size in sizes]
    dropped = 1 - float(np.mean(kept)) if kept else 0.0
    looked = f" ({len(kept)} looked at)" if len(kept) < len(plan.keys) else ""
    line = ("area", f"{plan.recipe.resize} drops {dropped:.0%} of the area on average{looked}")
    return [line, ("", "--resize pad keeps all, and so do short and long")] if dropped >= 0.005 else [line]


def _counts(plan: Plan) -> str:
    if plan.targets is None:
        return "one folder: no labels"
    if plan.target.kind == "values":
        return f"all, with {counted(plan.target.width, 'value')} each"
    counts = np.bincount(plan.targets.astype(np.int64), minlength=len(plan.classes))
    low, high = counts[counts > 0].min(), counts.max()
    each = f"{low:,} in each" if low == high else f"{low:,} to {high:,} in each"
    empty = np.count_nonzero(counts == 0)
    return f"{counted(len(plan.classes), 'class')} ({each}{f', {empty} without any' if empty else ''})"


def _chosen(plan: Plan) -> str:
    """What was chosen that is not the default."""
    now, usual = plan.recipe.decoding, Decoding()
    found = "window" in dict(plan.notes)
    words = {
        "one channel, grey": plan.recipe.colour == "gray",
        f"transparency {'dropped' if now.alpha == 'drop' else f'over {now.alpha}'}": now.alpha != usual.alpha,
        "16-bit levels {:g} to {:g} become black to white".format(*now.window or (0, 0)): now.window is not None and not found,
        "colour profiles ignored": now.icc != usual.icc,
        "JPEGs decoded in full size": now.exact,
        f"at most {now.max_pixels:,} pixels": now.max_pixels != usual.max_pixels,
    }
    return ", ".join(word for word, said in words.items() if said)


def _rows(recipe: Recipe) -> str:
    height, width = recipe.size
    size = f"{height}x{width} (height x width)" if recipe.pixels.shape else f"{recipe.resize} side {height}, shape kept"
    words = [size, recipe.dtype, *([recipe.resize] if recipe.pixels.shape else []), recipe.filter]
    if recipe.jpeg is not None:
        colours = f" {recipe.jpeg.subsampling}" if recipe.pixels.channels == 3 else ""
        words[1] = f"lossy JPEG{colours} of quality {recipe.jpeg.quality}"
    return ", ".join(words)


def _instead(plan: Plan, compared: Comparison, free: int, ram: int) -> Iterator[str]:
    """A line for each choice."""
    yield f"{'':<24}{'bytes':>9}  disk  RAM  pictures/s"
    for choice in compared.choices:
        need = shard_bytes(plan, choice.recipe, choice.row)
        fits = ["yes" if need < room else "no" for room in (free, 0.8 * ram)]
        rate = "unknown" if choice.rate is None else f"{choice.rate:,.0f}"
        yield f"{_kind(choice.recipe):<24}{human(need):>9}  {fits[0]:<4}  {fits[1]:<3}  {rate:>10}"
    tried = f"{counted(compared.looked, 'picture')} tried, {compared.seconds:.1f} s"
    yield from textwrap.wrap(f"pictures/s: a core copies raw rows, or decodes JPEGs; crop, flip and disk are not in it ({tried})", 68)


def _kind(recipe: Recipe) -> str:
    """`float16 256x256`, `JPEG 90 short 384`."""
    size = "x".join(map(str, recipe.size)) if recipe.pixels.shape else f"{recipe.resize} {recipe.size[0]}"
    return f"{recipe.dtype if recipe.jpeg is None else f'JPEG {recipe.jpeg.quality}'} {size}"


def _titled(title: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The first line has the title."""
    return zip(itertools.chain([title], itertools.repeat("")), lines, strict=False)


def plan_block(plan: Plan, source: Source, out: Path | None, compared: Comparison) -> str:
    """The block that is shown before the first byte is written."""
    recipe = plan.recipe
    free, ram = free_disk(out or Path()), memory()
    need = shard_bytes(plan, recipe, compared.choices[0].row)
    lines = [
        ("pictures", f"{len(plan.keys):,} in {_counts(plan)}"),
        *_titled("labels", textwrap.wrap(source.labelled, 68)),
        *_titled("ignored", (f"{what}: {count:,}" for what, count in sorted(source.ignored.items()))),
        ("rows", _rows(recipe)),
        *([("", chosen)] if (chosen := _chosen(plan)) else []),
        ("to write", f"{human(need)} in {counted(plan.shards, 'shard')}; free on disk {human(free)}"),
        ("memory", f"{'fits' if need < 0.8 * ram else 'does not fit'} in {human(ram)} of RAM"),
        *_area(plan),
        *_titled("instead", _instead(plan, compared, free, ram)),
        *plan.notes,
        ("decoder", f"{plan.pillow['variant']} {plan.pillow['pillow']}, libjpeg {plan.pillow['libjpeg']}"),
    ]
    where = f" -> {printable(out)}" if out else ""
    return "\n".join([f"{printable(source.root)}{where}", *(f"  {name:<10}{text}" for name, text in lines)])
