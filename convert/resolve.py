"""How what a user asked for becomes a plan: defaults, `--like`, class lists, tables."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from convert.auto import settle_mean_std, settle_window
from convert.boxes import check_boxes, check_table
from convert.class_list import check_folder_names, check_kind, read_class_file
from convert.errors import UsageError, printable
from convert.estimate import mean_pixels, row_bytes, some_sizes
from convert.guard import check_folders
from convert.hashes import read_inventory
from convert.image.bake import Recipe
from convert.labels.label import Labelled, label
from convert.manifest import read_manifest
from convert.output import check_kept, check_place
from convert.plan import Plan, shard_count
from convert.planning import make_plan
from convert.recipe import make_recipe, recipe_like
from convert.registry import require
from convert.request import Request
from convert.source import Source, scan


def resolve(request: Request) -> tuple[Plan, Source]:
    """Scan the source and plan the bake, but for what is left to the pictures; nothing is written.

    Raises:
        PrebakeError: no pictures, an unknown class, a table that does not fit, a missing library, an OUT that the bake reads or lies in.
        UsageError: contradictory options, boxes or masks, or folders that are no classes.
    """
    require(request.format)
    recipe, names = _recipe(request)
    recipe.check()
    if request.out is not None:
        check_place(request.out, request.source)
        used = {"--like": request.like, "--labels": request.labels, "--label-map": request.label_map, "--classes": request.classes}
        check_kept(request.out, used)
    source, labelled = _labelled(request, names)
    count = len(source.keys)
    sizes = some_sizes(str(source.root), source.keys) if recipe.pixels.shape is None else []
    row = row_bytes(recipe, mean_pixels(recipe, sizes))
    shards = request.shards or (-(-count // max(1, request.shard_size // row)) if request.shard_size else shard_count(count, row))
    plan = make_plan(
        source,
        labelled,
        format=request.format,
        options=request.options,
        recipe=recipe,
        classes=labelled.classes if labelled else tuple(source.folders) if names is None else names,
        order=request.order,
        seed=request.seed,
        shards=min(count, shards),
    )
    return _compared(request, plan), source


def settle(request: Request, plan: Plan) -> Plan:
    """The plan, with what was left to the pictures, by passes over all of them: the window first, since it decides the pixels.

    Raises:
        PrebakeError: too many rejects.
        UsageError: pictures of one level.
    """
    if "window" in request.left_open:
        plan = settle_window(plan, request.crew)
    if "mean" in request.left_open:
        plan = settle_mean_std(plan, request.crew)
    return plan


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


def _recipe(request: Request) -> tuple[Recipe, tuple[str, ...] | None]:
    given = {name: value for name, value in request.recipe.items() if value is not None}
    if request.mean_std and (given.keys() & {"mean", "std"} or request.like):
        raise UsageError(f"--mean-std auto finds mean and std: leave {'--like' if request.like else '--mean and --std'} out, or it")
    if request.like is None:
        return make_recipe(given), request.names if request.classes is None else read_class_file(request.classes)
    if request.classes is not None:
        raise UsageError("--classes and --like both name the classes: leave one out")
    like = read_manifest(request.like)
    return recipe_like(like, request.like, given), like.classes


def _labelled(request: Request, names: tuple[str, ...] | None) -> tuple[Source, Labelled | None]:
    """The pictures, and what a table says of them; without one, their folders are their classes."""
    table = request.table
    if request.like is not None:
        check_kind(read_manifest(request.like), request.like, table)
    if table is not None:
        if table.target is not None and request.classes is not None:
            raise UsageError("--target stores columns under their own names: leave --classes out")
        check_table(table.file)
        table.check()
    source = scan(request.source, by_folder=table is None)
    if not request.without_boxes:
        check_boxes(source)
    if table is not None:
        whose = f"--like {printable(request.like)}" if request.like else f"--classes {printable(request.classes)}"
        labelled = label(source, table, names=names, whose=whose)
        return labelled.source, labelled
    if not request.classes_are_folders:
        out = request.out or Path("OUT")
        check_folders(source, request.format, out, request.like, without_boxes=request.without_boxes)
    if names is not None:
        check_folder_names(source, names, request.like or request.classes)
    return source, None
