"""An unfinished bake in OUT: whether a run may go on with it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from convert import journal
from convert.difference import PILLOW, difference, of_plan, other_versions
from convert.errors import PrebakeError, printable
from convert.manifest import MANIFEST
from convert.output import JUNK, NEXT
from convert.pictures import changed_items
from convert.plan import WORK, Plan
from convert.recipe import with_found
from convert.stock import Trust, rejects_changed

AGAIN = "add --overwrite to start it again"


def check_begun(out: Path, plan: Plan, trust: Trust, left_open: tuple[str, ...] = ()) -> Plan | None:
    """The plan to go on with; None if nothing was begun. What is `left_open` is as it was found then.

    If pictures were changed since, or nobody knows by their times, that must be found again: then None, too.

    Raises:
        PrebakeError: another bake was begun there, or one that cannot go on.
    """
    work = out / WORK
    if (out / MANIFEST).exists() or not work.exists():
        return None
    if (work / NEXT / MANIFEST).exists():
        raise PrebakeError(f"OUT {printable(out)} was being appended to: run that again, with --append, and it goes on")
    if journal.read(work) is None:
        if any(path.name not in (WORK, *JUNK) and path.suffix != ".partial" for path in out.iterdir()):
            raise PrebakeError(f"OUT {printable(out)} holds an unfinished bake without a journal, which cannot go on: {AGAIN}")
        return None
    there = _load(out)
    plan = dataclasses.replace(plan, recipe=with_found(plan.recipe, there.recipe, left_open))
    _check_same(out, there, plan)
    if there.pillow != plan.pillow and not trust.allow_version_change:
        versions = other_versions(there.pillow, plan.pillow)
        raise PrebakeError(
            f"OUT {printable(out)} was begun with {versions}, whose pixels may differ: use that again, {AGAIN}, "
            "or --allow-version-change to go on"
        )
    if left_open and (trust.check_source or len(changed_items(there, plan, by_time=True)) or rejects_changed(out, plan)):
        return None
    return plan


def _load(out: Path) -> Plan:
    try:
        return Plan.load(out / WORK)
    except (OSError, EOFError, ValueError, KeyError, TypeError, PrebakeError) as error:
        raise PrebakeError(f"OUT {printable(out)} holds an unfinished bake whose plan is damaged: {AGAIN}") from error


def _check_same(out: Path, there: Plan, plan: Plan) -> None:
    """Look that it is the same bake, but for changes of its pictures, and of Pillow."""
    known, asked = (of_plan(each) | {PILLOW: None} for each in (there, plan))
    told = _other_pictures(there, plan) or difference(known, asked)  # fewer pictures are fewer shards, too
    same = ("labelling", "compared", "target")
    if not told and any(getattr(there, name) != getattr(plan, name) for name in same):
        told = "labelled otherwise, or compared with another --like"
    if told:
        raise PrebakeError(f"OUT {printable(out)} holds another bake, unfinished ({told}): choose another OUT, or {AGAIN}")


def _other_pictures(there: Plan, plan: Plan) -> str:
    """Which pictures came and went; empty if they are the same."""
    if there.source == plan.source or (len(there.keys) == len(plan.keys) and all(map(str.__eq__, there.keys, plan.keys))):
        return ""
    old, new = set(there.keys), set(plan.keys)
    parts = [(new - old, "new"), (old - new, "gone")]
    return "of other pictures: " + ", ".join(f"{len(keys):,} {what}, such as {printable(min(keys))}" for keys, what in parts if keys)
