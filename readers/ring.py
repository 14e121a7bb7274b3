"""Recycled shared memory for the batches of a DataLoader worker: written once, seen by the parent, used again when nobody holds them.

Fresh shared memory for each batch costs more than filling it. So a worker owns a ring of slots in one memfd (no file: a small /dev/shm is
no limit), and a tensor that lies in a slot is pickled as a parcel: which slot, and how to get the ring's descriptor, in the way that
torch passes its own. The parent maps a ring once, and for as long as the worker's Process object lives.

Every tensor has a byte of its own in the ring, its hold, set by the worker when it is sent and cleared by a finaliser in the parent when
the last tensor on it has died; the worker's own tensors have the first. A slot without holds is free. Nobody ever waits: where all slots
are held, a ring of one slot is made for the batch alone. A batch that a fork inherits stays as it is for as long as the parent keeps it.
"""

from __future__ import annotations

import math
import mmap
import multiprocessing
import os
import threading
import weakref
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.multiprocessing.reductions import reduce_tensor

from readers.shm import shared

SLOTS = 16
"""More than are in flight with any usual prefetch_factor. The lowest free one is taken, so that those never needed never cost memory."""
HOLDS = 4096
"""For each slot: the worker's own, and one for each tensor sent, if a collate_fn sends samples one by one."""

Bytes = npt.NDArray[np.uint8]


class Memory:
    """A ring, mapped into this process: holds first (slots, HOLDS), then the slots (slots, nbytes)."""

    def __init__(self, fd: int, slots: int, nbytes: int) -> None:
        """Map `fd`; it may be closed then."""
        flat: Bytes = np.frombuffer(mmap.mmap(fd, slots * (HOLDS + nbytes)), np.uint8)
        self.holds = flat[: slots * HOLDS].reshape(slots, HOLDS)
        self._slots = flat[slots * HOLDS :].reshape(slots, nbytes)

    def lease(self, slot: int, hold: int) -> torch.Tensor:
        """A slot as a flat tensor of bytes; the hold is cleared when the last tensor on it has died."""
        array = self._slots[slot]  # an object of its own, to watch die
        weakref.finalize(array, _let_go, self.holds, (slot, hold), array.ctypes.data, os.getpid()).atexit = False
        return torch.from_numpy(array)


class Ring:
    """The worker's side of a ring."""

    def __init__(self, slots: int, nbytes: int) -> None:
        """Make one; nothing is allocated before it is written to."""
        self.slots, self.nbytes, self.pid = slots, nbytes, os.getpid()
        self.fd = os.memfd_create("prebake-batches")
        weakref.finalize(self, os.close, self.fd).atexit = False
        os.ftruncate(self.fd, slots * (HOLDS + nbytes))
        self._memory = Memory(self.fd, slots, nbytes)
        self._lock = threading.Lock()  # never taken by a finaliser

    def take(self) -> torch.Tensor | None:
        """A free slot as a flat tensor of bytes, if there is one."""
        with self._lock:
            free = np.flatnonzero(~self._memory.holds.any(axis=1))
            if not len(free):
                return None
            slot = int(free[0])
            self._memory.holds[slot, 0] = 1
        tensor = self._memory.lease(slot, 0)
        _places[tensor.data_ptr()] = self, slot
        return tensor

    def hold(self, slot: int) -> int | None:
        """A new hold on a slot, for a tensor to be sent; None where there are too many."""
        with self._lock:
            hold = int(self._memory.holds[slot].argmin())
            if self._memory.holds[slot, hold]:
                return None
            self._memory.holds[slot, hold] = 1
        return hold


_places: dict[int, tuple[Ring, int]] = {}
"""In a worker: the ring and slot of each address at which a batch begins that is still alive here."""
_own: list[Ring] = []
"""In a worker: its ring, the last one made."""
_mapped: weakref.WeakKeyDictionary[BaseProcess, Memory] = weakref.WeakKeyDictionary()
"""In the parent: keeps each worker's ring mapped between batches."""
_known: weakref.WeakValueDictionary[int, Memory] = weakref.WeakValueDictionary()
"""In the parent: rings by inode, which is nobody else's while they are mapped."""
os.register_at_fork(after_in_child=_mapped.clear)


def _let_go(holds: Bytes, place: tuple[int, int], address: int, pid: int) -> None:
    """Single steps that no thread can interrupt: a finaliser runs anywhere. In a fork, tensors are the parent's to give back."""
    if os.getpid() == pid:
        if not place[1]:
            _places.pop(address, None)
        holds[place] = 0


def recycled(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """In a DataLoader worker: memory for a batch, contiguous and not initialised, that the parent will see."""
    nbytes = math.prod(shape) * dtype.itemsize
    try:
        flat = _slot(-(-max(nbytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE)
    except (AttributeError, OSError):  # no memfd_create, or none allowed, or no descriptor left
        return shared(shape, dtype)
    return flat[:nbytes].view(dtype).view(shape)


def _slot(nbytes: int) -> torch.Tensor:
    if not _own or _own[0].pid != os.getpid() or _own[0].nbytes < nbytes:
        ring = Ring(SLOTS, nbytes)
        ForkingPickler.register(torch.Tensor, _reduce)  # in this process alone, and for tensors in slots alone
        _own[:] = [ring]
    flat = _own[0].take()
    while flat is None:
        flat = Ring(1, nbytes).take()
    return flat


def _reduce(tensor: torch.Tensor) -> Any:
    """How a worker pickles a tensor: as a parcel if it lies in a slot, else as torch does."""
    plain = tensor.layout == torch.strided and tensor.device.type == "cpu" and not (tensor.requires_grad or tensor.is_nested)
    ring, slot = _places.get(tensor.untyped_storage().data_ptr(), (None, 0)) if plain else (None, 0)
    hold = ring.hold(slot) if ring and ring.pid == os.getpid() else None
    if ring is None or hold is None:
        return reduce_tensor(tensor)  # type: ignore[no-untyped-call]
    place = (os.getpid(), ring.slots, ring.nbytes, slot, hold)
    return receive, (DupFd(ring.fd), place, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


def receive(parcel: Any, place: tuple[int, ...], dtype: torch.dtype, *view: Any) -> torch.Tensor:
    """In the parent: the tensor that a worker sent, where the worker wrote it. `view`: shape, stride, offset."""
    pid, slots, nbytes, slot, hold = place
    fd = parcel.detach()
    try:
        inode = os.fstat(fd).st_ino
        memory = _known.get(inode) or Memory(fd, slots, nbytes)
    finally:
        os.close(fd)
    if inode not in _known:
        _known[inode] = memory
        worker = next((child for child in multiprocessing.active_children() if child.pid == pid), None)
        if worker and slots > 1:
            _mapped[worker] = memory  # instead of one with smaller slots
    return torch.as_strided(memory.lease(slot, hold).view(dtype), *view)
