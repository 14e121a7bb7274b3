"""Measures the Loader against memcpy and the per-sample Dataset, all formats against memmap, and its memory, in a fresh process."""

from __future__ import annotations

import functools
import json
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fresh_process import measured
from measure_feed import BATCH, CROP, Naive
from rounds import rate, ratio, take_turns
from torch.utils.data import DataLoader, RandomSampler

from convert.manifest import read_manifest
from convert.registry import format_names
from readers import Loader, RandomCrop, RandomHorizontalFlip, open_dataset

THREADS = 2
PICTURES = 8000
"""In an epoch, of fewer rows: so long that beginning and ending one does not count for much, as in real ones."""
COPIED = 1 << 28
STEPS: dict[str, list[Any]] = {"crop": [RandomCrop(CROP)], "crop + flip": [RandomCrop(CROP), RandomHorizontalFlip()]}
DTYPES = {"float16": torch.float16, "float32": torch.float32}


def loader(folder: Path, steps: str, dtype: str = "float16") -> Loader:
    """As the limits are stated."""
    dataset = open_dataset(folder, augment=STEPS[steps])
    numbers = np.arange(PICTURES) % len(dataset)
    return Loader(dataset, BATCH, shuffle=True, drop_last=True, threads=THREADS, dtype=DTYPES[dtype], indices=numbers)


class Memcpy:
    """Two threads that copy large arrays."""

    def __init__(self) -> None:
        """Arrays of 256 MiB, touched."""
        self._from, self._to = np.ones(COPIED, np.uint8), np.ones(COPIED, np.uint8)

    def __call__(self) -> float:
        """Bytes per second."""
        half = COPIED // 2
        began = time.perf_counter()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda part: np.copyto(self._to[part], self._from[part]), [slice(half), slice(half, None)]))
        return COPIED / (time.perf_counter() - began)


def memory_mb(batches: Loader, epochs: int) -> list[float]:
    """Memory of the process's own (not the page cache's) after each epoch, in MB."""
    found = []
    for _ in range(epochs):
        rate(batches)
        words = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        found.append(int(words["RssAnon"].split()[0]) / 1000)
    return found


def in_this_process(work: Path, rounds: int) -> dict[str, Any]:
    """All of it. `work` holds a bake of each format."""
    began = time.perf_counter()
    next(iter(loader(work / "memmap", "crop + flip")))
    first_batch = 1e3 * (time.perf_counter() - began)
    epochs = [rate(batches) for batches in [loader(work / "memmap", "crop")] * 3]
    memory = memory_mb(loader(work / "memmap", "crop + flip", "float32"), 10)
    formats = [name for name in format_names() if (work / name).exists()]
    rows = np.concatenate([np.load(work / "memmap" / shard.name) for shard in read_manifest(work / "memmap").shards])
    naive = DataLoader(
        (dataset := Naive(rows, np.load(work / "memmap" / "targets.npy"))),
        batch_size=BATCH,
        sampler=RandomSampler(dataset, replacement=True, num_samples=PICTURES),
        num_workers=2,
        persistent_workers=True,
        drop_last=True,
    )
    loaders: dict[str, Loader] = {f"{steps}, {dtype}": loader(work / "memmap", steps, dtype) for steps in STEPS for dtype in DTYPES}
    loaders |= {name: loader(work / name, "crop + flip") for name in formats if name != "memmap"}
    rate(naive)  # workers are forked first: afterwards, the first write to each page of a Loader's memory would copy it
    for one in loaders.values():
        rate(one)  # pages are mapped
    turns = {name: functools.partial(rate, batches) for name, batches in loaders.items()}
    found = take_turns({"memcpy": Memcpy(), **turns, "naive": lambda: rate(naive)}, rounds)
    nbytes = CROP * CROP * 3 * 2
    return {
        "gather_vs_memcpy_crop": ratio(found, "crop, float16", "memcpy", nbytes),
        "gather_vs_memcpy_crop_flip": ratio(found, "crop + flip, float16", "memcpy", nbytes),
        "gather_vs_memcpy_crop_flip_float32": ratio(found, "crop + flip, float32", "memcpy", 2 * nbytes),
        "loader_vs_naive": ratio(found, "crop + flip, float32", "naive"),
        **{f"{name}_vs_memmap": ratio(found, name, "crop + flip, float16") for name in formats if name != "memmap"},
        "first_batch_ms": first_batch,
        "loader_rss_mb": memory[-1] - memory[1],
        "pictures_per_s": {f"epoch {number} of a process": value for number, value in enumerate(epochs, 1)}
        | {name: statistics.median(values) for name, values in found.items() if name != "memcpy"},
        "memcpy_gb_per_s": statistics.median(found["memcpy"]) / 1e9,
    }


def measure(work: Path, rounds: int) -> dict[str, Any]:
    """The same in a fresh process."""
    return measured("measure_loader.py", work, rounds)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(in_this_process(Path(sys.argv[1]), int(sys.argv[2])), indent=1) + "\n")
