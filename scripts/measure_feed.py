"""Measures a plain DataLoader on a bake against the per-sample Dataset that people write, on the same rows."""

from __future__ import annotations

import functools
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rounds import rate, take_turns
from torch.utils.data import DataLoader, Dataset

from convert.manifest import read_manifest
from readers import RandomCrop, RandomHorizontalFlip, open_dataset

CROP, BATCH = 224, 256
SAMPLES = 12 * BATCH
"""In an epoch: rows of a small bake come several times."""


class Naive(Dataset[Any]):
    """One picture at a time out of an array in memory: crop, flip, cast; torch's default collate."""

    def __init__(self, rows: np.ndarray[Any, Any], targets: np.ndarray[Any, Any]) -> None:
        """`rows` (N, H, W, 3) float16, `targets` (N,)."""
        self.rows, self.targets = rows, targets

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        index %= len(self.rows)
        height, width = self.rows.shape[1:3]
        top = int(torch.randint(0, height - CROP + 1, ()))
        left = int(torch.randint(0, width - CROP + 1, ()))
        image = torch.from_numpy(self.rows[index]).permute(2, 0, 1)[:, top : top + CROP, left : left + CROP]
        return (image.flip(2) if torch.rand(()) < 0.5 else image).float(), int(self.targets[index])


def measure(baked: Path, rounds: int) -> dict[str, object]:
    """Pictures per second of both, two workers each, random crop and flip, float32 out. They take turns, epoch by epoch; medians."""
    manifest = read_manifest(baked)
    rows = np.concatenate([np.load(baked / shard.name) for shard in manifest.shards])
    naive = Naive(rows, np.load(baked / "targets.npy"))
    dataset = open_dataset(baked, augment=[RandomCrop(CROP), RandomHorizontalFlip()]).subset(np.arange(SAMPLES) % len(rows))
    settings: dict[str, Any] = {
        "batch_size": BATCH,
        "shuffle": True,
        "num_workers": 2,
        "persistent_workers": True,
        "prefetch_factor": 4,
        "drop_last": True,
    }
    loaders = {"naive": DataLoader(naive, **settings), "dataloader": DataLoader(dataset, **settings)}
    for loader in loaders.values():
        rate(loader)  # starts the workers
    rates = take_turns({name: functools.partial(rate, loader) for name, loader in loaders.items()}, rounds)
    median = {name: statistics.median(values) for name, values in rates.items()}
    return {"dataloader_vs_naive": median["dataloader"] / median["naive"], "pictures_per_s": median}
