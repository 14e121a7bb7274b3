"""The bake that is in OUT already: the very same, one that may be, or another, and what sets the two apart."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

from convert.errors import PrebakeError, printable
from convert.hashes import HASHES
from convert.manifest import MANIFEST, Manifest, read_manifest
from convert.output import look
from convert.plan import WORK, Plan


def finished(out: Path, plan: Plan, overwrite: bool, left_open: tuple[str, ...] = ()) -> Manifest | None:
    """The manifest, if the very same bake is there already; None if there is room for this one.

    What is `left_open` of mean, std and window is not known yet, so it may be whatever it is there.

    Raises:
        PrebakeError: another bake, an unfinished one, or something else is there.
    """
    ours = look(out)
    if not ours or overwrite:
        return None
    if not (out / MANIFEST).exists():
        raise PrebakeError(f"OUT {printable(out)} holds an unfinished bake: add --overwrite to start it again")
    there = read_manifest(out)
    plan = _as_there(plan, there, left_open)
    if there.plan != plan.fingerprint:
        raise PrebakeError(f"OUT {printable(out)} holds another bake ({_difference(there, plan)}): choose another OUT, or add --overwrite")
    sizes = {shard.name: shard.bytes for shard in there.shards if shard.count} | {file.name: file.bytes for file in there.files}
    for name, nbytes in sizes.items():
        path = out / name
        if not path.is_file() or path.stat().st_size != nbytes:
            raise PrebakeError(f"OUT {printable(out)} holds a damaged bake ({name} is missing or was changed): add --overwrite")
    shutil.rmtree(out / WORK, ignore_errors=True)  # of a run that was ended after its last step
    return there


def _as_there(plan: Plan, there: Manifest, names: tuple[str, ...]) -> Plan:
    """The plan, with some of what another bake has."""
    recipe = plan.recipe
    for name in names:
        if name == "window":
            recipe = dataclasses.replace(recipe, decoding=dataclasses.replace(recipe.decoding, window=there.decoding.window))
        else:
            recipe = dataclasses.replace(recipe, **{name: getattr(there, name)})
    return dataclasses.replace(plan, recipe=recipe)


def _difference(there: Manifest, plan: Plan) -> str:
    """What sets two bakes apart, in the user's words."""
    recipe = plan.recipe
    pairs = {
        "format": (there.format, plan.format),
        "resize": (there.resize, recipe.resize),
        "size": ("x".join(map(str, there.shape[:2] if there.shape else (there.side,) * 2)), "x".join(map(str, recipe.size))),
        "upscale": (there.upscale, recipe.upscale),
        "filter": (there.filter, recipe.filter),
        "encoding": (there.encoding, recipe.pixels.encoding),
        "jpeg": (there.jpeg and dataclasses.asdict(there.jpeg), recipe.jpeg and dataclasses.asdict(recipe.jpeg)),
        "dtype": (there.dtype, recipe.dtype),
        "color": (there.colour, recipe.colour),
        "mean": (there.mean, recipe.mean),
        "std": (there.std, recipe.std),
        "decoding": (dataclasses.asdict(there.decoding), dataclasses.asdict(recipe.decoding)),
        "options": (there.options, plan.options),
        "order": (there.order, plan.order),
        "seed": (there.seed, plan.seed),
        "shards": (len(there.shards), plan.shards),
        "Pillow": (there.pillow, plan.pillow),
        "classes": (there.classes, plan.classes),
        "dedupe": ("report" if any(file.name == HASHES for file in there.files) else "off", plan.dedupe),
    }
    for name, (old, new) in pairs.items():
        if old != new:
            verb = "differ" if name in ("options", "classes", "shards") else "differs"
            return f"its {name} {verb}" + (f": {old}, not {new}" if isinstance(old, str | int) else "")
    return "of other pictures" if there.source != plan.source else "labelled otherwise, or compared with another --like"
