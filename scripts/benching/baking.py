"""Bakes the chosen pictures into each format, timed, and has the disk written before anything else is."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benching.pictures import Pictures
from convert.machine import cores
from convert.manifest import read_manifest
from convert.registry import load_format
from convert.request import Request, resolve
from convert.run import carry_out
from convert.tasks import Crew


@dataclass
class Baked:
    """A bake that is measured."""

    folder: Path
    format: str
    dtype: str
    count: int
    nbytes: int
    """Of all its files."""
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
    nbytes = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    return Baked(folder, manifest.format, manifest.dtype, manifest.count, nbytes, seconds)


def needed(pictures: Pictures, formats: tuple[str, ...], dtypes: tuple[str, ...], size: int) -> int:
    """Bytes that all bakes will take."""
    each = {"float16": 2, "float32": 4, "uint8": 1}
    rows = [load_format(format).footprint(size * size * 3 * each[dtype], True, {}) for format in formats for dtype in dtypes]
    return sum(rows) * len(pictures.keys)


def bake_all(
    pictures: Pictures, work: Path, formats: tuple[str, ...], *, dtypes: tuple[str, ...], size: int, say: Callable[[str], None]
) -> list[Baked]:
    """Each format in each dtype, one after the other, from files in the page cache.

    Raises:
        PrebakeError: a bake fails.
    """
    bakes = []
    for dtype in dtypes:
        for format in formats:
            say(f"baking {format} {dtype}")
            out = work / f"{format}-{dtype}"
            crew = Crew(cores(), quiet=True)
            request = Request(
                source=pictures.root,
                out=out,
                format=format,
                recipe={"size": (size, size), "dtype": dtype},
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
