"""What an epoch of a Loader holds, whether its threads have ended, and the bakes that tests of it read."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import torch
from processes import wait_for

from readers import Loader, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip, open_dataset

STEPS = [RandomCrop((40, 48)), RandomHorizontalFlip(), RandomVerticalFlip(0.3)]
Sample = tuple[torch.Tensor, int]


def samples(loader: Any) -> list[Sample]:
    """Each sample of an epoch: its picture, and its index."""
    return [(image.clone(), int(index)) for batch in loader for image, index in zip(batch[0], batch[-1], strict=True)]


def same(some: list[Sample], others: list[Sample]) -> bool:
    return len(some) == len(others) and all(a[1] == b[1] and torch.equal(a[0], b[0]) for a, b in zip(some, others, strict=True))


def indexed(baked: Path, **options: Any) -> Any:
    return open_dataset(baked, return_index=True, **options)


def used_up(loader: Loader) -> None:
    for _ in loader:
        pass


def running() -> int:
    """Threads of all Loaders: those that copy, and those that ask the disk."""
    return sum(thread.name.startswith("prebake-") for thread in threading.enumerate())


def ended() -> None:
    gc.collect()
    wait_for(lambda: running() == 0, 20)
