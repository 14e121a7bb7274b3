"""What each command does with the options that the command line took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from convert import already, machine, output, report, room, run, stats
from convert.appending import append_new
from convert.begun import check_begun
from convert.changes import check_contents, newer
from convert.compare import compare
from convert.errors import UsageError, printable
from convert.label_options import NAMES
from convert.lock import check_free
from convert.plan import WORK, Plan
from convert.registry import load_format
from convert.request import Request
from convert.resolve import resolve, settle
from convert.source import Source
from convert.stock import Trust
from convert.summary import summary
from convert.tasks import Crew

GLANCE, LOOK = 0.5, 3.0
"""Seconds in which some pictures are tried, before a bake and by `plan`."""
PICTURE = ("size", "resize", "upscale", "filter", "mean", "std", "colour", "alpha", "window", "icc", "exact", "max_pixels")
RECIPE = (*PICTURE, "dtype", "encoding", "quality", "subsampling", "passthrough")
ASKED = ("like", "classes", "classes_are_folders", "order", "seed", "shard_size", "shards", "mean_std", "dedupe", *NAMES)


def _request(format: str, given: dict[str, Any]) -> Request:
    return Request(
        source=given["source"],
        out=given["out"],
        format=format,
        options={name: True for option in load_format(format).options if given.get(name := option.name.replace("-", "_"))},
        recipe={name: given[name] for name in RECIPE},
        crew=_crew(given),
        **{name: given[name] for name in ASKED},
    )


def _crew(given: dict[str, Any]) -> Crew:
    return Crew(workers=given["workers"] or machine.cores(), max_rejects=given["max_rejects"], strict=given["strict"])


def _trust(given: dict[str, Any]) -> Trust:
    if given["check_source"] and given["dedupe"] == "off":
        raise UsageError("--check-source compares hashes, which --dedupe off leaves out: leave one of the two out")
    return Trust(given["deep"], given["check_source"], given["allow_version_change"])


def _already_there(plan: Plan, source: Source, given: dict[str, Any]) -> bool:
    """Whether the very same bake is there, finished; says so, and whether its pictures are what they were."""
    out, versions = given["out"], given["allow_version_change"]
    if already.finished(out, plan, given["overwrite"], allow_version_change=versions) is None:
        return False
    if given["check_source"]:
        check_contents(out, source, _crew(given), "bake anew, with --overwrite")
    elif hint := newer(out, source):
        click.echo(hint, err=True)
    click.echo(f"{printable(out)} holds this very bake already: nothing to do")
    return True


def _resolved(request: Request, given: dict[str, Any]) -> tuple[Plan, Source]:
    """The plan and its source. A pass over all pictures may take hours: what OUT has against the bake is said before."""
    out, trust = request.out, _trust(given)
    if out is not None:
        check_free(out / WORK, out)
    plan, source = resolve(request)
    if request.left_open:
        begun = None if out is None or given["overwrite"] else check_begun(out, plan, trust, request.left_open)
        if begun is not None:
            return begun, source
        versions = given["allow_version_change"]
        if out is None or already.finished(out, plan, given["overwrite"], request.left_open, allow_version_change=versions) is None:
            _check_room(plan, out, compare(plan, GLANCE).choices[0].row)
        plan = settle(request, plan)
    return plan, source


def _is_begun(plan: Plan, given: dict[str, Any]) -> bool:
    """Whether the same bake is there, unfinished."""
    return not given["overwrite"] and check_begun(given["out"], plan, _trust(given)) is not None


def _check_room(plan: Plan, out: Path | None, row: int) -> None:
    room.check_room(plan, out or Path(), output.held(out) if out else 0, row)


def bake(name: str, given: dict[str, Any]) -> None:
    """Bake into a format, or go on with a bake that was begun."""
    request = _request(name, given)
    if given["append"]:
        append_new(request, _trust(given), given)
        return
    plan, source = _resolved(request, given)
    out: Path = given["out"]
    if _already_there(plan, source, given):
        return
    trust = _trust(given) if _is_begun(plan, given) else None
    compared = compare(plan, GLANCE)
    click.echo(report.plan_block(plan, source, out, compared))
    _check_room(plan, out, compared.choices[0].row)
    how = {"preview": given["preview"], "overwrite": given["overwrite"], "by_time": not given["check_source"]}
    result = run.carry_out(plan, out, request.crew, trust=trust, say=click.echo, **how)
    if result.note:
        click.echo(result.note, err=True)
    duplicates = result.duplicates.line(printable(given["like"]))
    click.echo(summary(out, result.manifest, result.packed, result.seconds, duplicates=duplicates))


def plan(given: dict[str, Any]) -> None:
    """Say what a bake would be."""
    there, source = _resolved(_request(given["format"], given), given)
    out = given["out"]
    compared = compare(there, LOOK)
    click.echo(report.plan_block(there, source, out, compared))
    if out is None:
        _check_room(there, out, compared.choices[0].row)
    elif not _already_there(there, source, given):
        if _is_begun(there, given):
            click.echo(f"{printable(out)} holds this bake, unfinished: it would go on")
        _check_room(there, out, compared.choices[0].row)


def figures(source: Path, given: dict[str, Any], flags: list[str]) -> stats.Figures:
    """Mean and std of a folder or of a bake; `flags` are the options that were typed."""
    if stats.is_bake(source):
        return stats.of_bake(source, _crew(given), flags)
    return stats.of_source(_request("memmap", given | {"source": source, "out": None, "mean_std": None, "dedupe": "off"}))
