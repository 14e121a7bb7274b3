"""A plain torch DataLoader over every format: any collate, any sampler, fork and spawn, and honest randomness."""

from __future__ import annotations

import functools
import gc
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    Subset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)
from torchvision.transforms import v2

from readers import CenterCrop, RandomCrop, RandomHorizontalFlip, open_dataset


def _seen(loader: DataLoader[Any]) -> dict[int, torch.Tensor]:
    """Images by index."""
    return {int(i): image for images, _, index in loader for i, image in zip(index, images, strict=True)}


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_workers_hand_out_the_same_pictures(baked: Path, context: str) -> None:
    dataset = open_dataset(baked, augment=[CenterCrop(48)], return_index=True)
    plain = {i: dataset[i] for i in range(len(dataset))}  # opened and touched before the workers start
    loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=2, multiprocessing_context=context)
    images, labels, index = next(iter(loader))
    assert images.shape == (8, 3, 48, 48)
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert labels.dtype == index.dtype == torch.int64
    seen = _seen(loader)
    assert sorted(seen) == sorted(plain)
    assert all(torch.equal(seen[i], plain[i][0]) for i in plain)
    assert all(int(label) == plain[int(i)][1] for label, i in zip(labels, index, strict=True))


def _list_collate(batch: Any) -> tuple[list[torch.Tensor], list[int]]:
    images, labels = zip(*batch, strict=True)
    return list(images), list(labels)


def _mixup(batch: Any, classes: int) -> Any:
    return v2.MixUp(num_classes=classes)(*default_collate(batch))


def test_any_collate_sees_a_list_of_samples(baked: Path) -> None:
    dataset = open_dataset(baked)
    images, labels = next(iter(DataLoader(dataset, batch_size=4, collate_fn=_list_collate)))
    assert [image.shape for image in images] == [(3, 64, 64)] * 4
    assert labels == [dataset[i][1] for i in range(4)]
    mixed, soft = next(
        iter(DataLoader(dataset, batch_size=4, collate_fn=functools.partial(_mixup, classes=len(dataset.classes)), num_workers=1))
    )
    assert mixed.shape == (4, 3, 64, 64)
    assert torch.allclose(soft.sum(1), torch.ones(4))
    short = next(iter(DataLoader(dataset, batch_size=4, collate_fn=lambda batch: default_collate(batch[:2]))))
    assert torch.equal(short[0], torch.stack([dataset[0][0], dataset[1][0]]))
    kept = next(iter(DataLoader(dataset, batch_size=4, collate_fn=lambda batch: batch)))
    assert len(kept) == 4
    assert torch.equal(kept[1][0], dataset[1][0])


def test_samplers_and_wrappers(baked: Path) -> None:
    dataset = open_dataset(baked, return_index=True)
    count = len(dataset)
    assert sorted(_seen(DataLoader(Subset(dataset, [5, 1]), batch_size=2))) == [1, 5]
    parts = random_split(dataset, [0.5, 0.5], generator=torch.Generator().manual_seed(0))
    both = [_seen(DataLoader(part, batch_size=4)) for part in parts]
    assert sorted([*both[0], *both[1]]) == list(range(count))
    ranks: list[DistributedSampler[Any]] = [DistributedSampler(dataset, num_replicas=2, rank=rank) for rank in range(2)]
    assert set().union(*(_seen(DataLoader(dataset, batch_size=4, sampler=sampler)) for sampler in ranks)) == set(range(count))
    assert dataset.targets is not None
    weights = (dataset.targets == 1).astype(float)
    for _, labels, _ in DataLoader(dataset, batch_size=4, sampler=WeightedRandomSampler(weights.tolist(), 20)):
        assert set(labels.tolist()) == {1}
    joined: ConcatDataset[Any] = ConcatDataset([dataset, dataset])
    assert sum(len(images) for images, _, _ in DataLoader(joined, batch_size=7)) == 2 * count
    assert sum(len(images) for images, _, _ in DataLoader(dataset, batch_size=1000)) == count
    assert [len(images) for images, _, _ in DataLoader(dataset, batch_size=count - 1)] == [count - 1, 1]


def _epochs(dataset: Any, seed: int, persistent: bool) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    loader = DataLoader(dataset, batch_size=4, num_workers=2, persistent_workers=persistent)
    return [torch.cat([images for images, _ in loader]) for _ in range(2)]


@pytest.mark.parametrize("persistent", [False, True])
def test_crops_are_new_each_epoch_and_follow_the_seed(baked: Path, persistent: bool) -> None:
    dataset = open_dataset(baked, augment=[RandomCrop(40), RandomHorizontalFlip()]).subset([0] * 32)
    first, again, other = (_epochs(dataset, seed, persistent) for seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[0], other[0])
    # 2 * 25 * 25 windows: 32 draws from two workers that shared their random numbers would meet in pairs
    assert len({image.numpy().tobytes() for image in first[0]}) > 28


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_nothing_is_left_open(baked: Path) -> None:
    dataset = open_dataset(baked)
    for _ in DataLoader(dataset, batch_size=8, num_workers=2):
        pass
    gc.collect()
    before = _descriptors()
    for _ in range(3):
        for _ in DataLoader(dataset, batch_size=8, num_workers=2):
            pass
        other = open_dataset(baked)
        _ = other[0]
        del other
    gc.collect()
    assert _descriptors() <= before
    assert not multiprocessing.active_children()
