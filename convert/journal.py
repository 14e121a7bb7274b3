"""What has been made so far: one line for each finished shard, written by its worker as soon as the shard has its name.

    9f1c03aa {"journal": 1, "plan": ..., "source": ...}     first: fingerprints of all that decides the shards, and of the pictures
    5b20d7e1 {"number": 3, "shard": {...}, "items": [...], ...}

In front stands the CRC-32 of the rest, in hex: a line that was changed is none.
A line is one write to the file's end, so those of several workers do not mix. One that a kill or a full disk cut off is no line: its
shard is made again.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from convert.manifest import Shard
from convert.replace import replaced

JOURNAL = "journal.jsonl"
VERSION = 1
Fields = dict[str, Any]


def begin(work: Path, plan: str, source: str, lines: Iterable[Fields] = ()) -> None:
    """Begin a journal, or begin it again with some of its lines; it is there whole or not at all."""
    with replaced(work / JOURNAL) as file:
        for fields in ({"journal": VERSION, "plan": plan, "source": source}, *lines):
            file.write(to_line(fields))


def note(work: Path, number: int, fields: Fields) -> None:
    """Write down a finished shard.

    Raises:
        OSError: the disk is full.
    """
    fd = os.open(work / JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        line = b"\n" + to_line({"number": number} | fields)  # a line that was cut off must not spoil the next
        if os.write(fd, line) < len(line):
            os.write(fd, b"\n")  # the disk is full, and says so now
        os.fdatasync(fd)
    finally:
        os.close(fd)


def read(work: Path) -> tuple[Fields, dict[int, Fields]] | None:
    """The first line, and those of the shards, by number; None if there is no journal."""
    if not (work / JOURNAL).is_file():
        return None
    try:
        with (work / JOURNAL).open("rb") as file:
            found = [fields for line in file if (fields := from_line(line))]
    except FileNotFoundError:
        return None
    if not found or found[0].get("journal") != VERSION:
        return None
    return found[0], {fields["number"]: fields for fields in found[1:] if type(fields.get("number")) is int and fields["number"] >= 0}


def to_line(fields: Fields) -> bytes:
    """A line: a checksum, and JSON; arrays and bytes in base64."""
    text = json.dumps(fields, default=_plain).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _plain(value: Any) -> Fields:
    """What JSON does not know."""
    if isinstance(value, Shard):
        return vars(value)
    if isinstance(value, np.ndarray):
        return {"base64": base64.b64encode(value.tobytes()).decode(), "dtype": value.dtype.str, "shape": value.shape}
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    raise TypeError(f"a journal does not take {type(value).__name__}")


def from_line(line: bytes) -> Fields | None:
    """A line; None if it is none."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        found = json.loads(text, object_hook=_rich)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, MemoryError):  # of what numbers and nesting there are
        return None
    return found if isinstance(found, dict) else None


def _rich(fields: Fields) -> Any:
    if "base64" not in fields:
        return fields
    data = base64.b64decode(fields["base64"])
    return np.frombuffer(data, fields["dtype"]).reshape(fields["shape"]) if "dtype" in fields else data
