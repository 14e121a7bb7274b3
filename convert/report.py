"""What a person reads before and after a bake."""

from __future__ import annotations

import importlib.util
import textwrap
from collections import Counter
from pathlib import Path

import numpy as np

from convert.contracts import RejectError
from convert.errors import PrebakeError, counted, printable
from convert.image.decode import header_size
from convert.image.depth import DARK
from convert.image.depth import SEEN as WIDE
from convert.image.resize import kept_share
from convert.machine import free_disk, memory
from convert.manifest import Decoding, Manifest
from convert.pack import Packed
from convert.plan import Plan
from convert.preview import CLASSES, COLUMNS, PREVIEW
from convert.registry import load_format
from convert.source import Source, read_item

LOOK = 200
"""Pictures whose headers are read to say what a crop drops."""
SHARD = 16 << 10
"""Bytes of a shard without its rows."""
THUMB = 24 << 10
"""Bytes of a picture on the contact sheet."""
BESIDE = 256
"""Bytes of a row in the tables: keys, labels, samples.csv."""
WARNING = (
    "WARNING: {} of {} 16-bit pictures use less than a tenth of the 16-bit range, so they are nearly black or all alike: bake again with "
    "--window LO:HI, or --window auto"
)
ALTERNATIVES = [(dtype, share) for share in (1, 0.875, 0.75, 0.5, 0.25) for dtype in ("float32", "float16", "uint8")]


def human(nbytes: float) -> str:
    """Bytes in decimal units, as disks are sold: `78.6 MB`."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if nbytes < 1000 or unit == "TB":
            break
        nbytes /= 1000
    return f"{nbytes:.0f} {unit}" if unit == "bytes" else f"{nbytes:.1f} {unit}"


def _needed(plan: Plan, row: int) -> int:
    """Bytes on disk for rows of so many bytes: shards and all that lies beside them."""
    count = len(plan.keys)
    return (
        count * (load_format(plan.format).footprint(row, plan.options) + BESIDE)
        + plan.shards * SHARD
        + min(count, COLUMNS * CLASSES) * THUMB
    )


def _dropped(plan: Plan) -> tuple[float, int]:
    """The mean share of a picture's area that is not stored, and how many pictures were looked at."""
    kept = []
    for item in np.unique(np.linspace(0, len(plan.keys) - 1, LOOK).astype(int)):
        try:
            height, width = header_size(read_item(Path(plan.root), plan.keys[int(item)]))
        except RejectError:
            continue
        kept.append(kept_share(height, width, plan.recipe.size, plan.recipe.resize))
    return (1 - float(np.mean(kept)) if kept else 0.0), len(kept)


def _counts(source: Source, plan: Plan) -> str:
    if plan.targets is None:
        return "one folder: no labels"
    low, high = min(source.counts), max(source.counts)
    each = f"{low:,} in each" if low == high else f"{low:,} to {high:,} in each"
    empty = len(plan.classes) - len(source.folders)
    return f"{counted(len(plan.classes), 'class')} ({each}{f', {empty} without any' if empty else ''})"


def _chosen(plan: Plan) -> str:
    """What was chosen that is not the default."""
    now, usual = plan.recipe.decoding, Decoding()
    words = {
        "one channel, grey": plan.recipe.colour == "gray",
        f"transparency {'dropped' if now.alpha == 'drop' else f'over {now.alpha}'}": now.alpha != usual.alpha,
        "16-bit levels {:g} to {:g} become black to white".format(*now.window or (0, 0)): now.window is not None,
        "colour profiles ignored": now.icc != usual.icc,
        "JPEGs decoded in full size": now.exact,
        f"at most {now.max_pixels:,} pixels": now.max_pixels != usual.max_pixels,
    }
    return ", ".join(word for word, said in words.items() if said)


def plan_block(plan: Plan, source: Source, out: Path | None) -> str:
    """The block that is shown before the first byte is written."""
    recipe = plan.recipe
    height, width = recipe.size
    free, ram = free_disk(out or Path()), memory()
    need = len(plan.keys) * load_format(plan.format).footprint(recipe.pixels.nbytes, plan.options)
    dropped, looked = _dropped(plan)
    crop = f"{recipe.resize} drops {dropped:.0%} of the area on average" + (f" ({looked} looked at)" if looked < len(plan.keys) else "")
    ignored = [f"{what}: {count:,}" for what, count in sorted(source.ignored.items())]
    lines = [
        ("pictures", f"{len(plan.keys):,} in {_counts(source, plan)}"),
        *zip(["ignored", *[""] * len(ignored)], ignored, strict=False),
        ("rows", f"{height}x{width} (height x width), {recipe.dtype}, {recipe.resize}, {recipe.filter}"),
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
    free, need = free_disk(out) + freed, _needed(plan, plan.recipe.pixels.nbytes)
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


def _tally(title: str, counts: Counter[str]) -> str:
    """How often each, over as many lines of 80 columns as it takes."""
    text = f"{title}: {', '.join(f'{what} {count:,}' for what, count in sorted(counts.items()))}"
    return "\n".join(textwrap.wrap(text, 80, subsequent_indent="    "))


def summary(out: Path, manifest: Manifest, packed: list[Packed], seconds: float, *, duplicates: str = "") -> str:
    """The block that is shown when the bake is complete; `duplicates` is a sentence, or empty."""
    rejects = Counter(reason for done in packed for _, reason, _ in done.rejects)
    rejected = sum(rejects.values())
    candidates = manifest.count + rejected
    stored = sum(shard.bytes for shard in manifest.shards) + sum(file.bytes for file in manifest.files)
    rate = f"{seconds:.1f} s, {candidates / max(seconds, 1e-9):,.0f} pictures/s"
    done_to = sum((done.seen for done in packed), Counter[str]())
    classes = counted(len(manifest.classes), "class") if manifest.classes else "no labels"
    drawn = any(file.name == PREVIEW for file in manifest.files)
    return "\n".join(
        [
            f"{counted(candidates, 'picture')} = {manifest.count:,} written + {rejected:,} rejected",
            *([_tally("rejected, see rejects.csv", rejects)] if rejects else []),
            *([_tally("among the written", done_to)] if done_to else []),
            *(["\n".join(textwrap.wrap(WARNING.format(done_to[DARK], done_to[WIDE]), 80))] if done_to[DARK] else []),
            *textwrap.wrap(duplicates, 80, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False),
            f"{classes}, {human(stored)} in {counted(len(manifest.shards), 'shard')}, {rate}",
            f"in {printable(out)}: samples.csv says which picture is where{f', {PREVIEW} shows some' if drawn else ''}",
            *([] if importlib.util.find_spec("torch") else ["to read it, install torch: make install, or pip install 'prebake[train]'"]),
            "",
            "    from readers import open_dataset",
            f"    dataset = open_dataset({str(out)!r})",
        ]
    )
