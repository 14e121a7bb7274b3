"""What each command does with the options that the command line took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from convert import already, machine, output, report, room, run, stats
from convert.compare import compare
from convert.errors import printable
from convert.label_options import NAMES
from convert.plan import Plan
from convert.registry import load_format
from convert.request import Request, resolve, settle
from convert.source import Source
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


def _already_there(plan: Plan, out: Path, overwrite: bool) -> bool:
    """Whether the very same bake is there; says so."""
    there = already.finished(out, plan, overwrite) is not None
    if there:
        click.echo(f"{printable(out)} holds this very bake already: nothing to do")
    return there


def _resolved(request: Request, overwrite: bool) -> tuple[Plan, Source]:
    """The plan and its source. A pass over all pictures may take hours: what OUT has against the bake is said before."""
    plan, source = resolve(request)
    if request.left_open:
        out = request.out
        if out is None or already.finished(out, plan, overwrite, request.left_open) is None:
            _check_room(plan, out, compare(plan, GLANCE).choices[0].row)
        plan = settle(request, plan)
    return plan, source


def _check_room(plan: Plan, out: Path | None, row: int | None = None) -> None:
    room.check_room(plan, out or Path(), output.held(out) if out else 0, row)


def bake(name: str, given: dict[str, Any]) -> None:
    """Bake into a format."""
    request = _request(name, given)
    plan, source = _resolved(request, given["overwrite"])
    out: Path = given["out"]
    if _already_there(plan, out, given["overwrite"]):
        return
    compared = compare(plan, GLANCE)
    click.echo(report.plan_block(plan, source, out, compared))
    _check_room(plan, out, compared.choices[0].row)
    result = run.carry_out(plan, out, request.crew, preview=given["preview"])
    if result.note:
        click.echo(result.note, err=True)
    duplicates = result.duplicates.line(printable(given["like"]))
    click.echo(summary(out, result.manifest, result.packed, result.seconds, duplicates=duplicates))


def plan(given: dict[str, Any]) -> None:
    """Say what a bake would be."""
    there, source = _resolved(_request(given["format"], given), given["overwrite"])
    out = given["out"]
    compared = compare(there, LOOK)
    click.echo(report.plan_block(there, source, out, compared))
    if out is None or not _already_there(there, out, given["overwrite"]):
        _check_room(there, out, compared.choices[0].row)


def figures(source: Path, given: dict[str, Any], flags: list[str]) -> stats.Figures:
    """Mean and std of a folder or of a bake; `flags` are the options that were typed."""
    if stats.is_bake(source):
        return stats.of_bake(source, _crew(given), flags)
    return stats.of_source(_request("memmap", given | {"source": source, "out": None, "mean_std": None, "dedupe": "off"}))
