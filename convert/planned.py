"""Reads `plan.json`, and believes none of it before it has been looked at."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from convert.image.bake import Recipe
from convert.manifest import COLOURS
from convert.manifest.check import DTYPES, FILTERS, ORDERS, RESIZES, SMALLEST
from convert.manifest.fields import flat, items, need, numbers, table, text, whole
from convert.manifest.parts import decoding_of, jpeg_of, target_of


def plan_fields(content: str) -> dict[str, Any]:
    """The fields of a plan, each of its type.

    Raises:
        ValueError, KeyError, TypeError: one is not.
    """
    try:
        fields = table(json.loads(content))
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    classes = tuple(text(name) for name in items(fields.pop("classes")))
    found = {
        "options": flat(fields.pop("options")),
        "recipe": _recipe(table(fields.pop("recipe"))),
        "target": target_of(table(fields.pop("target")), classes),
        "classes": classes,
        "order": text(fields.pop("order"), *ORDERS),
        "seed": whole(fields.pop("seed"), 0, (1 << 63) - 1),
        "pillow": {name: text(version) for name, version in table(fields.pop("pillow")).items()},
        "shards": whole(fields.pop("shards")),
        "first": whole(fields.pop("first")),
    }
    for name in ("root", "format", "source", "labelling", "dedupe", "compared"):
        found[name] = text(fields.pop(name))
    need(not fields, f"unknown fields {sorted(fields)}")
    return found


def _recipe(fields: dict[str, Any]) -> Recipe:
    colour, dtype = text(fields["colour"], *COLOURS), text(fields["dtype"], *DTYPES)
    height, width = (whole(side, 1) for side in items(fields["size"]))
    coded = fields["jpeg"] is not None
    recipe = Recipe(
        size=(height, width),
        resize=text(fields["resize"], *RESIZES),
        filter=text(fields["filter"], *FILTERS),
        dtype=dtype,
        mean=numbers(fields["mean"], COLOURS[colour], 0),
        std=numbers(fields["std"], COLOURS[colour], SMALLEST),
        colour=colour,
        decoding=decoding_of(table(fields["decoding"])),
        upscale=fields["upscale"],
        jpeg=jpeg_of(table(fields["jpeg"]) if coded else None, "jpeg" if coded else "raw", dtype),
    )
    need(type(recipe.upscale) is bool and fields.keys() == {field.name for field in dataclasses.fields(Recipe)}, "another recipe's fields")
    return recipe
