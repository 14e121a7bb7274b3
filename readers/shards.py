"""The files of a bake's shards: opened and checked by their size, and later known again by size, time and inode."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from convert.errors import PrebakeError, printable

REMEDY = "copy it again, or make it again with prebake repair"
PAUSE, PART = 1.0, 100
"""Seconds between two looks, or more where a look is slow: looking takes at most one part in so many of the time."""

Identity = tuple[int, int, int]
"""Bytes, time and inode."""


class ShardError(PrebakeError):
    """A shard's file is not what it was when the manifest was written."""

    def __init__(self, message: str, shard: int) -> None:
        super().__init__(message, shard)
        self.message, self.shard = message, shard

    @classmethod
    def of(cls, path: Path, what: str, shard: int) -> ShardError:
        """With the file's name."""
        return cls(f"shard {printable(path)} {what}", shard)

    def __str__(self) -> str:
        return self.message


def open_shard(path: Path, nbytes: int, shard: int) -> int:
    """A descriptor of a shard's file, to be closed by the caller.

    Raises:
        ShardError: the file is missing, unreadable or not of `nbytes`.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ShardError.of(path, f"cannot be opened: {error.strerror}; {REMEDY}", shard) from error
    size = os.fstat(fd).st_size
    if size != nbytes:
        os.close(fd)
        raise ShardError.of(path, f"has {size} bytes, its manifest says {nbytes}: cut short, or another file; {REMEDY}", shard)
    return fd


def _identity(status: os.stat_result) -> Identity:
    return status.st_size, status.st_mtime_ns, status.st_ino


class Shards:
    """All shards of a bake, and which file each was when it was opened first, or when the user was last told that it is another."""

    def __init__(self, files: Sequence[tuple[Path, int]]) -> None:
        """Files, given with their sizes in bytes; none is looked at yet."""
        self.files = list(files)
        self._known: dict[int, Identity] = {}
        self._next, self._pid = 0.0, os.getpid()

    def open(self, shard: int) -> int:
        """A descriptor of a shard's file, to be closed by the caller.

        Raises:
            ShardError: the file is missing, unreadable or of another size.
        """
        fd = open_shard(*self.files[shard], shard)
        self._known.setdefault(shard, _identity(os.fstat(fd)))
        return fd

    @property
    def due(self) -> bool:
        """Whether the last look is long enough ago, or was in a process that forked this one."""
        return time.monotonic() >= self._next or os.getpid() != self._pid

    def changed(self) -> dict[int, Identity | None]:
        """Look at all shards that were opened: what those are now that are another file, or were written to; None: gone."""
        begin = time.monotonic()
        now = {shard: (known, self._look(shard)) for shard, known in list(self._known.items())}
        end = time.monotonic()
        self._next, self._pid = end + max(PAUSE, PART * (end - begin)), os.getpid()
        return {shard: found for shard, (known, found) in now.items() if found != known}

    def _look(self, shard: int) -> Identity | None:
        try:
            return _identity(self.files[shard][0].stat())
        except OSError:
            return None

    def tell(self, changed: Mapping[int, Identity | None]) -> None:
        """Warn, once, of shards that changed and have their size still. Others are an error as soon as they are opened."""
        others = {shard: found for shard, found in changed.items() if found is not None and found[0] == self.files[shard][1]}
        if not others:
            return
        self._known.update(others)
        shard, (_, written, _) = next(iter(others.items()))
        path, more = self.files[shard][0], f" (and {len(others) - 1} more)" if len(others) > 1 else ""
        what = f"another file than before, or was written to, {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(written // 10**9))}"
        remedy = f"unless prebake repair made it again, check it: prebake verify {printable(path.parent)}"
        warnings.warn(f"shard {printable(path)}{more} is {what}. It is read as it is now; {remedy}", stacklevel=5)  # whoever asked for rows
