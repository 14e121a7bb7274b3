"""Bakes the chosen pictures into each format, timed, and has the disk written before anything else is."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benching.pictures import Pictures
from convert.estimate import row_bytes
from convert.machine import cores
from convert.manifest import read_manifest
from convert.preview import PREVIEW
from convert.recipe import make_recipe
from convert.registry import load_format
from convert.request import Request
from convert.resolve import resolve
from convert.run import carry_out
from convert.tasks import Crew


@dataclass
class Baked:
    """A bake that is measured."""

    folder: Path
    format: str
    kind: str
    """Of its rows: a dtype, or jpeg."""
    count: int
    nbytes: int
    """Of all files that grow with the pictures: the contact sheet does not, and is as large as 300 small JPEGs."""
    seconds: float | None
    """That baking took; None where it was there before."""
    lead: str = ""
    """See `Pictures`."""


def shard_files(folder: Path) -> list[Path]:
    """Its shards."""
    return [folder / shard.name for shard in read_manifest(folder).shards if shard.count]


def there(folder: Path, seconds: float | None = None) -> Baked:
    """A bake that is there.

    Raises:
        PrebakeError: it is no finished one.
    """
    manifest = read_manifest(folder)
    nbytes = sum(path.stat().st_size for path in folder.iterdir() if path.is_file() and path.name != PREVIEW)
    kind = manifest.dtype if manifest.encoding == "raw" else manifest.encoding
    return Baked(folder, manifest.format, kind, manifest.count, nbytes, seconds)


def _options(kind: str, size: int) -> dict[str, Any]:
    """A recipe's, that make rows of a kind."""
    return {"size": (size, size)} | ({"encoding": "jpeg"} if kind == "jpeg" else {"dtype": kind})


def needed(pictures: Pictures, formats: tuple[str, ...], kinds: tuple[str, ...], size: int) -> int:
    """Bytes that all bakes will take, about."""
    recipes = [make_recipe(_options(kind, size)) for kind in kinds]
    rows = [
        load_format(format).footprint(row_bytes(recipe, size * size), recipe.pixels.even, {}) for format in formats for recipe in recipes
    ]
    return sum(rows) * len(pictures.keys)


def bake_all(
    pictures: Pictures, work: Path, formats: tuple[str, ...], *, kinds: tuple[str, ...], size: int, say: Callable[[str], None]
) -> list[Baked]:
    """Each format with each kind of rows, one after the other, from files in the page cache.

    Raises:
        PrebakeError: a bake fails.
    """
    bakes = []
    for kind in kinds:
        for format in formats:
            say(f"baking {format} {kind}")
            out = work / f"{format}-{kind}"
            crew = Crew(cores(), quiet=True)
            request = Request(
                source=pictures.root,
                out=out,
                format=format,
                recipe=_options(kind, size),
                classes=pictures.classes,
                classes_are_folders=True,
                without_boxes=True,
                crew=crew,
            )
            plan, _ = resolve(request)
            done = there(out, carry_out(plan, out, crew).seconds)
            done.lead = pictures.lead
            bakes.append(done)
            os.sync()  # what is still to be written would be billed to the next bake, or to the first row that reads
    return bakes
