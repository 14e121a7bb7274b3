"""What a person reads before a bake."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

from convert.errors import PrebakeError, counted, printable
from convert.estimate import mean_pixels, row_bytes, some_sizes
from convert.image.bake import Recipe
from convert.image.resize import kept_share
from convert.machine import free_disk, memory
from convert.manifest import Decoding
from convert.plan import Plan
from convert.preview import CLASSES, COLUMNS
from convert.registry import load_format
from convert.source import Source

SHARD = 16 << 10
"""Bytes of a shard without its rows."""
THUMB = 24 << 10
"""Bytes of a picture on the contact sheet."""
BESIDE = 256
"""Bytes of a row in the tables: keys, labels, samples.csv."""
ALTERNATIVES = [(dtype, share) for share in (1, 0.875, 0.75, 0.5, 0.25) for dtype in ("float32", "float16", "uint8")]


def human(nbytes: float) -> str:
    """Bytes in decimal units, as disks are sold: `78.6 MB`."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if nbytes < 1000 or unit == "TB":
            break
        nbytes /= 1000
    return f"{nbytes:.0f} {unit}" if unit == "bytes" else f"{nbytes:.1f} {unit}"


def _row(plan: Plan) -> int:
    """Bytes of a row, on average."""
    sizes = some_sizes(plan.root, plan.keys) if plan.recipe.pixels.shape is None else []
    return row_bytes(plan.recipe, mean_pixels(plan.recipe, sizes))


def _needed(plan: Plan, row: int) -> int:
    """Bytes on disk for rows of so many bytes: shards and all that lies beside them."""
    count, even = len(plan.keys), plan.recipe.pixels.even
    carried = sum(len(cell) for cells in plan.columns.values() for cell in cells)
    return (
        carried
        + count * (load_format(plan.format).footprint(row, even, plan.options) + BESIDE)
        + plan.shards * SHARD
        + min(count, COLUMNS * CLASSES) * THUMB
    )


def _dropped(plan: Plan) -> tuple[float, int]:
    """The mean share of a picture's area that is not stored, and how many pictures were looked at."""
    kept = [kept_share(*size, plan.recipe.size, plan.recipe.resize) for size in some_sizes(plan.root, plan.keys)]
    return (1 - float(np.mean(kept)) if kept else 0.0), len(kept)


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
        words[1] = f"JPEG{colours} of quality {recipe.jpeg.quality} (lossy)"
    return ", ".join(words)


def plan_block(plan: Plan, source: Source, out: Path | None) -> str:
    """The block that is shown before the first byte is written."""
    recipe = plan.recipe
    free, ram = free_disk(out or Path()), memory()
    need = len(plan.keys) * load_format(plan.format).footprint(_row(plan), recipe.pixels.even, plan.options)
    dropped, looked = _dropped(plan)
    crop = f"{recipe.resize} drops {dropped:.0%} of the area on average" + (f" ({looked} looked at)" if looked < len(plan.keys) else "")
    labels = textwrap.wrap(source.labelled, 68)
    ignored = [f"{what}: {count:,}" for what, count in sorted(source.ignored.items())]
    lines = [
        ("pictures", f"{len(plan.keys):,} in {_counts(plan)}"),
        *zip(["labels", *[""] * len(labels)], labels, strict=False),
        *zip(["ignored", *[""] * len(ignored)], ignored, strict=False),
        ("rows", _rows(recipe)),
        *([("", chosen)] if (chosen := _chosen(plan)) else []),
        ("to write", f"{human(need)} in {counted(plan.shards, 'shard')}; free on disk {human(free)}"),
        ("memory", f"{'fits' if need < 0.8 * ram else 'does not fit'} in {human(ram)} of RAM"),
        ("area", crop),
        *([("", "--resize pad keeps all")] if dropped >= 0.005 else []),
        *plan.notes,
        ("decoder", f"{plan.pillow['variant']} {plan.pillow['pillow']}, libjpeg {plan.pillow['libjpeg']}"),
    ]
    where = f" -> {printable(out)}" if out else ""
    return "\n".join([f"{printable(source.root)}{where}", *(f"  {name:<10}{text}" for name, text in lines)])


def check_room(plan: Plan, out: Path, freed: int = 0) -> None:
    """Look whether the disk has room, counting bytes that the bake will free.

    Raises:
        PrebakeError: it has not; lists what would fit.
    """
    free, need = free_disk(out) + freed, _needed(plan, _row(plan))
    if need <= free:
        return
    height, width = plan.recipe.size
    fits = []
    for dtype, share in ALTERNATIVES:
        size = max(1, int(height * share)), max(1, int(width * share))
        nbytes = _needed(plan, size[0] * size[1] * len(plan.recipe.mean) * np.dtype(dtype).itemsize)
        if nbytes <= free:
            fits.append(f"  --dtype {dtype} --size {size[0]}x{size[1]}  {human(nbytes)}")
    what = "\n".join(["What fits:", *fits[:6]]) if fits else "Nothing that is worth baking fits there: choose an OUT on another disk."
    raise PrebakeError(f"{printable(out)}: disk has {human(free)} free, and this bake needs {human(need)}. {what}")
