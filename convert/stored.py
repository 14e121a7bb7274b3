"""Reads rows back from a finished bake, by plain reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert.contracts import Array
from convert.errors import PrebakeError, printable
from convert.manifest import Manifest


def read_shard(folder: Path, manifest: Manifest, number: int) -> Iterator[Array]:
    """The rows (H, W, C) of one shard, as they are stored, in their order.

    Raises:
        PrebakeError: the shard, or `offsets.npy`, is missing or is not what the manifest says.
    """
    shard = manifest.shards[number]
    if not shard.count:
        return
    path = folder / shard.name
    offsets = read_offsets(folder, manifest, number)
    try:
        with path.open("rb") as file:
            for offset in offsets.tolist():
                file.seek(offset)
                data = file.read(manifest.row_nbytes)
                if len(data) < manifest.row_nbytes:
                    raise PrebakeError(f"{printable(path)} is shorter than the manifest says: damaged, see prebake verify and repair")
                yield np.frombuffer(data, manifest.row).reshape(manifest.shape)
    except OSError as error:
        raise PrebakeError(f"{printable(path)} cannot be read: {error.strerror}") from error


def read_offsets(folder: Path, manifest: Manifest, number: int) -> npt.NDArray[np.int64]:
    """At which byte each row of a shard begins."""
    shard = manifest.shards[number]
    if shard.first is not None and shard.stride is not None:
        return shard.first + np.arange(shard.count, dtype=np.int64) * shard.stride
    path = folder / "offsets.npy"
    try:
        offsets = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise PrebakeError(f"{printable(path)} cannot be read: {printable(error)}") from error
    begin = sum(before.count for before in manifest.shards[:number])
    own = offsets[begin : begin + shard.count] if offsets.dtype == np.int64 and offsets.shape == (manifest.count,) else None
    if own is None or own.min() < 0 or own.max() > shard.bytes - manifest.row_nbytes:
        raise PrebakeError(f"{printable(path)} does not belong to its manifest: damaged, bake again with --overwrite")
    return np.asarray(own)
