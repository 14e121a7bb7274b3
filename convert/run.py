"""Carries a plan out: every shard, what lies beside them, and the manifest; or goes on where another run was ended."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from convert import journal, progress
from convert.begun import check_begun
from convert.changes import check_unchanged
from convert.clearing import clear, clear_tables, sweep
from convert.difference import both_versions
from convert.duplicates import Duplicates
from convert.errors import PrebakeError, printable
from convert.failing import kept_when_it_fails, said_as_one_line
from convert.finish import commit, finish
from convert.manifest import MANIFEST, Manifest
from convert.output import place
from convert.pack import pack
from convert.packed import Packed
from convert.packs import Packs
from convert.plan import WORK, Plan
from convert.stock import Kept, Trust, said, take_stock
from convert.tasks import Crew, bar, check_process, nothing_baked, run_shards

Say = Callable[[str], None]


@dataclasses.dataclass
class Result:
    """A finished bake."""

    manifest: Manifest
    packed: Sequence[Packed]
    seconds: float
    note: str
    """What the user should know."""
    duplicates: Duplicates


def carry_out(
    plan: Plan,
    out: Path,
    crew: Crew,
    *,
    preview: bool = True,
    trust: Trust | None = None,
    say: Say | None = None,
    overwrite: bool = False,
    by_time: bool = True,
) -> Result:
    """Make the bake. When it fails or is interrupted, its finished shards stay, for a run that goes on; if there are none, nothing stays.

    Args:
        plan: what to make.
        out: where.
        crew: who makes it.
        preview: whether to draw a contact sheet.
        trust: go on with the bake that was begun there, which `convert.begun.check_begun` has let pass, and believe so much of it.
        say: told which shards were there.
        overwrite: remove another bake that is there, finished or not.
        by_time: whether a picture with another time counts as changed.

    Raises:
        PrebakeError: too many rejects, a disk that is full, a shard that failed too often, another run at the same place, or a picture that
            was changed or went away.
    """
    check_process()
    began = time.perf_counter()
    with place(out) as work, said_as_one_line(out):
        if not overwrite:
            _check_untouched(plan, out, trust)
        with kept_when_it_fails(out, plan.shards):
            kept = Kept() if trust is None else _go_on(plan, out, crew, trust)
            if trust is None:
                _begin(plan, out)
            elif say is not None:
                say(said(kept, plan.shards))
            packed = _shards(plan, out, crew, kept, by_time=by_time)
            if not any(done.items for done in packed):
                raise nothing_baked(plan, work)
            ended = finish(_by_all_versions(plan, kept), out, packed, preview)
            commit(out, ended.manifest, check_unchanged(plan, packed, crew, by_time=by_time))
    return Result(ended.manifest, packed, time.perf_counter() - began, ended.note, ended.duplicates)


def _check_untouched(plan: Plan, out: Path, trust: Trust | None) -> None:
    """Look that no other run wrote there between the decision what to do and the lock."""
    if (out / MANIFEST).exists() or (check_begun(out, plan, trust or Trust()) is not None) != (trust is not None):
        raise PrebakeError(f"OUT {printable(out)} was written by another prebake meanwhile: start again")


def _begin(plan: Plan, out: Path) -> None:
    """Make room, and write down what is to be made."""
    clear(out)
    plan.save(out / WORK)
    journal.begin(out / WORK, plan.fingerprint, plan.source)


def _go_on(plan: Plan, out: Path, crew: Crew, trust: Trust) -> Kept:
    """Look at what is there, and write down what stays of it."""
    sweep(out)
    clear_tables(out)
    kept = take_stock(out, plan, trust, crew)
    journal.begin(out / WORK, plan.fingerprint, plan.source, kept.lines.values())  # before the plan: what stays is right by either
    plan.save(out / WORK)
    return kept


def _by_all_versions(plan: Plan, kept: Kept) -> Plan:
    """The plan, with every version of Pillow and its like that made a shard."""
    made = [fields.get("pillow", plan.pillow) for _, fields in sorted(kept.lines.items())]
    return dataclasses.replace(plan, pillow=functools.reduce(both_versions, [*made, plan.pillow]))


def _shards(plan: Plan, out: Path, crew: Crew, kept: Kept, *, by_time: bool) -> Packs:
    """Make every shard that is not there."""
    work, done = out / WORK, Packs(plan.shards)
    progress.create(work, plan.shards)
    for number, packed in kept.packed.items():
        done.put(number, packed)
        with closing(progress.Meter(work, number)) as meter:
            for item, reason, detail in packed.rejects:
                meter.reject((plan.keys[item], reason, detail))
            meter.set(len(packed.items) + len(packed.rejects), len(packed.rejects))
    function = functools.partial(pack, out, by_time=by_time)
    left = [number for number in range(plan.shards) if number not in kept.packed]
    with bar(work, len(plan.keys), crew, "baking") as tick:
        # What a killed worker left would take room from its second try.
        between = functools.partial(sweep, out)
        run_shards(function, left, crew, take=done.put, tick=tick, between=between)
    return done
