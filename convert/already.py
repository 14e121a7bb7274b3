"""The bake that is in OUT already, finished: the very same, or another, and what sets the two apart."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from convert.difference import PILLOW, difference, of_manifest, of_plan
from convert.errors import PrebakeError, printable
from convert.manifest import MANIFEST, Manifest, read_manifest
from convert.output import look, tidy
from convert.plan import Plan
from convert.recipe import recipe_of, with_found


def finished(
    out: Path, plan: Plan, overwrite: bool, left_open: tuple[str, ...] = (), *, allow_version_change: bool = False
) -> Manifest | None:
    """The manifest, if the very same bake is there already; None if there is room for this one, or one that is unfinished.

    What is `left_open` of mean, std and window is not known yet, so it may be whatever it is there.

    Raises:
        PrebakeError: another bake, or something else is there.
    """
    ours = look(out)
    if not ours or overwrite or not (out / MANIFEST).exists():
        return None
    there = read_manifest(out)
    plan = dataclasses.replace(plan, recipe=with_found(plan.recipe, recipe_of(there), left_open))
    if allow_version_change:
        plan = dataclasses.replace(plan, pillow=there.pillow)
    if there.plan != plan.fingerprint:
        raise PrebakeError(f"OUT {printable(out)} holds another bake ({_difference(there, plan)}): {_remedy(there, plan)}")
    sizes = {shard.name: shard.bytes for shard in there.shards if shard.count} | {file.name: file.bytes for file in there.files}
    for name, nbytes in sizes.items():
        path = out / name
        if not path.is_file() or path.stat().st_size != nbytes:
            what = f"{name} is missing or was changed"
            raise PrebakeError(f"OUT {printable(out)} holds a damaged bake ({what}): see prebake verify and repair, or add --overwrite")
    tidy(out)
    return there


def _difference(there: Manifest, plan: Plan) -> str:
    """What sets two bakes apart, in the user's words."""
    if told := difference(of_manifest(there), of_plan(plan)):
        return told
    return "of other pictures" if there.source != plan.source else "labelled otherwise, or compared with another --like"


def _remedy(there: Manifest, plan: Plan) -> str:
    """How to have this one."""
    old, new = of_manifest(there), of_plan(plan)
    differing = [name for name in old if old[name] != new[name]]
    versions = "add --allow-version-change to keep it, " if differing == [PILLOW] else ""
    more = ""
    if there.source != plan.source:
        more = ", or --append to add new pictures alone"
    elif differing == ["shards"]:  # as of a bake that has grown
        more = ", or --append to keep it: it holds these very pictures"
    return f"{versions}choose another OUT, or add --overwrite{more}"
