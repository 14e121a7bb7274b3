"""Measures reading from the disk: the Loader in random order after the cached pages were dropped, against threads of plain reads."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benching.cold import drop
from fresh_process import measured
from rounds import rate, take_turns

from convert.manifest import Manifest, read_manifest
from readers import Loader, open_dataset
from readers.ahead import Ahead

READERS = 4
BATCH = 64
"""So small that the batches of one epoch use buffers again."""


def plain_reads(folder: Path, manifest: Manifest) -> float:
    """Whole records per second, read in random order by four threads."""
    drop(folder.glob("shard-*"))
    files = [os.open(folder / shard.name, os.O_RDONLY) for shard in manifest.shards]
    places = [
        (file, (shard.first or 0) + row * (shard.stride or 0))
        for file, shard in zip(files, manifest.shards, strict=True)
        for row in range(shard.count)
    ]
    np.random.default_rng(0).shuffle(places)
    began = time.perf_counter()
    with ThreadPoolExecutor(READERS) as pool:
        for part in pool.map(lambda some: [len(os.pread(file, manifest.row_nbytes, at)) for file, at in some], np.array_split(places, 64)):
            assert set(part) == {manifest.row_nbytes}
    seconds = time.perf_counter() - began
    for file in files:
        os.close(file)
    return len(places) / seconds


@contextmanager
def no_asking() -> Iterator[None]:
    """The Loader as it would be if it did not ask ahead."""
    usual, Ahead.useful = Ahead.useful, property(lambda _self: False)  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        Ahead.useful = usual  # type: ignore[method-assign]


def cold_rate(folder: Path, order: Any) -> float:
    """Pictures per second of a Loader whose rows are not mapped yet: pages that are cannot be dropped."""
    drop(folder.glob("shard-*"))
    return rate(Loader(open_dataset(folder), BATCH, order=order, threads=2, dtype=torch.float16))


def in_this_process(baked: Path, rounds: int) -> dict[str, Any]:
    """Ratios on a copy of a memmap bake in the temporary folder, which should be on a disk."""
    manifest = read_manifest(baked)
    with tempfile.TemporaryDirectory(prefix="prebake-cold-") as folder:
        copy = shutil.copytree(baked, Path(folder) / "baked")

        def unasked() -> float:
            with no_asking():
                return cold_rate(copy, "shuffle")

        found = take_turns(
            {
                "pread": lambda: plain_reads(copy, manifest),
                "loader": lambda: cold_rate(copy, "shuffle"),
                "quasi": lambda: cold_rate(copy, "quasi"),
                "unasked": unasked,
            },
            rounds,
        )
    median = {name: statistics.median(values) for name, values in found.items()}
    return {
        "cold_vs_pread": median["loader"] / median["pread"],
        "cold_vs_unasked": median["loader"] / median["unasked"],
        "pictures_per_s": {f"cold, {name}": value for name, value in median.items()},
    }


def measure(baked: Path, rounds: int) -> dict[str, Any]:
    """The same in a fresh process."""
    return measured("measure_cold.py", baked, rounds)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(in_this_process(Path(sys.argv[1]), int(sys.argv[2]))) + "\n")
