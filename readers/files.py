"""Reads bytes of shards by plain reads, for network and FUSE file systems: there an I/O error under a map would kill the process."""

from __future__ import annotations

import functools
import os

import torch

from readers.shards import ShardError, Shards

OPEN = 32
"""Files that stay open; the one that was used longest ago is closed."""


class _Descriptor:
    """An open file, closed when the last thread that reads from it has done so."""

    def __init__(self, shards: Shards, shard: int) -> None:
        self.fd = -1
        self.fd = shards.open(shard)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


class Files:
    """The files of all shards. Reads name their place, so that threads and forked children share descriptors."""

    def __init__(self, shards: Shards) -> None:
        """None is opened yet."""
        self._shards = shards
        self._open = functools.lru_cache(OPEN)(functools.partial(_Descriptor, shards))

    def forget(self) -> None:
        """Files are opened anew, and checked, before they are used again: a path may lead to another file by now, or to none."""
        self._open.cache_clear()

    def read(self, shard: int, offset: int, into: torch.Tensor) -> None:
        """Fill a tensor of bytes, contiguous, from an offset in a shard's file.

        Raises:
            ShardError: a file is missing, unreadable or of another size, or the read failed.
        """
        descriptor, path = self._open(shard), self._shards.files[shard][0]
        rest = into.numpy().data
        while rest:
            try:
                count = os.preadv(descriptor.fd, [rest], offset)
            except OSError as error:
                raise ShardError.of(path, f"cannot be read at byte {offset}: {error.strerror}", shard) from error
            if not count:
                raise ShardError.of(path, f"ends at byte {offset}, where its manifest has more", shard)
            rest, offset = rest[count:], offset + count
