"""What `--append` does, from the source to the grown bake."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from convert import append, grown, report, run, workbench
from convert.changes import check_contents, newer
from convert.compare import compare
from convert.errors import PrebakeError, UsageError, counted, printable
from convert.failing import said_as_one_line
from convert.intact import check_intact
from convert.lock import check_free
from convert.manifest import Keys, read_manifest
from convert.output import APPEND, held, place
from convert.plan import WORK
from convert.request import Request
from convert.resolve import resolve
from convert.room import check_room
from convert.stock import Trust

GLANCE = 0.5
"""Seconds in which some pictures are tried."""


def append_new(request: Request, trust: Trust, given: dict[str, Any]) -> None:
    """Add a source's new pictures to the bake in OUT, or go on where that was ended."""
    out = given["out"]
    if given["overwrite"]:
        raise UsageError("--append adds to a bake, and --overwrite replaces it: leave one out")
    check_free(out / WORK, out)
    if not grown.is_pending(out):
        try:
            read_manifest(out)
        except PrebakeError as error:
            error.add_note("--append adds to a finished bake: leave it out to begin one")
            raise
    with place(out), _said_what_became(out), said_as_one_line(out):
        if grown.is_pending(out):
            done = grown.settle_growth(out)
            click.echo(f"{printable(out)} has {counted(done.count, 'row')} now: what was ended before is complete")
        new = _laid_out(request, trust, given)
        if new is not None:
            grown.settle_growth(out)
            click.echo(new)


@contextmanager
def _said_what_became(out: Path) -> Iterator[None]:
    """Whatever ends the run: what the bake is then."""
    before = None if grown.is_pending(out) else read_manifest(out)
    try:
        yield
    except (PrebakeError, KeyboardInterrupt) as error:
        with suppress(PrebakeError):  # what went wrong matters more
            if grown.is_pending(out):
                what = "has all that it needs to grow: run the same command again, and it is completed"
            else:
                now = read_manifest(out)
                what = "is as it was before" if now == before else f"is complete, with {counted(now.count, 'row')}"
            error.add_note(f"{printable(out)} {what}")
        raise


def _laid_out(request: Request, trust: Trust, given: dict[str, Any]) -> str | None:
    """Make the new shards and the tables; what to say once they are in their place. None if there is nothing new."""
    out = given["out"]
    old = read_manifest(out)
    check_intact(out, old)
    plan, source = resolve(append.request_like(request, old))
    whole = plan.source
    if trust.check_source:
        check_contents(out, source, request.crew, "--append leaves it as it is; bake anew")
    elif hint := newer(out, source, Keys.load(out)):
        click.echo(hint, err=True)
    plan = append.with_classes(plan, old, out, listed=request.classes is not None)
    append.check_options(plan, old, out, allow_version_change=trust.allow_version_change)
    plan = append.only_new(plan, old, out, request)
    if not len(plan.keys):
        shutil.rmtree(out / WORK / APPEND, ignore_errors=True)
        click.echo(append.nothing_new(out, old))
        return None
    timed = workbench.timed(plan, trust)
    bench, going_on, there = workbench.begun(out, timed, source, crew=request.crew, trust=trust)
    compared = compare(plan, GLANCE)
    click.echo(report.plan_block(plan, source, out, compared))
    check_room(plan, out, held(bench), compared.choices[0].row)
    if not there:
        run.carry_out(timed, bench, request.crew, preview=False, trust=going_on, say=click.echo, by_time=not trust.check_source)
    new = grown.grow(out, old, plan, whole, preview=given["preview"])
    added = new.count - old.count
    return f"{counted(added, 'picture')} appended in {counted(len(new.shards) - len(old.shards), 'shard')}: {new.count:,} rows now"
