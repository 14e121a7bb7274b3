"""Memory for batches, used again once nobody looks at it any more: fresh memory costs more than the copy into it."""

from __future__ import annotations

import weakref
from collections import deque

import numpy as np
import numpy.typing as npt
import torch

Buffer = npt.NDArray[np.uint8]


class Buffers:
    """Lends buffers of one size. Leasing never waits: while batches are kept, more buffers are made."""

    def __init__(self, nbytes: int, keep: int) -> None:
        """Of `nbytes` bytes each; up to `keep` of them lie ready, others are given back to the system."""
        self._nbytes, self._keep = nbytes, keep
        self._free: deque[Buffer] = deque()

    def lease(self) -> torch.Tensor:
        """A flat tensor of bytes, with anything in it. Its buffer comes back when the last tensor on its memory has died."""
        while len(self._free) > self._keep:
            self._take()
        buffer = self._take()
        if buffer is None:
            buffer = np.empty(self._nbytes, np.uint8)
        lease = buffer[:]  # an array object of its own, which only torch holds: to be watched dying
        # The finaliser may run in any thread at any moment: it does one thing, which cannot fail or wait. It knows the deque alone.
        weakref.finalize(lease, self._free.append, buffer).atexit = False
        return torch.from_numpy(lease)

    def _take(self) -> Buffer | None:
        """The buffer that came back last, which is likeliest to be in the cache."""
        try:
            return self._free.pop()
        except IndexError:
            return None
