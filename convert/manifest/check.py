"""Reads `manifest.json`, and believes none of it before it has been looked at."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import Any

from convert.errors import PrebakeError, printable
from convert.manifest.arrays import regular
from convert.manifest.fields import LIMIT, flat, items, need, numbers, table, text, whole
from convert.manifest.parts import decoding_of, file_of, jpeg_of, shard_of, side_of, target_of
from convert.manifest.schema import COLOURS, MANIFEST, SCHEMA, Manifest, SideFile

DTYPES = {"float16": 2, "float32": 4, "uint8": 1, "uint16": 2}
RESIZES = ("center-crop", "stretch", "pad", "short", "long")
FILTERS = ("bilinear", "bicubic", "lanczos")
ORDERS = ("shuffled", "source")
SMALLEST = math.ulp(0.0)
"""A std is above 0."""
SLOT = 1 << 16
"""A shard's address range is rounded up to pages, of at most this size."""


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """The manifest of a finished bake.

    Raises:
        PrebakeError: no such folder, not a bake, an unfinished one, one of a newer version, or a damaged manifest.
    """
    root = Path(folder)
    path = root / MANIFEST
    try:
        content = regular(path).read_text("utf-8")
    except FileNotFoundError:
        raise PrebakeError(_why_not(root)) from None
    except OSError as error:
        raise PrebakeError(f"{printable(path)} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PrebakeError(f"{printable(path)} cannot be read: {error}") from error
    try:
        fields = json.loads(content)
        schema = fields["schema"]
        if isinstance(schema, int) and schema > SCHEMA:
            raise PrebakeError(
                f"{printable(path)} has schema {schema}; this version of prebake reads up to {SCHEMA}: pip install -U prebake"
            )
        return _checked(fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        detail = printable(f"{type(error).__name__}: {error}")
        raise PrebakeError(
            f"{printable(path)} is not a manifest of a bake, or is damaged ({detail}): bake again with --overwrite"
        ) from error


def _why_not(root: Path) -> str:
    if not root.is_dir():
        return f"{printable(root)}: no such folder"
    if (root / ".prebake").exists():
        return f"{printable(root)}: this bake is not finished (there is no {MANIFEST}); run the same command again, and it goes on"
    return f"{printable(root)} is not a bake: there is no {MANIFEST} in it"


def _shape(value: Any, channels: int) -> tuple[int, int, int] | None:
    if value is None:
        return None
    height, width, found = (whole(side, 1, 1 << 16) for side in items(value))
    need(found == channels, f"{found} channels")
    return height, width, channels


def _beside(files: tuple[SideFile, ...], needed: dict[str, bool]) -> None:
    """Look that the tables are listed without which rows cannot be found or named: what is not listed, nobody has looked at."""
    listed = {file.name for file in files}
    missing = [name for name, there in needed.items() if there and name not in listed]
    need(not missing, f"no {', '.join(missing)}")


def _checked(fields: dict[str, Any]) -> Manifest:
    """Field by field: what is missing is a KeyError that names it, what is too much a TypeError."""
    names = {field.name for field in dataclasses.fields(Manifest)}
    need(fields.keys() <= names, f"unknown fields {sorted(fields.keys() - names)}")
    colour = text(fields["colour"], *COLOURS)
    shape = _shape(fields["shape"], COLOURS[colour])
    dtype = text(fields["dtype"], *DTYPES)
    need(dtype != "uint16" or colour == "gray", f"{dtype} of {colour}")
    encoding = text(fields["encoding"], "raw", "jpeg")
    jpeg = jpeg_of(fields["jpeg"] if fields["jpeg"] is None else table(fields["jpeg"]), encoding, dtype)
    row = None if shape is None or jpeg else math.prod(shape) * DTYPES[dtype]
    shards = tuple(shard_of(table(shard), row) for shard in items(fields["shards"]))
    files = tuple(file_of(table(file)) for file in items(fields["files"]))
    taken = [MANIFEST, *(shard.name for shard in shards), *(file.name for file in files)]
    need(len(set(taken)) == len(taken), "two files of one name")
    apart = shape is None or jpeg is not None or any(shard.count and shard.stride is None for shard in shards)
    targets = target_of(table(fields["target"]), classes := tuple(text(name) for name in items(fields["classes"])))
    places = {"sizes.npy": shape is None, "lengths.npy": jpeg is not None, "offsets.npy": apart}
    _beside(files, {"keys.bin": True, "keys.npy": True, "targets.npy": targets.kind != "none"} | places)
    count = whole(fields["count"], 1)
    need(sum(shard.count for shard in shards) == count, f"shards hold {sum(s.count for s in shards)} rows, count is {count}")
    need(sum(shard.bytes + SLOT for shard in shards) <= LIMIT, "shards are larger than any address space")
    need(fields["normalized"] is dtype.startswith("float"), "normalized does not go with dtype")
    side, upscale = side_of(fields)
    return Manifest(
        schema=whole(fields["schema"], SCHEMA, SCHEMA),
        format=text(fields["format"]),
        options=flat(fields["options"]),
        encoding=encoding,
        jpeg=jpeg,
        count=count,
        shape=shape,
        dtype=dtype,
        layout=text(fields["layout"], "HWC"),
        colour=colour,
        decoding=decoding_of(table(fields["decoding"])),
        mean=numbers(fields["mean"], COLOURS[colour], 0),
        std=numbers(fields["std"], COLOURS[colour], SMALLEST),
        normalized=fields["normalized"],
        resize=text(fields["resize"], *RESIZES),
        side=side,
        upscale=upscale,
        filter=text(fields["filter"], *FILTERS),
        target=targets,
        classes=classes,
        order=text(fields["order"], *ORDERS),
        seed=whole(fields["seed"], 0, (1 << 63) - 1),
        source=text(fields["source"]),
        pillow={name: text(version) for name, version in table(fields["pillow"]).items()},
        plan=text(fields["plan"]),
        shards=shards,
        files=files,
        checksum=text(fields["checksum"]),
    )
