"""What sets two bakes apart, in the user's words."""

from __future__ import annotations

import dataclasses
from typing import Any

from convert.hashes import HASHES
from convert.image.bake import Recipe
from convert.manifest import Manifest
from convert.plan import Plan
from convert.recipe import recipe_of

Words = dict[str, Any]
PILLOW = "Pillow"


def of_plan(plan: Plan) -> Words:
    """The options of a bake that is to be made, but for its pictures."""
    return {
        "format": plan.format,
        **_of_recipe(plan.recipe),
        "options": plan.options,
        "order": plan.order,
        "seed": plan.seed,
        "shards": plan.shards,
        "classes": plan.classes,
        "dedupe": plan.dedupe,
        PILLOW: plan.pillow,
    }


def of_manifest(manifest: Manifest) -> Words:
    """The options of a finished bake."""
    return {
        "format": manifest.format,
        **_of_recipe(recipe_of(manifest)),
        "options": manifest.options,
        "order": manifest.order,
        "seed": manifest.seed,
        "shards": len(manifest.shards),
        "classes": manifest.classes,
        "dedupe": "report" if any(file.name == HASHES for file in manifest.files) else "off",
        PILLOW: manifest.pillow,
    }


def _of_recipe(recipe: Recipe) -> Words:
    return {
        "resize": recipe.resize,
        "size": "x".join(map(str, recipe.size)),
        "upscale": recipe.upscale,
        "filter": recipe.filter,
        "encoding": recipe.pixels.encoding,
        "jpeg": recipe.jpeg and dataclasses.asdict(recipe.jpeg),
        "dtype": recipe.dtype,
        "color": recipe.colour,
        "mean": recipe.mean,
        "std": recipe.std,
        "decoding": dataclasses.asdict(recipe.decoding),
    }


def difference(there: Words, here: Words) -> str:
    """The first option that differs, in a sentence; empty if none does."""
    for name, old in there.items():
        new = here[name]
        if old == new:
            continue
        if name == PILLOW:
            return f"it was made with {other_versions(old, new)}"
        if name in ("decoding", "options") or (name == "jpeg" and old and new):
            name, old, new = next((inner, old.get(inner), new.get(inner)) for inner in {**old, **new} if old.get(inner) != new.get(inner))
        verb = "differ" if name in ("classes", "shards") else "differs"
        return f"its {name} {verb}" + (f": {old}, not {new}" if isinstance(old, str | int) and new is not None else "")
    return ""


def other_versions(there: dict[str, str], here: dict[str, str]) -> str:
    """What decided pixels there, and what would here: `Pillow 11.0.0, not 12.1.0`."""
    pairs = {
        "Pillow": (f"{there.get('variant')} {there.get('pillow')}", f"{here['variant']} {here['pillow']}"),
        **{name: (f"{name} {there.get(name)}", f"{name} {here[name]}") for name in ("libjpeg", "simplejpeg", "littlecms")},
    }
    return "; ".join(f"{old}, not {new}" for old, new in pairs.values() if old != new)


def both_versions(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """The versions of two makers of one bake: `11.0.0 + 12.1.0`."""
    return {name: " + ".join(dict.fromkeys([*old.get(name, "none").split(" + "), here])) for name, here in new.items()}
