"""Reads rows back from a finished bake, by plain reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from convert.contracts import Array
from convert.errors import PrebakeError, printable
from convert.image.code import decode_row
from convert.manifest import Manifest, load_array, regular


class Stored:
    """The rows of a bake, whose manifest may not be written yet."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder, self._manifest = folder, manifest
        self._starts = np.cumsum([0] + [shard.count for shard in manifest.shards])

    def row(self, index: int) -> Array:
        """A row (H, W, C): its values as they are stored, or the levels of a JPEG.

        Raises:
            PrebakeError: the shard, or a table beside it, is missing or is not what the manifest says.
        """
        number = int(np.searchsorted(self._starts, index, side="right")) - 1
        return next(self._rows(number, index - int(self._starts[number]), 1))

    def shard(self, number: int) -> Iterator[Array]:
        """All rows of one shard, in their order; raises as `row`."""
        return self._rows(number, 0, self._manifest.shards[number].count)

    def _rows(self, number: int, first: int, count: int) -> Iterator[Array]:
        if not count:
            return
        path = self._folder / self._manifest.shards[number].name
        places = [range(first, first + count), *(part.tolist() for part in self.places(number, first, count))]
        try:
            with regular(path).open("rb") as file:
                for row, offset, nbytes, size in zip(*places, strict=True):
                    yield self._decoded(_read(file, path, offset, nbytes), size, row, path)
        except OSError as error:
            raise PrebakeError(f"{printable(path)} cannot be read: {error.strerror}") from error

    def _decoded(self, data: bytes, size: list[int], row: int, path: Path) -> Array:
        channels = self._manifest.channels
        if self._manifest.jpeg is None:
            return np.frombuffer(data, self._manifest.row).reshape(*size, channels)
        try:
            levels = decode_row(data, channels)
        except ValueError as error:
            raise PrebakeError(f"{printable(path)}: the JPEG of row {row} is broken ({error}): bake again with --overwrite") from error
        if list(levels.shape[:2]) != size:
            raise PrebakeError(f"{printable(path)}: the JPEG of row {row} is {levels.shape[:2]}, not {size}: bake again with --overwrite")
        return levels

    def places(self, number: int, first: int, count: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Offsets (n,), bytes (n,) and sizes (n, 2) of some rows of a shard, which lie inside of its file; raises as `row`."""
        manifest, shard = self._manifest, self._manifest.shards[number]
        begin = int(self._starts[number]) + first
        if manifest.shape is None:
            sizes = self._table("sizes.npy", np.dtype(np.int32), (2,))[begin : begin + count].astype(np.int64)
        else:
            sizes = np.tile(np.array(manifest.shape[:2]), (count, 1))
        if manifest.jpeg is None:
            lengths = sizes.prod(axis=1) * manifest.channels * manifest.row.itemsize
        else:
            lengths = self._table("lengths.npy", np.dtype(np.int64))[begin : begin + count]
        if shard.first is not None and shard.stride is not None:
            offsets = shard.first + np.arange(first, first + count, dtype=np.int64) * shard.stride
        else:
            offsets = self._table("offsets.npy", np.dtype(np.int64))[begin : begin + count]
        if sizes.min() < 1 or lengths.min() < 1 or offsets.min() < 0 or (offsets > shard.bytes - lengths).any():
            path = printable(self._folder / shard.name)
            raise PrebakeError(f"the tables beside {path} do not belong to it: damaged, bake again with --overwrite")
        return offsets, lengths, sizes

    def _table(self, name: str, dtype: np.dtype[Any], rest: tuple[int, ...] = ()) -> npt.NDArray[Any]:
        path = self._folder / name
        try:
            table = load_array(path)
        except (OSError, ValueError) as error:
            raise PrebakeError(f"{printable(path)} cannot be read: {printable(error)}") from error
        if table.dtype != dtype or table.shape != (self._manifest.count, *rest):
            raise PrebakeError(f"{printable(path)} does not belong to its manifest: damaged, bake again with --overwrite")
        return table


def _read(file: BinaryIO, path: Path, offset: int, nbytes: int) -> bytes:
    file.seek(offset)
    data = file.read(nbytes)
    if len(data) < nbytes:
        raise PrebakeError(f"{printable(path)} is shorter than the manifest says: damaged, see prebake verify and repair")
    return data
