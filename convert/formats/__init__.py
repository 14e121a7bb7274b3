"""One module for each container; each exports FORMAT."""

import io
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from convert.contracts import Offsets, Pixels
from convert.errors import PrebakeError

NPY_HEADER = 128
"""Bytes of a .npy header, version 1.0, for any array of rows: padded to 64 bytes, and never longer."""


def write_all(fd: int, data: Any) -> None:
    """Write all of a buffer: `os.write` may stop short without an error.

    Raises:
        OSError: the disk is full, or broken.
    """
    rest = memoryview(data).cast("B")
    while rest:
        rest = rest[os.write(fd, rest) :]


def target_json(target: int | tuple[float, ...]) -> bytes:
    """A label in decimal digits, or a JSON list of values, in which null stands for NaN."""
    if isinstance(target, int):
        return b"%d" % target
    return json.dumps([None if value != value else value for value in target]).encode()


def row_offsets(path: Path, first: int, count: int, row: int) -> Offsets:
    """Where rows of so many bytes begin, one behind the other.

    Raises:
        PrebakeError: the file has no room for them: its header lies, and would cost any amount of memory.
    """
    if not row > 0 or not 0 <= count <= (path.stat().st_size - first) // row:
        raise PrebakeError(f"{path.name} says that it holds {count} rows of {row} bytes, for which it is too short")
    return first + np.arange(count, dtype=np.int64) * row


def npy_header(pixels: Pixels, *lead: int) -> bytes:
    """The .npy header of an array of shape (*lead, H, W, C)."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": pixels.numpy.str, "fortran_order": False, "shape": (*lead, *pixels.shape)})
    if buffer.tell() != NPY_HEADER:
        raise AssertionError(f"a .npy header of {buffer.tell()} bytes")
    return buffer.getvalue()


def read_npy_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of the array whose header the file stands at; afterwards it stands at the array's first byte."""
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return shape, dtype
