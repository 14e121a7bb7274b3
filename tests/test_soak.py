"""Many epochs while another process converts: no memory, descriptor, thread or shared memory is lost on the way.

PREBAKE_EPOCHS says how many.
"""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import pytest
from pictures import image_folder
from processes import finish, start
from torch.utils.data import DataLoader

from readers import Loader, RandomCrop, RandomHorizontalFlip, open_dataset

EPOCHS = int(os.environ.get("PREBAKE_EPOCHS", "4"))
SLACK = 1.05
"""Of the memory after the first epochs: allocators keep some for themselves."""


def used() -> tuple[int, int, int, int]:
    """Anonymous and shared memory in kB, descriptors, threads, and files in shared memory that are mapped or named after this process."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()  # unlike private memory, what a fork shares for a moment is in it
    resident = sum(int(line.split()[1]) for line in lines if line.startswith(("RssAnon", "RssShmem")))
    mapped = Path("/proc/self/maps").read_text()
    named = [path for path in Path("/dev/shm").iterdir() if str(os.getpid()) in path.name]  # other tests may run meanwhile
    shared = len(named) + mapped.count("/dev/shm/") + mapped.count("/memfd:")
    return resident, len(list(Path("/proc/self/fd").iterdir())), threading.active_count(), shared


@pytest.mark.parametrize("kind", ["loader", "dataloader"])
def test_epochs_while_another_process_converts(baked: Path, tmp_path: Path, kind: str) -> None:
    dataset = open_dataset(baked, augment=[RandomCrop(40), RandomHorizontalFlip()])
    loader = Loader(dataset, 4, shuffle=True) if kind == "loader" else DataLoader(dataset, 4, shuffle=True, num_workers=2)
    source = image_folder(tmp_path / "source", {"cat": 30, "dog": 30})
    run = start("lmdb", source, tmp_path / "out", "--size", "128", "--shards", "10", "--workers", "1")
    seen = []
    for _ in range(EPOCHS):
        assert sum(len(labels) for _, labels in loader) == len(dataset)
        seen.append(used())
    assert finish(run) == (0, [])
    first, last = seen[EPOCHS // 2 - 1], seen[-1]
    assert last[0] < first[0] * SLACK, seen
    assert last[1:3] == first[1:3], seen
    assert last[3] <= first[3], seen
