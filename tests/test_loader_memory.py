"""A Loader's memory: batches are the user's own, buffers are used again, and nothing reaches the files."""

from __future__ import annotations

import gc
from pathlib import Path

import torch

from readers import Loader, RandomCrop, RandomHorizontalFlip, open_dataset
from readers.buffers import Buffers


def test_a_kept_batch_is_never_overwritten(baked: Path) -> None:
    dataset = open_dataset(baked, augment=[RandomCrop(40), RandomHorizontalFlip()])
    loader = Loader(dataset, 4, shuffle=True, prefetch=2)
    kept = [(images[1:3], images[1:3].clone()) for _ in range(4) for images, _ in loader]  # a view alone is kept
    rows = [image[0] for images, _ in loader for image in images.unbind(0)]
    copies = [row.clone() for row in rows]
    for _ in range(3):
        for images, _ in loader:
            images.zero_()
    assert all(torch.equal(images, copy) for images, copy in kept)
    assert all(torch.equal(row, copy) for row, copy in zip(rows, copies, strict=True))


def test_buffers_are_used_again_and_the_spare_ones_given_back() -> None:
    buffers = Buffers(100, keep=2)
    first = buffers.lease()
    place, view = first.data_ptr(), first[10:20].view(torch.float16)
    del first
    assert buffers.lease().data_ptr() != place
    del view
    kept = [buffers.lease() for _ in range(5)]
    assert place in {lease.data_ptr() for lease in kept}
    assert len({lease.data_ptr() for lease in kept}) == 5
    freed = {lease.data_ptr() for lease in kept}
    kept.clear()
    assert buffers.lease().data_ptr() in freed
    assert len(buffers._free) == 2  # noqa: SLF001


def test_a_lease_outlives_its_pool() -> None:
    buffers = Buffers(1 << 20, keep=1)
    lease = buffers.lease().fill_(7)
    del buffers
    gc.collect()
    assert int(lease.min()) == 7


def test_memory_stays_flat(baked: Path) -> None:
    loader = Loader(open_dataset(baked), 4, prefetch=3)
    places = {images.data_ptr() for _ in range(20) for images, _ in loader}
    assert len(places) <= 3 + 2 + 1


def test_in_place_changes_never_reach_the_file(baked: Path) -> None:
    before = {path.name: path.read_bytes() for path in baked.iterdir()}
    for images, labels in Loader(open_dataset(baked), 4, dtype=torch.float16):
        images.add_(1)
        labels.zero_()
    assert {path.name: path.read_bytes() for path in baked.iterdir()} == before
