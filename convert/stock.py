"""Takes stock of an unfinished bake: which of its finished shards stay, and why others are made again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from convert import journal
from convert.errors import counted, printable
from convert.manifest import Shard
from convert.pack import shard_name
from convert.packed import Packed, restored, suits
from convert.pictures import changed_items, other_content, read_otherwise
from convert.plan import WORK, Plan
from convert.registry import load_format
from convert.tasks import Crew
from convert.threads import Wanted, in_threads

BLOCK = 1 << 20
"""Bytes that are read between two looks at whether they are wanted still."""


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


def take_stock(out: Path, plan: Plan, trust: Trust, crew: Crew) -> Kept:
    """Look at each finished shard: it stays if it is what it was, and its pictures are.

    Raises:
        PrebakeError: a picture was changed meanwhile, or went away.
    """
    kept = Kept()
    there = journal.read(out / WORK)
    if there is None:
        return kept
    changed = set(changed_items(Plan.load(out / WORK), plan, by_time=not trust.check_source).tolist())
    lines = sorted(there[1].items())

    def look(pair: tuple[int, journal.Fields], wanted: Wanted) -> tuple[Packed | None, str]:
        number, fields = pair
        packed = restored(fields)
        if packed is None or not _is_of(packed, number, plan):
            return None, "its line in the journal is damaged"
        why = _not_as_made(out / packed.shard.name, packed.shard, trust, wanted) or _changed(plan, packed, changed)
        if not why and trust.check_source and (item := other_content(plan, packed, wanted)) is not None:
            why = f"{printable(plan.keys[item])} has another content now"
        return (None if why else packed), why

    quick = not trust.deep and not trust.check_source
    found = in_threads(look, lines, crew.workers, unit="shards", hidden=quick or crew.quiet)
    for (number, fields), (packed, why) in zip(lines, found, strict=True):
        if packed is None:
            kept.again.append(f"{shard_name(plan.first + number, load_format(plan.format))}: {why}")
        else:
            kept.packed[number], kept.lines[number] = packed, fields
    return kept


def _changed(plan: Plan, packed: Packed, changed: set[int]) -> str:
    """Which picture is not what it was, as far as is known without reading all; empty if none is."""
    if seen := changed.intersection(_items(packed)):
        return f"{printable(plan.keys[min(seen)])} was changed since"
    if (other := read_otherwise(plan, packed)) is not None:
        item, reason = other
        return f"{printable(plan.keys[item])} was rejected as {reason}, and is otherwise now"
    return ""


def rejects_changed(out: Path, plan: Plan) -> bool:
    """Whether a picture that the system did not let be read is otherwise now.

    Raises:
        PrebakeError: one was changed meanwhile, or went away.
    """
    there = journal.read(out / WORK)
    found = [(restored(fields), number) for number, fields in (there[1] if there else {}).items()]
    return any(packed is not None and _is_of(packed, number, plan) and read_otherwise(plan, packed) is not None for packed, number in found)


def _is_of(packed: Packed, number: int, plan: Plan) -> bool:
    """Whether a line tells of the shard that its number says."""
    named = packed.shard.name == shard_name(plan.first + number, load_format(plan.format)) and packed.shard.count == len(packed.items)
    named = named and suits(packed, plan.recipe.pixels, hashed=plan.dedupe != "off")
    return named and 0 <= number < plan.shards and sorted(_items(packed)) == sorted(plan.items(number).tolist())


def _items(packed: Packed) -> list[int]:
    return [*packed.items, *(item for item, _, _ in packed.rejects)]


def _not_as_made(path: Path, shard: Shard, trust: Trust, wanted: Wanted) -> str:
    """What is wrong with a shard's file; empty if nothing is."""
    if not shard.count:
        return ""
    try:
        size = path.stat().st_size
        if size != shard.bytes:
            return f"it has {size:,} bytes, not {shard.bytes:,}"
        if trust.deep and _checksum(path, wanted) != shard.checksum:
            return "its checksum differs"
    except OSError as error:
        return str(error.strerror)
    return ""


def _checksum(path: Path, wanted: Wanted) -> str:
    """SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            wanted()
            digest.update(block)
    return digest.hexdigest()


def said(kept: Kept, shards: int) -> str:
    """What a person should know of it, in a few lines."""
    lines = [f"  {'goes on':<10}with {len(kept.packed)} of {counted(shards, 'shard')}"]
    lines += [f"  {'again':<10}{why}" for why in kept.again[:5]]
    return "\n".join(lines + ([f"  {'':<10}and {len(kept.again) - 5} more"] if len(kept.again) > 5 else []))
