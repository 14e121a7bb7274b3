"""From a user's options to a recipe: defaults, and what `--like` takes from another bake."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from convert.errors import UsageError, printable
from convert.image.bake import Recipe
from convert.image.resize import FREE
from convert.manifest import COLOURS, Decoding, Jpeg, Manifest

DEFAULTS: dict[str, Any] = {"size": (256, 256), "resize": "center-crop", "filter": "bilinear", "dtype": "float16", "colour": "RGB"}
JPEG = tuple(field.name for field in dataclasses.fields(Jpeg))
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
    jpeg = _jpeg(given)
    fields = DEFAULTS | given
    _check_side(fields)
    statistics = STATISTICS[fields["colour"]] | {name: given[name] for name in ("mean", "std") if name in given}
    decoding = Decoding(**{name: fields.pop(name) for name in DECODING if name in fields})
    return Recipe(
        **fields | {name: _channels(name, values, fields["colour"]) for name, values in statistics.items()}, decoding=decoding, jpeg=jpeg
    )


def _jpeg(given: dict[str, Any]) -> Jpeg | None:
    """How rows are coded, taken out of the options; JPEGs have 8 bits."""
    how = {name: given.pop(name) for name in JPEG if name in given}
    if given.pop("encoding", "raw") == "raw":
        if how:
            raise UsageError(f"--{min(how)} says how JPEGs are coded: it goes with --encoding jpeg")
        return None
    if given.setdefault("dtype", "uint8") != "uint8":
        raise UsageError(f"a JPEG holds 8-bit levels, so --dtype {given['dtype']} does not go with --encoding jpeg: leave it out")
    return Jpeg(**how)


def _check_side(fields: dict[str, Any]) -> None:
    free, (height, width) = fields["resize"] in FREE, fields["size"]
    if free and height != width:
        raise UsageError(f"--resize {fields['resize']} keeps a picture's shape: give one side, such as --size {min(height, width)}")
    if fields.get("upscale") and not free:
        raise UsageError(f"--resize {fields['resize']} always fills its row: --upscale goes with --resize short or long")


def _channels(name: str, values: tuple[float, ...], colour: str) -> tuple[float, ...]:
    """One number for each channel; one alone is for all."""
    channels = COLOURS[colour]
    if len(values) not in (1, channels):
        raise UsageError(f"--{name} has {len(values)} numbers, and --color {colour} has {channels} channel")
    return values if len(values) == channels else values * channels


def recipe_of(manifest: Manifest) -> Recipe:
    """The recipe that a bake was made by."""
    fields = {
        name: getattr(manifest, name) for name in ("resize", "filter", "dtype", "colour", "mean", "std", "decoding", "upscale", "jpeg")
    }
    return Recipe(size=manifest.shape[:2] if manifest.shape else (manifest.side or 0,) * 2, **fields)


def recipe_like(manifest: Manifest, path: Path, options: dict[str, Any]) -> Recipe:
    """The recipe of another bake.

    Raises:
        UsageError: the user asked for something else.
    """
    like = recipe_of(manifest)
    for name, value in options.items():
        there = _of(like, name)
        if (_channels(name, value, like.colour) if name in ("mean", "std") else value) != there:
            flag = FLAGS.get(name, name)
            raise UsageError(f"--{flag} contradicts --like {printable(path)}, whose {flag} is {_shown(there)}: leave --{flag} out")
    return like


def with_found(recipe: Recipe, there: Recipe, names: tuple[str, ...]) -> Recipe:
    """A recipe, with what was left open of it (`names`: some of mean, std and window) as it was found for another."""
    found = {name: getattr(there, name) for name in names if name != "window"}
    if "window" in names:
        found["decoding"] = dataclasses.replace(recipe.decoding, window=there.decoding.window)
    return dataclasses.replace(recipe, **found)


def _of(recipe: Recipe, name: str) -> Any:
    """What an option is in a recipe."""
    if name == "encoding":
        return recipe.pixels.encoding
    if name in JPEG:
        return getattr(recipe.jpeg, name, None)
    return getattr(recipe.decoding if name in DECODING else recipe, name)


def _shown(value: Any) -> str:
    """As one types it: 192x256 for a size, commas between channels."""
    if value is None:
        return "not given"
    if not isinstance(value, tuple):
        return str(value)
    return ("x" if len(value) == 2 else ",").join(map(str, value))
