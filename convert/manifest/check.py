"""Reads `manifest.json`, and believes none of it before it has been looked at."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

from convert.errors import PrebakeError, printable
from convert.manifest.fields import LIMIT, file_name, items, need, numbers, table, text, whole
from convert.manifest.schema import MANIFEST, SCHEMA, Decoding, Manifest, Shard, SideFile, Target

DTYPES = {"float16": 2, "float32": 4, "uint8": 1, "uint16": 2}
COLOURS = {"RGB": 3, "gray": 1}
"""Channels of each."""
RESIZES = ("center-crop", "stretch", "pad")
FILTERS = ("bilinear", "bicubic", "lanczos")
ORDERS = ("shuffled", "source")
HIGHEST = sys.float_info.max
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
        content = path.read_text("utf-8")
    except FileNotFoundError:
        raise PrebakeError(_why_not(root)) from None
    except (OSError, UnicodeDecodeError) as error:
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


def _shard(fields: dict[str, Any], row: int) -> Shard:
    first, stride = (None if fields[name] is None else whole(fields[name]) for name in ("first", "stride"))
    shard = Shard(
        file_name(fields["name"]),
        whole(fields["count"]),
        whole(fields["bytes"]),
        text(fields["checksum"]),
        first,
        stride,
        whole(fields["rejected"]),
    )
    need((first is None) == (stride is None) and len(fields) == len(dataclasses.fields(Shard)), f"{shard.name}: half an offset")
    if first is not None and stride is not None and shard.count:
        need(shard.count == 1 or stride >= row, f"{shard.name}: rows of {row} bytes lie {stride} apart")
        end = first + (shard.count - 1) * stride + row
        need(end <= shard.bytes, f"{shard.name}: rows end at byte {end} of {shard.bytes}")
    return shard


def _file(fields: dict[str, Any]) -> SideFile:
    need(len(fields) == len(dataclasses.fields(SideFile)), f"{fields!r}: one field too many")
    return SideFile(file_name(fields["name"]), whole(fields["bytes"]), text(fields["checksum"]))


def _target(fields: dict[str, Any], classes: tuple[str, ...]) -> Target:
    target = Target(text(fields["kind"], "class", "values", "none"), whole(fields["width"]))
    need(bool(classes) or target.kind == "none", f"{target.kind} without names")
    need(len(set(classes)) == len(classes), "a class twice")
    widths = {"class": 1, "values": len(classes), "none": 0}
    need(target.width == widths[target.kind] and len(fields) == len(dataclasses.fields(Target)), f"{fields!r} makes no sense")
    return target


def _decoding(fields: dict[str, Any]) -> Decoding:
    need(len(fields) == len(dataclasses.fields(Decoding)), f"{fields!r}: one field too many")
    window = None if fields["window"] is None else numbers(fields["window"], 2, -HIGHEST, HIGHEST)
    need(window is None or 0 < window[1] - window[0] <= HIGHEST, f"{window} is no range")
    need(type(fields["exact"]) is bool, "exact is neither true nor false")
    return Decoding(
        alpha=text(fields["alpha"], "white", "black", "drop"),
        window=None if window is None else (window[0], window[1]),
        icc=text(fields["icc"], "srgb", "ignore"),
        exact=fields["exact"],
        max_pixels=whole(fields["max_pixels"]),
    )


def _checked(fields: dict[str, Any]) -> Manifest:
    """Field by field: what is missing is a KeyError that names it, what is too much a TypeError."""
    names = {field.name for field in dataclasses.fields(Manifest)}
    need(fields.keys() <= names, f"unknown fields {sorted(fields.keys() - names)}")
    height, width, channels = (whole(side, 1, 1 << 16) for side in items(fields["shape"]))
    colour = text(fields["colour"], *COLOURS)
    need(channels == COLOURS[colour], f"{channels} channels of {colour}")
    dtype = text(fields["dtype"], *DTYPES)
    need(dtype != "uint16" or colour == "gray", f"{dtype} of {colour}")
    row = height * width * channels * DTYPES[dtype]
    shards = tuple(_shard(table(shard), row) for shard in items(fields["shards"]))
    files = tuple(_file(table(file)) for file in items(fields["files"]))
    taken = [MANIFEST, *(shard.name for shard in shards), *(file.name for file in files)]
    need(len(set(taken)) == len(taken), "two files of one name")
    count = whole(fields["count"])
    need(sum(shard.count for shard in shards) == count, f"shards hold {sum(s.count for s in shards)} rows, count is {count}")
    need(sum(shard.bytes + SLOT for shard in shards) <= LIMIT, "shards are larger than any address space")
    need(fields["normalized"] is dtype.startswith("float"), "normalized does not go with dtype")
    classes = tuple(text(name) for name in items(fields["classes"]))
    return Manifest(
        schema=whole(fields["schema"], SCHEMA, SCHEMA),
        format=text(fields["format"]),
        options=table(fields["options"]),
        encoding=text(fields["encoding"], "raw"),
        count=count,
        shape=(height, width, channels),
        dtype=dtype,
        layout=text(fields["layout"], "HWC"),
        colour=colour,
        decoding=_decoding(table(fields["decoding"])),
        mean=numbers(fields["mean"], channels, 0),
        std=numbers(fields["std"], channels, SMALLEST),
        normalized=fields["normalized"],
        resize=text(fields["resize"], *RESIZES),
        filter=text(fields["filter"], *FILTERS),
        target=_target(table(fields["target"]), classes),
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
