"""From a user's options to a recipe: defaults, and what `--like` takes from another bake."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from convert.errors import UsageError, printable
from convert.image.bake import Recipe
from convert.manifest import COLOURS, Decoding, Manifest

DEFAULTS: dict[str, Any] = {"size": (256, 256), "resize": "center-crop", "filter": "bilinear", "dtype": "float16", "colour": "RGB"}
STATISTICS: dict[str, dict[str, tuple[float, ...]]] = {
    "RGB": {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)},
    "gray": {"mean": (0.449,), "std": (0.226,)},
}
"""ImageNet's, as in torchvision's reference training; for one channel, the mean of the three."""
DECODING = tuple(field.name for field in dataclasses.fields(Decoding))
FLAGS = {"colour": "color", "max_pixels": "max-pixels"}
"""Options whose flags are spelt otherwise."""


def make_recipe(options: dict[str, Any]) -> Recipe:
    """Fill in what the user left open.

    Raises:
        UsageError: options that contradict each other.
    """
    given = dict(options)
    if given.get("dtype") == "uint16":
        if given.setdefault("colour", "gray") != "gray":
            raise UsageError("--dtype uint16 keeps 16-bit grey as it is: it does not go with --color RGB")
        if given.get("window"):
            raise UsageError("--dtype uint16 keeps 16-bit grey as it is: leave --window out")
    if given.get("window") == "auto":
        del given["window"]  # found later, by `convert.auto`
    fields = DEFAULTS | given
    statistics = STATISTICS[fields["colour"]] | {name: given[name] for name in ("mean", "std") if name in given}
    decoding = Decoding(**{name: fields.pop(name) for name in DECODING if name in fields})
    return Recipe(**fields | {name: _channels(name, values, fields["colour"]) for name, values in statistics.items()}, decoding=decoding)


def _channels(name: str, values: tuple[float, ...], colour: str) -> tuple[float, ...]:
    """One number for each channel; one alone is for all."""
    channels = COLOURS[colour]
    if len(values) not in (1, channels):
        raise UsageError(f"--{name} has {len(values)} numbers, and --color {colour} has {channels} channel")
    return values if len(values) == channels else values * channels


def recipe_like(manifest: Manifest, path: Path, options: dict[str, Any]) -> Recipe:
    """The recipe of another bake.

    Raises:
        UsageError: the user asked for something else.
    """
    fields = {name: getattr(manifest, name) for name in ("resize", "filter", "dtype", "colour", "mean", "std", "decoding")}
    like = Recipe(size=manifest.shape[:2], **fields)
    for name, value in options.items():
        there = getattr(like.decoding if name in DECODING else like, name)
        if (_channels(name, value, like.colour) if name in ("mean", "std") else value) != there:
            flag = FLAGS.get(name, name)
            raise UsageError(f"--{flag} contradicts --like {printable(path)}, whose {flag} is {_shown(there)}: leave --{flag} out")
    return like


def _shown(value: Any) -> str:
    """As one types it: 192x256 for a size, commas between channels."""
    if value is None:
        return "not given"
    if not isinstance(value, tuple):
        return str(value)
    return ("x" if len(value) == 2 else ",").join(map(str, value))
