"""Random numbers for `ds[i]` and DataLoader: torch's own."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import get_worker_info

SEEDED = (
    "worker_init_fn has seeded torch in this DataLoader worker. If that seed is the same in each epoch or worker, so are its crops and "
    "flips; torch seeds workers by itself, anew in each epoch, and reproducibly after torch.manual_seed"
)


def from_torch(batch: int) -> npt.NDArray[np.float64]:
    """One number in [0, 1) for each picture, as torchvision's transforms draw: seeded by `torch.manual_seed`, different in each worker."""
    worker = get_worker_info()
    if worker is not None and worker.id == 0 and torch.initial_seed() != worker.seed:
        warnings.warn(SEEDED, stacklevel=2)
    return torch.rand(batch, dtype=torch.float64, device="cpu").numpy()
