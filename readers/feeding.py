"""A torch DataLoader with settings that cannot hurt."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Subset

from convert.errors import PrebakeError, printable
from readers.dataset import BakedDataset
from readers.machine import cores, memory
from readers.render import size_after
from readers.shm import free_shm

SHARE = 0.25
"""Of the memory, that waiting batches may take."""


def torch_loader(dataset: Dataset[Any], batch_size: int, **overrides: Any) -> DataLoader[Any]:
    """A torch DataLoader for a bake, or a Subset of one; for any other data set too, of which torch's own number of batches is ready.

    Workers: three quarters of the usable cores, at most 16, divided by the ranks on this node (LOCAL_WORLD_SIZE), at least one. Rows
    that are copied as they are (no `transform=`) need two to four in all. They persist, each has up to four batches ready, fewer
    where those would take more than a quarter of the memory, and batches are pinned when there is CUDA.

    Args:
        dataset: a bake, as a rule.
        batch_size: samples in a batch; None with a sampler of batches, or for one sample at a time.
        overrides: anything that torch's DataLoader takes, by its name there; it is used instead.

    Raises:
        PrebakeError: LOCAL_WORLD_SIZE is no number.
    """
    ranks = _ranks()
    workers = overrides.get("num_workers", max(1, min(int(cores() * 0.75), 16) // ranks))
    settings: dict[str, Any] = {"batch_size": batch_size, "num_workers": workers, "pin_memory": torch.cuda.is_available()}
    if overrides.get("batch_sampler") is not None:
        del settings["batch_size"]
    if workers:
        baked = dataset
        while isinstance(baked, Subset):
            baked = baked.dataset
        settings["persistent_workers"] = True
        if isinstance(baked, BakedDataset):
            settings["prefetch_factor"] = _prefetch(baked, batch_size or 1, workers * ranks)
    return DataLoader(dataset, **(settings | overrides))


def _ranks() -> int:
    """Processes of this training on this node, as torchrun says it."""
    word = os.environ.get("LOCAL_WORLD_SIZE", "1")
    if not word.isdigit() or int(word) < 1:
        raise PrebakeError(f"LOCAL_WORLD_SIZE={printable(word)} is no number of processes: unset it, or start by torchrun")
    return int(word)


def _prefetch(dataset: BakedDataset, batch_size: int, workers: int) -> int:
    """Batches that each of all workers on this node may have ready: four, or as many as fit; at least one."""
    rows = dataset._rows  # noqa: SLF001 - one of its own
    height, width = (int(np.max(side)) for side in size_after(dataset.augment, *rows.layout.largest))
    batches = batch_size * height * width * rows.manifest.channels * torch.float32.itemsize * workers
    room = memory() * SHARE
    if dataset.transform or not hasattr(os, "memfd_create"):  # through /dev/shm; workers look themselves whether there is room
        room = min(room, free_shm())
    return int(max(1, min(4, room // batches)))
