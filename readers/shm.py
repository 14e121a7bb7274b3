"""Fresh shared memory, where batches cannot have recycled one, and a look at whether /dev/shm has room for it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import get_worker_info

from convert.errors import PrebakeError

SHM = Path("/dev/shm")
"""Where torch's shared memory lies on Linux."""


def shared(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor in shared memory, not initialised, as torch's own collate makes it in a DataLoader worker: it is not copied again.

    Raises:
        PrebakeError: there is no room for it.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    check_room(nbytes)
    storage = torch.UntypedStorage._new_shared(nbytes, device="cpu")  # type: ignore[no-untyped-call] # noqa: SLF001
    empty: torch.Tensor = torch.empty(0, dtype=dtype, device="cpu").set_(storage)
    return empty.view(shape)


def free_shm() -> int:
    """Bytes that are free there, or more than anybody needs where it is not."""
    if not SHM.is_dir():
        return 1 << 62
    info = os.statvfs(SHM)
    return info.f_bavail * info.f_frsize


def check_room(nbytes: int) -> None:
    """Look whether each worker of the DataLoader could put a batch of so many bytes into /dev/shm now.

    Without room the kernel kills the worker by a bus error that says nothing. Other workers allocate at the same moment, so each
    leaves room for all.

    Raises:
        PrebakeError: there is none.
    """
    worker = get_worker_info()
    if worker is None:
        return
    free, workers = free_shm(), worker.num_workers
    if nbytes * workers > free:
        raise PrebakeError(
            f"{SHM} has {free >> 20} MB free, too little for a batch of {-(-nbytes >> 20)} MB in each of {workers} DataLoader workers: "
            "give it more (docker run --shm-size=8g), or take smaller batches, fewer workers or a lower prefetch_factor"
        )


def sample_nbytes(sample: Any) -> int:
    """Bytes of the tensors in a sample."""
    if isinstance(sample, torch.Tensor):
        return sample.nbytes
    return sum(map(sample_nbytes, sample)) if isinstance(sample, Sequence) and not isinstance(sample, str | bytes) else 0
