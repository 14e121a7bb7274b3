"""Reads `manifest.json`, and believes none of it before it has been looked at."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from convert.errors import PrebakeError, printable
from convert.manifest.schema import MANIFEST, SCHEMA, Manifest, Shard, SideFile, Target

DTYPES = ("float16", "float32", "uint8")
LIMIT = 1 << 62


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
        detail = f"{type(error).__name__}: {error}"
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


def _name(value: Any) -> str:
    _need(isinstance(value, str) and value not in ("", ".", "..") and not set(value) & set("/\\\0"), f"{value!r} is not a file's name")
    return str(value)


def _numbers(value: Any, count: int, good: Callable[[float], bool]) -> tuple[float, ...]:
    _need(isinstance(value, list) and len(value) == count, f"{value!r} is not {count} numbers")
    numbers = tuple(float(v) for v in value)
    _need(all(math.isfinite(v) and good(v) for v in numbers), f"{value!r} makes no sense")
    return numbers


def _shard(fields: dict[str, Any], row: int) -> Shard:
    shard = Shard(**fields)
    _name(shard.name)
    _whole(shard.count)
    _whole(shard.bytes)
    _need((shard.first is None) == (shard.stride is None), f"{shard.name}: half an offset")
    if shard.first is not None and shard.stride is not None and shard.count:
        end = _whole(shard.first) + (shard.count - 1) * _whole(shard.stride) + row
        _need(end <= shard.bytes, f"{shard.name}: rows end at byte {end} of {shard.bytes}")
    return shard


def _checked(fields: dict[str, Any]) -> Manifest:
    shape = fields["shape"]
    _need(isinstance(shape, list) and len(shape) == 3, "shape")
    height, width, channels = _whole(shape[0], 1, 1 << 16), _whole(shape[1], 1, 1 << 16), _whole(shape[2], 1, 3)
    _need(fields["dtype"] in DTYPES and fields["encoding"] == "raw" and fields["layout"] == "HWC", "dtype, encoding or layout")
    count = _whole(fields["count"])
    row = height * width * channels * {"float16": 2, "float32": 4, "uint8": 1}[fields["dtype"]]
    shards = tuple(_shard(shard, row) for shard in fields["shards"])
    _need(sum(shard.count for shard in shards) == count, f"shards hold {sum(s.count for s in shards)} rows, not {count}")
    target = Target(**fields["target"])
    _need(target.kind in ("class", "none"), f"target {target.kind!r}")
    _need(all(isinstance(name, str) for name in fields["classes"]), "classes")
    fields = dict(
        fields,
        shape=(height, width, channels),
        mean=_numbers(fields["mean"], channels, lambda _: True),
        std=_numbers(fields["std"], channels, lambda v: v > 0),
        classes=tuple(fields["classes"]),
        target=target,
        shards=shards,
        files=tuple(SideFile(_name(f["name"]), _whole(f["bytes"]), str(f["checksum"])) for f in fields["files"]),
    )
    manifest = Manifest(**fields)
    _need(isinstance(manifest.format, str) and isinstance(manifest.normalized, bool), "format or normalized")
    return manifest
