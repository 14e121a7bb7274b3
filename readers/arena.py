"""One reserved range of addresses for a whole data set; each shard's file is mapped into its own slot of it on first use.

Opening a data set so touches no shard, and no descriptor stays open: 2,000 shards need not one. A wrong address inside the range hits
memory that is reserved and forbidden, never somebody else's. This is the one unsafe module: every index and offset is checked before it
gets here. Forked children inherit the maps; nothing here can be pickled.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import weakref
from collections.abc import Iterable
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import torch

from convert.errors import PrebakeError, printable
from readers.shards import ShardError, Shards

PROT_NONE = 0
MAP_FIXED, MAP_NORESERVE = 0x10, 0x4000
RESERVE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
WILL_NEED, PIECE = 3, 1 << 17
"""MADV_WILLNEED, and bytes of one call: Linux reads no more than a disk's read-ahead for each, 128 KiB unless it was changed."""
FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def _map(address: int | None, nbytes: int, *, protection: int, flags: int, fd: int = -1) -> int:
    got = _libc.mmap(address, nbytes, protection, flags, fd, 0)
    if got is None or got == FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(got)


class Arena:
    """The memory of all shards, as one range of bytes."""

    def __init__(self, shards: Shards) -> None:
        """Reserve addresses for all shards."""
        ends = itertools.accumulate((-(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE for _, nbytes in shards.files), initial=0)
        self.slots = np.array(list(ends), np.int64)  # from Python's integers: too large a sum is an error, not a small number
        """Where each file begins in the range, in bytes; the last number is the range's length."""
        self._shards = shards
        self._mapped = np.zeros(len(shards.files), bool)
        self._nbytes = max(int(self.slots[-1]), mmap.PAGESIZE)
        try:
            self._base = _map(None, self._nbytes, protection=PROT_NONE, flags=RESERVE)
        except OSError as error:
            where = printable(shards.files[0][0].parent)
            raise PrebakeError(
                f"{where}: {self._nbytes} bytes of addresses cannot be reserved ({error.strerror}; see ulimit -v)"
            ) from error
        weakref.finalize(self, _libc.munmap, self._base, self._nbytes).atexit = False

    def __reduce__(self) -> NoReturn:
        raise TypeError("an arena is addresses of this process: open the data set again instead")

    def ensure(self, shards: npt.NDArray[np.int64]) -> None:
        """Map these shards, if they are not mapped yet.

        Raises:
            ShardError: a file is missing, unreadable or of another size.
        """
        for shard in np.unique(shards[~self._mapped[shards]]).tolist():
            self._map_shard(shard)  # twice, if two threads meet here: the same pages at the same place. A lock could be held in a fork

    def _map_shard(self, shard: int) -> None:
        path, nbytes = self._shards.files[shard]
        fd = self._shards.open(shard)
        try:
            if int(self.slots[shard]) + nbytes > self._nbytes:
                raise AssertionError("a slot outside of the range")
            _map(self._base + int(self.slots[shard]), nbytes, protection=mmap.PROT_READ, flags=mmap.MAP_SHARED | MAP_FIXED, fd=fd)
        except OSError as error:
            raise ShardError.of(path, f"cannot be mapped: {error.strerror}; with io='pread' it is read instead", shard) from error
        finally:
            os.close(fd)  # the map stays
        self._mapped[shard] = True

    def forget(self, shards: Iterable[int]) -> None:
        """Map these anew, and check them, before they are used again: a path may lead to another file by now, or to none."""
        self._mapped[list(shards)] = False

    def will_need(self, starts: npt.NDArray[np.int64], nbytes: int | npt.NDArray[np.int64]) -> None:
        """Ask the kernel to read `nbytes` from each start (B,), in shards that are mapped; does not wait for them."""
        order = np.argsort(starts)
        firsts, ends = (starts // mmap.PAGESIZE * mmap.PAGESIZE)[order], (starts + nbytes)[order]
        for first, end in zip(firsts.tolist(), ends.tolist(), strict=True):
            for piece in range(first, end, PIECE):
                _libc.madvise(self._base + piece, min(PIECE, end - piece), WILL_NEED)  # advice: nothing is lost where it is not taken

    def view(self, dtype: torch.dtype) -> torch.Tensor:
        """The whole range as a flat tensor, to be used at once and not kept: it does not keep the arena alive.

        It is not to be written to; a page that is not mapped is not to be touched.
        """
        array = np.ctypeslib.as_array((ctypes.c_uint8 * self._nbytes).from_address(self._base))
        return torch.from_numpy(array).view(dtype)
