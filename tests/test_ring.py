"""Batches of DataLoader workers in recycled memory: never overwritten while somebody holds them, and nothing left behind."""

from __future__ import annotations

import dataclasses
import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import bake
from damage import listed
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, default_collate

from convert.manifest import MANIFEST, Target
from readers import BakedDataset, CenterCrop, ring, shm
from readers.ring import HOLDS, SLOTS

ROWS = 256


@pytest.fixture(scope="module")
def dataset(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> BakedDataset:
    """Rows of which each is told apart from all others, in an order with repetitions."""
    out = tmp_path_factory.mktemp("ring") / "out"
    bake(photos, out, size=(32, 32))
    whole = BakedDataset(out, return_index=True)
    return whole.subset(np.arange(ROWS) % len(whole))


def _mapped() -> int:
    """Rings that this process has mapped."""
    return Path("/proc/self/maps").read_text().count("memfd:prebake-batches")


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _right(dataset: BakedDataset, images: torch.Tensor, index: torch.Tensor) -> bool:
    return all(torch.equal(image, dataset[i][0]) for image, i in zip(images, index.tolist(), strict=True))


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_batches_lie_in_a_ring(dataset: BakedDataset, context: str, persistent: bool) -> None:
    loader = DataLoader(dataset, 16, shuffle=True, num_workers=2, multiprocessing_context=context, persistent_workers=persistent)
    for _ in range(2):
        count = 0
        for images, labels, index in loader:
            assert 1 <= _mapped() <= 2
            assert _right(dataset, images, index)
            assert labels.tolist() == [dataset[i][1] for i in index.tolist()]
            count += len(images)
        assert count == ROWS


def test_a_batch_that_is_kept_is_never_overwritten(dataset: BakedDataset) -> None:
    """More than there are slots, beyond the end of the workers; every other one is dropped again."""
    kept: list[Any] = []
    for epoch in range(3):
        for number, batch in enumerate(DataLoader(dataset, 4, shuffle=True, num_workers=1)):
            if (number + epoch) % 2:
                kept.append(batch)
    assert len(kept) > 3 * SLOTS
    gc.collect()
    assert all(_right(dataset, images, index) for images, _, index in kept)
    assert len({images.data_ptr() for images, _, _ in kept}) == len(kept)


def test_slots_are_used_again(dataset: BakedDataset) -> None:
    addresses = [images.data_ptr() for images, _, _ in DataLoader(dataset, 4, num_workers=1)]
    assert len(addresses) == ROWS // 4
    assert len(set(addresses)) < SLOTS


def test_views_hold_a_slot(dataset: BakedDataset) -> None:
    loader = DataLoader(dataset, 4, num_workers=1)
    kept = [(images[2].numpy()[:, 1:3], int(index[2])) for images, _, index in loader]
    assert len(kept) > SLOTS
    assert all(np.array_equal(view, dataset[i][0].numpy()[:, 1:3]) for view, i in kept)


_hoard: list[Any] = []


def _as_they_are(batch: list[Any]) -> list[Any]:
    return batch


def _as_a_dict(batch: list[Any]) -> dict[str, Any]:
    images, _, index = default_collate(batch)
    return {"half": images[:, :, ::2], "whole": [images, images], "index": index}


def _hoarding(batch: list[Any]) -> Any:
    _hoard.append(batch[0])
    images, _, _ = default_collate(batch)
    first = torch.stack([image for image, _, _ in _hoard])
    return images, first, torch.tensor([i for _, _, i in _hoard])


def test_samples_one_by_one(dataset: BakedDataset) -> None:
    batches = list(DataLoader(dataset, 4, num_workers=1, collate_fn=_as_they_are))
    gc.collect()
    assert [i for batch in batches for _, _, i in batch] == list(range(ROWS))
    assert all(torch.equal(image, dataset[i][0]) for batch in batches for image, _, i in batch)


def test_any_structure(dataset: BakedDataset) -> None:
    for batch in DataLoader(dataset, 16, num_workers=1, collate_fn=_as_a_dict):
        assert _right(dataset, batch["whole"][0], batch["index"])
        assert torch.equal(batch["half"], batch["whole"][1][:, :, ::2])
        batch["whole"][0].zero_()
        assert not batch["half"].any()  # one piece of memory, as in torch


def test_a_worker_may_keep_samples(dataset: BakedDataset) -> None:
    for images, first, index in DataLoader(dataset, 4, num_workers=1, collate_fn=_hoarding):
        assert _right(dataset, first, index)
        assert len(images) == 4


def test_more_tensors_than_holds() -> None:
    flat = ring.Ring(2, 4096)
    slot = flat.take()
    assert slot is not None
    assert [flat.hold(0) for _ in range(HOLDS)] == [*range(1, HOLDS), None]


def test_a_batch_at_once(dataset: BakedDataset) -> None:
    batches = BatchSampler(RandomSampler(dataset), 7, drop_last=False)
    for images, _, index in DataLoader(dataset, batch_size=None, sampler=batches, num_workers=1):
        assert _mapped() == 1
        assert _right(dataset, images, index)


def test_sizes_that_change(dataset: BakedDataset) -> None:
    sizes = [1, 40, 3, 100, 2, 60, 1, 49]
    ends = np.cumsum(sizes).tolist()
    batches = [list(range(end - size, end)) for end, size in zip(ends, sizes, strict=True)]
    kept = list(DataLoader(dataset, batch_sampler=batches, num_workers=1))
    assert [len(images) for images, _, _ in kept] == sizes
    assert all(_right(dataset, images, index) for images, _, index in kept)


def _whole(loader: DataLoader[Any]) -> Any:
    before = _mapped()
    (batch,) = loader
    assert _mapped() == before + 1
    return batch


def test_images_alone_and_values(photos: Path, tmp_path: Path) -> None:
    folder = min(path for path in photos.iterdir() if path.is_dir())
    manifest = bake(folder, tmp_path / "out", size=(32, 32))
    alone = BakedDataset(tmp_path / "out")
    images = _whole(DataLoader(alone, len(alone), num_workers=1))
    assert torch.equal(images, torch.stack([alone[i] for i in range(len(alone))]))
    assert images.is_contiguous(memory_format=torch.channels_last)
    values = np.random.default_rng(0).standard_normal((len(alone), 2), np.float32)
    np.save(tmp_path / "out" / "targets.npy", values)
    changed = dataclasses.replace(manifest, target=Target("values", 2), classes=("a", "b"))
    (tmp_path / "out" / MANIFEST).write_text(listed(tmp_path / "out", changed, "targets.npy").to_json())
    again, found = _whole(DataLoader(BakedDataset(tmp_path / "out"), len(alone), num_workers=1))
    assert torch.equal(again, images)
    assert np.array_equal(found.numpy(), values)


def _memory() -> int:
    """Bytes of shared memory that this process has mapped."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssShmem"))


def test_nothing_is_left_after_many_epochs(dataset: BakedDataset) -> None:
    found = []
    for _ in range(12):
        for batch in DataLoader(dataset.with_(augment=[CenterCrop(24)]), 32, num_workers=2):
            del batch
        gc.collect()
        found.append((_mapped(), _descriptors(), _memory()))
    assert {mapped for mapped, _, _ in found} == {0}
    assert found[-1][1] <= found[1][1]
    assert found[-1][2] <= found[1][2]


def test_breaking_out_of_epochs_loses_no_slot(dataset: BakedDataset) -> None:
    loader = DataLoader(dataset, 4, num_workers=1, persistent_workers=True, prefetch_factor=6)
    addresses = set()
    for _ in range(10):
        for number, (images, _, index) in enumerate(loader):
            addresses.add(images.data_ptr())
            assert _right(dataset, images, index)
            if number == 3:
                break
    assert len(addresses) < SLOTS


def test_a_fork_gives_nothing_back(dataset: BakedDataset) -> None:
    """A child that drops what it inherited frees no slot of the parent's."""
    loader = iter(DataLoader(dataset, 4, num_workers=1))
    images, _, index = next(loader)
    pid = os.fork()
    if pid == 0:
        del images
        gc.collect()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    for _ in loader:
        pass
    assert _right(dataset, images, index)


def test_without_memfd(dataset: BakedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    for images, _, index in DataLoader(dataset, 32, num_workers=2):
        assert _mapped() == 0
        assert _right(dataset, images, index)


def _no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container: /dev/shm has a megabyte."""
    real = os.statvfs

    def small(path: Any) -> os.statvfs_result:
        found = list(real(path))
        if str(path) == str(shm.SHM):
            found[1], found[4] = 1 << 20, 1
        return os.statvfs_result(found)

    monkeypatch.setattr(os, "statvfs", small)


def _to_tensor(picture: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(picture)).float()


@pytest.mark.parametrize("how", ["transform", "no memfd"])
def test_a_small_shm_is_said(dataset: BakedDataset, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    _no_room(monkeypatch)
    if how == "transform":
        dataset = dataset.with_(transform=_to_tensor)
    else:
        monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(Exception, match="docker run --shm-size"):
        list(DataLoader(dataset, 64, num_workers=2))
    assert len(list(DataLoader(dataset, 32, num_workers=2))) == ROWS // 32


def test_a_small_shm_is_enough_for_the_ring(dataset: BakedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    _no_room(monkeypatch)
    assert len(list(DataLoader(dataset, 64, num_workers=2))) == ROWS // 64
