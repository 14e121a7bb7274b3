"""HDF5's global heap, by plain writes: rows of any length, each in a collection of its own behind the end of a laid out file.

    collection   "GCOL", version 1, 3 zeros, size (u64); at least 4096 bytes
    object       index 1 (u16), references 0 (u16), 4 zeros, bytes (u64); data, padded to 8
    free space   object 0, whose bytes count its own header; less than a header's 16 bytes need none
    reference    what a data set of variable length holds: elements (u32), address of the collection (u64), index (u32)

HDF5 File Format Specification, version 2.0: III.E, Global Heap; IV.B, Variable-length; II.A, Superblock, version 0.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.contracts import Array, Offsets
from convert.writes import write_all

SMALLEST = 4096
"""Bytes of a collection, at least: HDF5 reads so many at once."""
HEADER = struct.Struct("<4sB3xQ")
OBJECT = struct.Struct("<HH4xQ")
FRONT = HEADER.size + OBJECT.size
"""Bytes of a collection before its row."""
REFERENCE = np.dtype([("elements", "<u4"), ("address", "<u8"), ("index", "<u4")])
VERSION = 8
"""Where the superblock's version stands."""
END_OF_FILE = 40
"""Where the superblock says at which address the file ends."""


def collection_size(row: int) -> int:
    """Bytes that a row of so many bytes takes."""
    return max(SMALLEST, FRONT + _aligned(row))


def _aligned(nbytes: int) -> int:
    return -(-nbytes // 8) * 8


class Heap:
    """Appends rows to a file that is laid out."""

    def __init__(self, end: int) -> None:
        """Collections begin at `end`, or up to seven bytes later."""
        self.end = _aligned(end)
        self._references: list[tuple[int, int, int]] = []

    def append(self, fd: int, row: Array) -> None:
        """Write a row into a collection of its own, at `end`, where the file stands.

        Raises:
            OSError: the disk is full, or broken.
        """
        size, used = collection_size(row.nbytes), FRONT + _aligned(row.nbytes)
        front = HEADER.pack(b"GCOL", 1, size) + OBJECT.pack(1, 0, row.nbytes)
        rest = OBJECT.pack(0, 0, size - used) if size - used >= OBJECT.size else b""
        back = (bytes(used - FRONT - row.nbytes) + rest).ljust(size - FRONT - row.nbytes, b"\0")
        for part in (front, row, back):
            write_all(fd, part)
        self._references.append((row.size, self.end, 1))
        self.end += size

    @property
    def references(self) -> npt.NDArray[Any]:
        """What the data set holds."""
        return np.array(self._references, REFERENCE)

    def close(self, path: Path) -> None:
        """Write the file's end into its superblock."""
        with path.open("rb+") as file:
            if file.read(VERSION + 1)[VERSION]:
                raise AssertionError(f"{path.name} has a superblock of another version than 0")
            file.seek(END_OF_FILE)
            file.write(struct.pack("<Q", self.end))


def row_offsets(path: Path, first: int, count: int) -> Offsets:
    """Where rows begin whose references stand at byte `first` of a file."""
    with path.open("rb") as file:
        file.seek(first)
        references = np.fromfile(file, REFERENCE, count)
    return references["address"].astype(np.int64) + FRONT
