"""Reads `manifest.json`, and believes none of it before it has been looked at."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import Any

from convert.errors import PrebakeError, printable
from convert.manifest.schema import MANIFEST, SCHEMA, Manifest, Shard, SideFile, Target

DTYPES = {"float16": 2, "float32": 4, "uint8": 1}
SMALLEST = math.ulp(0.0)
"""A std is above 0."""
LIMIT = 1 << 62
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
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise PrebakeError(_why_not(root)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise PrebakeError(f"{printable(path)} cannot be read: {error}") from error
    try:
        fields = json.loads(text)
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
        return f"{printable(root)}: this bake is not finished (there is no {MANIFEST}); run the same command again with --overwrite"
    return f"{printable(root)} is not a bake: there is no {MANIFEST} in it"


def _need(good: bool, what: str) -> None:
    if not good:
        raise ValueError(what)


def _whole(value: Any, low: int = 0, high: int = LIMIT) -> int:
    _need(type(value) is int and low <= value <= high, f"{value!r} is not a whole number from {low} to {high}")
    return int(value)


def _text(value: Any, *choices: str) -> str:
    _need(isinstance(value, str) and (not choices or value in choices), f"{value!r} is not {' or '.join(choices) or 'text'}")
    return str(value)


def _name(value: Any) -> str:
    plain = isinstance(value, str) and value == printable(value) and value not in ("", ".", "..") and not set(value) & set("/\\")
    _need(plain, f"{value!r} is not a file's name")
    return str(value)


def _list(value: Any) -> list[Any]:
    _need(isinstance(value, list), f"{value!r} is not a list")
    return list(value)


def _table(value: Any) -> dict[str, Any]:
    _need(isinstance(value, dict), f"{value!r} is not an object")
    return dict(value)


def _numbers(value: Any, count: int, low: float) -> tuple[float, ...]:
    numbers = tuple(_list(value))
    good = len(numbers) == count and all(type(v) in (int, float) and low <= v <= 1 for v in numbers)
    _need(good, f"{value!r} is not {count} numbers from 0 to 1")
    return numbers


def _shard(fields: dict[str, Any], row: int) -> Shard:
    first, stride = (None if fields[name] is None else _whole(fields[name]) for name in ("first", "stride"))
    shard = Shard(_name(fields["name"]), _whole(fields["count"]), _whole(fields["bytes"]), _text(fields["checksum"]), first, stride)
    _need((first is None) == (stride is None) and len(fields) == len(dataclasses.fields(Shard)), f"{shard.name}: half an offset")
    if first is not None and stride is not None and shard.count:
        end = first + (shard.count - 1) * stride + row
        _need(end <= shard.bytes, f"{shard.name}: rows end at byte {end} of {shard.bytes}")
    return shard


def _file(fields: dict[str, Any]) -> SideFile:
    _need(len(fields) == len(dataclasses.fields(SideFile)), f"{fields!r}: one field too many")
    return SideFile(_name(fields["name"]), _whole(fields["bytes"]), _text(fields["checksum"]))


def _checked(fields: dict[str, Any]) -> Manifest:
    """Field by field: what is missing is a KeyError that names it, what is too much a TypeError."""
    names = {field.name for field in dataclasses.fields(Manifest)}
    _need(fields.keys() <= names, f"unknown fields {sorted(fields.keys() - names)}")
    height, width, channels = (_whole(side, 1, 1 << 16) for side in _list(fields["shape"]))
    _need(channels in (1, 3), f"{channels} channels")
    dtype = _text(fields["dtype"], *DTYPES)
    row = height * width * channels * DTYPES[dtype]
    shards = tuple(_shard(_table(shard), row) for shard in _list(fields["shards"]))
    count = _whole(fields["count"])
    _need(sum(shard.count for shard in shards) == count, f"shards hold {sum(s.count for s in shards)} rows, count is {count}")
    _need(sum(shard.bytes + SLOT for shard in shards) <= LIMIT, "shards are larger than any address space")
    target = Target(_text(fields["target"]["kind"], "class", "none"), _whole(fields["target"]["width"], 0, 1))
    _need(len(fields["target"]) == len(dataclasses.fields(Target)), "target has one field too many")
    _need(fields["normalized"] is (dtype != "uint8"), "normalized does not go with dtype")
    return Manifest(
        schema=_whole(fields["schema"], SCHEMA, SCHEMA),
        format=_text(fields["format"]),
        options=_table(fields["options"]),
        encoding=_text(fields["encoding"], "raw"),
        count=count,
        shape=(height, width, channels),
        dtype=dtype,
        layout=_text(fields["layout"], "HWC"),
        colour=_text(fields["colour"], "RGB"),
        mean=_numbers(fields["mean"], channels, 0),
        std=_numbers(fields["std"], channels, SMALLEST),
        normalized=fields["normalized"],
        resize=_text(fields["resize"]),
        filter=_text(fields["filter"]),
        target=target,
        classes=tuple(_text(name) for name in _list(fields["classes"])),
        order=_text(fields["order"]),
        seed=_whole(fields["seed"], 0, (1 << 63) - 1),
        source=_text(fields["source"]),
        pillow={name: _text(version) for name, version in _table(fields["pillow"]).items()},
        plan=_text(fields["plan"]),
        shards=shards,
        files=tuple(_file(_table(file)) for file in _list(fields["files"])),
    )
