"""Where each row lies: in which shard, from which byte on, how many bytes; and how high and wide its picture is."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from convert.manifest import Manifest, load_array

Index = npt.NDArray[np.int64]
Sides = int | Index
"""A height or width: one number for all rows, or one for each (B,)."""
DENSEST = 512
"""Pixels, at most, for each byte of a JPEG: a Huffman code has at least one bit, and each 8 x 8 pixels at least one code."""


def load_table(path: Path, dtype: type[np.generic], shape: tuple[int, ...], *, mapped: bool) -> npt.NDArray[Any]:
    """A side file: an array of a type and a shape.

    Raises:
        PrebakeError: it cannot be read, or holds something else.
    """
    try:
        table = load_array(path, mapped=mapped)
    except (OSError, ValueError) as error:
        raise PrebakeError(f"{printable(path)} cannot be read: {error}") from error
    if table.dtype != dtype or table.shape != shape:
        raise PrebakeError(f"{printable(path)} holds {table.dtype} {table.shape}: damaged, bake again with --overwrite")
    return table


class Layout:
    """The tables of a bake that say where rows are. Indices are in range: checked by the caller."""

    def __init__(self, folder: Path, manifest: Manifest, keys: Sequence[str], *, mapped: bool) -> None:
        """Of a bake.

        Raises:
            PrebakeError: a table cannot be read, or is damaged.
        """
        self._manifest, self._keys, count = manifest, keys, manifest.count
        shards = manifest.shards
        self.starts = np.concatenate([[0], np.cumsum([shard.count for shard in shards], dtype=np.int64)])
        """The index of each shard's first row, and the number of rows."""
        self._bytes = np.array([shard.bytes for shard in shards], np.int64)
        self._first = np.array([shard.first or 0 for shard in shards], np.int64)
        self._stride = np.array([shard.stride or 0 for shard in shards], np.int64)
        irregular = any(shard.count and shard.stride is None for shard in shards)
        self._offsets = load_table(folder / "offsets.npy", np.int64, (count,), mapped=mapped) if irregular else None
        self._sizes = None if manifest.shape else load_table(folder / "sizes.npy", np.int32, (count, 2), mapped=mapped)
        coded = manifest.encoding == "jpeg"
        self._lengths = load_table(folder / "lengths.npy", np.int64, (count,), mapped=mapped) if coded else None

    def named(self, what: object, index: int) -> PrebakeError:
        """An error that says which row it is about."""
        return PrebakeError(f"{what} (key {printable(self._keys[index])}, index {index})")

    def shard_name(self, index: int) -> str:
        """The file that a row is in."""
        return self._manifest.shards[int(self._shard(np.array(index)))].name

    def sizes(self, index: Index) -> tuple[Sides, Sides]:
        """Height and width of rows in pixels: numbers, or arrays (B,) of a bake whose rows differ in size.

        Raises:
            PrebakeError: a row has no size that there can be.
        """
        if self._manifest.shape is not None:
            return self._manifest.shape[:2]
        sizes = self._sizes[index].astype(np.int64)  # type: ignore[index] # it is there without a shape
        height, width = sizes[:, 0], sizes[:, 1]
        wrong = (height < 1) | (width < 1) | (height * width > self._most_pixels(index))  # below 2^62, as they are int32
        if wrong.any():
            i = int(wrong.argmax())
            nbytes = "" if self._lengths is None else f", lengths.npy {self._lengths[index[i]]} bytes"
            raise self.named(f"sizes.npy says {height[i]}x{width[i]}{nbytes}: damaged, bake again", int(index[i]))
        return height, width

    def _most_pixels(self, index: Index) -> Index:
        """What rows can have (B,): whoever makes room for a row should not believe a table that is damaged."""
        room = self._bytes[self._shard(index)]
        if self._lengths is None:
            return np.asarray(room // (self._manifest.channels * self._manifest.row.itemsize))
        return np.asarray(DENSEST * np.clip(self._lengths[index], 0, room))

    def _shard(self, index: Index) -> Index:
        return np.asarray(np.searchsorted(self.starts, index, side="right") - 1)

    @functools.cached_property
    def largest(self) -> tuple[int, int]:
        """The greatest height, and the greatest width, of any row."""
        if self._manifest.shape is not None:
            return self._manifest.shape[:2]
        height, width = (int(side) for side in self._sizes.max(axis=0, initial=1))  # type: ignore[union-attr]
        return height, width

    def lengths(self, index: Index) -> Sides:
        """Stored bytes of rows: a number, or (B,) where rows differ."""
        if self._lengths is not None:
            return np.asarray(self._lengths[index])
        height, width = self.sizes(index)
        return height * width * self._manifest.channels * self._manifest.row.itemsize

    @property
    def mean_nbytes(self) -> int:
        """Stored bytes of a row, on average, at least 1: the same in every container."""
        return max(1, int(np.mean(self.lengths(np.arange(self._manifest.count)))))

    def places(self, index: Index) -> tuple[Index, Index]:
        """Number and offset in bytes: which shards rows are in, and where.

        Raises:
            PrebakeError: a row lies outside of its shard.
        """
        shard = self._shard(index)
        offset = self._first[shard] + (index - self.starts[shard]) * self._stride[shard] if self._offsets is None else self._offsets[index]
        length = self.lengths(index)
        outside = (offset < 0) | (np.less(length, 1)) | (offset > self._bytes[shard] - length)
        if outside.any():
            i = int(index[outside.argmax()])
            table = "lengths.npy or offsets.npy" if self._lengths is not None else "offsets.npy"
            raise self.named(f"{table} points outside of shard {self.shard_name(i)}: damaged, bake again", i)
        return shard, offset
