"""A tiny bake, and ways to damage its manifest."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conftest import bake
from pictures import image_folder

from convert.manifest import Manifest
from convert.sidefiles import describe

Step = str | int


def nine_rows(root: Path, format: str) -> Path:
    """A bake of nine rows in two shards: at equal distances in a memmap, not in LMDB."""
    bake(image_folder(root / "source", {"cat": 5, "dog": 4}), root / "out", format, size=(8, 8), shards=2)
    return root / "out"


def listed(folder: Path, manifest: Manifest, *names: str) -> Manifest:
    """The manifest, with side files that were put there, or written anew."""
    others = (file for file in manifest.files if file.name not in names)
    files = sorted([*others, *(describe(folder / name) for name in names)], key=lambda file: file.name)
    return dataclasses.replace(manifest, files=tuple(files))


def steps_to_values(value: Any, above: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The way to each value inside of a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in pairs:
        yield (*above, step)
        yield from steps_to_values(inner, (*above, step))


def changed(fields: Any, steps: tuple[Step, ...], *new: Any) -> str:
    """The manifest's text with a value replaced, or deleted where no new one is given."""
    place = fields
    for step in steps[:-1]:
        place = place[step]
    if new:
        place[steps[-1]] = new[0]
    else:
        del place[steps[-1]]
    return json.dumps(fields)
