"""The objects inside a manifest: each is what it should be, or an error that shows it."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from convert.manifest.fields import file_name, need, numbers, text, whole
from convert.manifest.schema import Decoding, Jpeg, Shard, SideFile, Target

HIGHEST = sys.float_info.max
SUBSAMPLINGS = ("420", "444")


def _all(fields: dict[str, Any], kind: type[Any]) -> None:
    """What is missing is a KeyError later."""
    need(len(fields) == len(dataclasses.fields(kind)), f"{fields!r}: one field too many")


def _switch(value: Any) -> bool:
    need(type(value) is bool, f"{value!r} is neither true nor false")
    return bool(value)


def shard_of(fields: dict[str, Any], row: int | None) -> Shard:
    """A shard; `row` is what each row takes, None where they differ."""
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
    _all(fields, Shard)
    need((first is None) == (stride is None), f"{shard.name}: half an offset")
    if first is not None and stride is not None and shard.count:
        need(row is not None, f"{shard.name}: rows of any length at equal distances")
        need(shard.count == 1 or stride >= (row or 0), f"{shard.name}: rows of {row} bytes lie {stride} apart")
        end = first + (shard.count - 1) * stride + (row or 0)
        need(end <= shard.bytes, f"{shard.name}: rows end at byte {end} of {shard.bytes}")
    return shard


def file_of(fields: dict[str, Any]) -> SideFile:
    """A file beside the shards."""
    _all(fields, SideFile)
    return SideFile(file_name(fields["name"]), whole(fields["bytes"]), text(fields["checksum"]))


def target_of(fields: dict[str, Any], classes: tuple[str, ...]) -> Target:
    """What `targets.npy` holds."""
    target = Target(text(fields["kind"], "class", "values", "none"), whole(fields["width"]))
    need(bool(classes) or target.kind == "none", f"{target.kind} without names")
    need(len(set(classes)) == len(classes), "a class twice")
    widths = {"class": 1, "values": len(classes), "none": 0}
    need(target.width == widths[target.kind] and len(fields) == len(dataclasses.fields(Target)), f"{fields!r} makes no sense")
    return target


def jpeg_of(fields: dict[str, Any] | None, encoding: str, dtype: str) -> Jpeg | None:
    """How JPEGs are coded; None for raw rows."""
    need((fields is not None) == (encoding == "jpeg"), f"{encoding} does not go with {fields!r}")
    if fields is None:
        return None
    need(dtype == "uint8", f"JPEGs of {dtype}")
    _all(fields, Jpeg)
    return Jpeg(whole(fields["quality"], 1, 100), text(fields["subsampling"], *SUBSAMPLINGS), _switch(fields["passthrough"]))


def side_of(fields: dict[str, Any]) -> tuple[int | None, bool]:
    """The side that rows of any size share, and whether smaller pictures were enlarged to it: None and False where rows have one shape."""
    free = fields["resize"] in ("short", "long")
    need(free == (fields["shape"] is None), f"shape {fields['shape']!r} does not go with {fields['resize']!r}")
    if free:
        return whole(fields["side"], 1, 1 << 16), _switch(fields["upscale"])
    need(fields["side"] is None and fields["upscale"] is False, "a side of rows that have a shape")
    return None, False


def decoding_of(fields: dict[str, Any]) -> Decoding:
    """What was decided where files leave a choice."""
    _all(fields, Decoding)
    window = None if fields["window"] is None else numbers(fields["window"], 2, -HIGHEST, HIGHEST)
    need(window is None or 0 < window[1] - window[0] <= HIGHEST, f"{window} is no range")
    return Decoding(
        alpha=text(fields["alpha"], "white", "black", "drop"),
        window=None if window is None else (window[0], window[1]),
        icc=text(fields["icc"], "srgb", "ignore"),
        exact=_switch(fields["exact"]),
        max_pixels=whole(fields["max_pixels"]),
    )
