"""Takes stock of an unfinished bake: which of its finished shards stay, and why others are made again."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert import journal
from convert.bars import counting
from convert.contracts import RejectError
from convert.errors import counted, printable
from convert.hashes import NBYTES, hash_of
from convert.manifest import Shard
from convert.pack import shard_name
from convert.packed import Packed, restored, suits
from convert.plan import WORK, Plan
from convert.registry import load_format
from convert.source import NO_TIME, read_item
from convert.tasks import Crew


@dataclass(frozen=True)
class Trust:
    """What of an unfinished bake is believed, and what is looked at."""

    deep: bool = False
    """Whether shards are compared by checksum, not by size alone."""
    check_source: bool = False
    """Whether files are compared by content, where their size is the same, not by their time."""
    allow_version_change: bool = False
    """Whether the rest may be made by another Pillow."""


@dataclass
class Kept:
    """What stays of an unfinished bake."""

    packed: dict[int, Packed] = field(default_factory=dict)
    lines: dict[int, journal.Fields] = field(default_factory=dict)
    """The same, as the journal has it."""
    again: list[str] = field(default_factory=list)
    """Which shards had been finished and are made again, and why."""


def changed_items(there: Plan, plan: Plan, trust: Trust) -> npt.NDArray[np.int64]:
    """The items whose files have another size or time than they had; with `check_source`, size alone."""
    if there.stamps is None or plan.stamps is None or there.stamps.shape != plan.stamps.shape:
        return np.arange(len(plan.keys))
    old, new = there.stamps, plan.stamps
    other = old[:, 0] != new[:, 0]
    if not trust.check_source:
        other |= (old[:, 1] != new[:, 1]) & (old[:, 1] != NO_TIME) & (new[:, 1] != NO_TIME)
    return np.flatnonzero(other)


def take_stock(out: Path, plan: Plan, trust: Trust, crew: Crew) -> Kept:
    """Look at each finished shard: it stays if it is what it was, and its pictures are."""
    kept = Kept()
    found = journal.read(out / WORK)
    if found is None:
        return kept
    changed = set(changed_items(Plan.load(out / WORK), plan, trust).tolist())
    lines = sorted(found[1].items())

    def why_again(pair: tuple[int, journal.Fields]) -> tuple[Packed | None, str]:
        return _why_again(*pair, out=out, plan=plan, trust=trust, changed=changed)

    quick = not trust.deep and not trust.check_source
    # Reading and hashing let Python's lock go. Closing gives up what has not begun: Ctrl-C must not wait for all shards.
    with (
        counting(len(lines), "looking", "shards", hidden=quick or crew.quiet) as bar,
        ThreadPoolExecutor(max(1, crew.workers)) as pool,
        closing(pool.map(why_again, lines)) as reasons,  # type: ignore[type-var]
    ):
        for (number, fields), (packed, why) in zip(lines, reasons, strict=True):
            bar.update()
            if packed is None:
                kept.again.append(f"{shard_name(plan.first + number, load_format(plan.format))}: {why}")
            else:
                kept.packed[number], kept.lines[number] = packed, fields
    return kept


def _why_again(number: int, fields: journal.Fields, *, out: Path, plan: Plan, trust: Trust, changed: set[int]) -> tuple[Packed | None, str]:
    """A finished shard; or None, and why it must be made again."""
    packed = restored(fields)
    if packed is None or not _is_of(packed, number, plan):
        return None, "its line in the journal is damaged"
    if why := _not_as_made(out / packed.shard.name, packed.shard, trust):
        return None, why
    if seen := changed.intersection(_items(packed)):
        return None, f"{printable(plan.keys[min(seen)])} was changed since"
    if trust.check_source and (item := _other_content(plan, packed)) is not None:
        return None, f"{printable(plan.keys[item])} has another content now"
    return packed, ""


def _is_of(packed: Packed, number: int, plan: Plan) -> bool:
    """Whether a line tells of the shard that its number says."""
    named = packed.shard.name == shard_name(plan.first + number, load_format(plan.format)) and packed.shard.count == len(packed.items)
    named = named and suits(packed, plan.recipe.pixels, hashed=plan.dedupe != "off")
    return named and 0 <= number < plan.shards and sorted(_items(packed)) == sorted(plan.items(number).tolist())


def _items(packed: Packed) -> list[int]:
    return [*packed.items, *(item for item, _, _ in packed.rejects)]


def _not_as_made(path: Path, shard: Shard, trust: Trust) -> str:
    """What is wrong with a shard's file; empty if nothing is."""
    if not shard.count:
        return ""
    try:
        size = path.stat().st_size
        if size != shard.bytes:
            return f"it has {size:,} bytes, not {shard.bytes:,}"
        if trust.deep:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != shard.checksum:
                    return "its checksum differs"
    except OSError as error:
        return str(error.strerror)
    return ""


def _other_content(plan: Plan, packed: Packed) -> int | None:
    """The first item whose file holds something else than was baked. Of rejected ones no hash is known: their size must do."""
    hashes = [packed.hashes[start : start + NBYTES] for start in range(0, len(packed.hashes), NBYTES)]
    pairs = zip(packed.items, hashes, strict=True)
    return next((item for item, known in pairs if not is_same(Path(plan.root), plan.keys[item], known)), None)


def is_same(root: Path, key: str, known: bytes) -> bool:
    """Whether a file can be read and has this hash."""
    try:
        return hash_of(read_item(root, key)) == known
    except RejectError:
        return False


def said(kept: Kept, shards: int) -> str:
    """What a person should know of it, in a few lines."""
    lines = [f"  {'goes on':<10}with {len(kept.packed)} of {counted(shards, 'shard')}"]
    lines += [f"  {'again':<10}{why}" for why in kept.again[:5]]
    return "\n".join(lines + ([f"  {'':<10}and {len(kept.again) - 5} more"] if len(kept.again) > 5 else []))
