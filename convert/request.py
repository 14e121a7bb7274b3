"""What a user asked for, and how it becomes a plan: defaults, `--like`, class lists."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from convert.auto import settle_mean_std, settle_window
from convert.errors import PrebakeError, UsageError, counted, printable
from convert.guard import check_folders
from convert.hashes import read_inventory
from convert.image.bake import Recipe
from convert.manifest import read_manifest
from convert.output import check_place
from convert.plan import Plan, make_plan, shard_count
from convert.recipe import make_recipe, recipe_like
from convert.registry import require
from convert.source import Source, scan
from convert.tasks import Crew


@dataclass
class Request:
    """The arguments of one bake; None where the user said nothing."""

    source: Path
    out: Path | None
    format: str
    options: dict[str, Any] = field(default_factory=dict)
    recipe: dict[str, Any] = field(default_factory=dict)
    like: Path | None = None
    classes: Path | None = None
    classes_are_folders: bool = False
    order: str = "shuffled"
    seed: int = 0
    shard_size: int | None = None
    shards: int | None = None
    mean_std: str | None = None
    """`auto`: mean and std are those of the pictures."""
    dedupe: str = "report"
    crew: Crew = field(default_factory=Crew)
    """Who looks at the pictures, where something is left to them."""


def resolve(request: Request) -> tuple[Plan, Source]:
    """Scan the source and plan the bake, which may take a look at all pictures; nothing is written.

    Raises:
        PrebakeError: no pictures, an unknown class, a missing library, OUT inside the source.
        UsageError: contradictory options, or folders that are no classes.
    """
    require(request.format)
    recipe, names = _recipe(request)
    recipe.check()
    if request.out is not None:
        check_place(request.out, request.source)
    source = scan(request.source)
    if not request.classes_are_folders:
        check_folders(source, request.format, request.out or Path("OUT"), request.like)
    if names is not None:
        _check_classes(source, names, request.like or request.classes)
    count = len(source.keys)
    row = recipe.pixels.nbytes
    shards = request.shards or (-(-count // max(1, request.shard_size // row)) if request.shard_size else shard_count(count, row))
    plan = make_plan(
        source,
        format=request.format,
        options=request.options,
        recipe=recipe,
        classes=tuple(source.folders) if names is None else names,
        order=request.order,
        seed=request.seed,
        shards=min(count, shards),
    )
    return _left_open(request, _compared(request, plan)), source


def _compared(request: Request, plan: Plan) -> Plan:
    """The plan, with what duplicates are looked for in."""
    plan = dataclasses.replace(plan, dedupe=request.dedupe)
    if request.like is None or request.dedupe == "off":
        return plan
    other = read_inventory(request.like)
    if other is None:
        text = f"cannot be looked for: {printable(request.like)} was baked with --dedupe off"
        return dataclasses.replace(plan, notes=(*plan.notes, ("leakage", text)))
    return dataclasses.replace(plan, other=other, compared=other.identity)


def _left_open(request: Request, plan: Plan) -> Plan:
    """The plan, with what was left to the pictures: the window first, since it decides the pixels."""
    if request.recipe.get("window") == "auto":
        plan = settle_window(plan, request.crew)
    if request.mean_std == "auto":
        plan = settle_mean_std(plan, request.crew)
    return plan


def _recipe(request: Request) -> tuple[Recipe, tuple[str, ...] | None]:
    given = {name: value for name, value in request.recipe.items() if value is not None}
    if request.mean_std and (given.keys() & {"mean", "std"} or request.like):
        raise UsageError(f"--mean-std auto finds mean and std: leave {'--like' if request.like else '--mean and --std'} out, or it")
    if request.like is None:
        return make_recipe(given), None if request.classes is None else _class_file(request.classes)
    if request.classes is not None:
        raise UsageError("--classes and --like both name the classes: leave one out")
    like = read_manifest(request.like)
    return recipe_like(like, request.like, given), like.classes


def _class_file(path: Path) -> tuple[str, ...]:
    try:
        lines = path.read_text("utf-8-sig", "surrogateescape").replace("\r\n", "\n").split("\n")
    except OSError as error:
        raise PrebakeError(f"--classes {printable(path)} cannot be read: {error.strerror}") from error
    names = tuple(line for line in lines if line.strip())
    doubles = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    if doubles or not names:
        raise PrebakeError(
            f"--classes {printable(path)}: " + (f"{printable(min(doubles))} stands there twice" if doubles else "no names in it")
        )
    return names


def _check_classes(source: Source, names: tuple[str, ...], path: Path | None) -> None:
    if not source.folders and names:
        raise PrebakeError(f"{printable(source.root)} has no class folders, but {printable(path)} names {len(names)} classes")
    known = set(names)
    unknown = [folder for folder in source.folders if folder not in known]
    if unknown:
        shown = ", ".join(map(printable, unknown[:5])) + (" ..." if len(unknown) > 5 else "")
        raise PrebakeError(f"{printable(source.root)} has {counted(len(unknown), 'class')} that {printable(path)} does not know: {shown}")
