"""What people do to a data set of their own: subclass it, set its attributes, sort its batches, bake it anew."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import bake
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, default_collate, random_split
from torchvision import transforms

from convert.errors import PrebakeError
from readers import CenterCrop, MemmapDataset, open_dataset


class WithPaths(MemmapDataset):
    """The well-known ImageFolderWithPaths, and a constructor of its own."""

    def __init__(self, root: Path, scale: int) -> None:
        super().__init__(root / "out", augment=[CenterCrop(8)])
        self.scale = scale

    def __getitem__(self, index: Any) -> Any:
        image, label = super().__getitem__(index)
        return image, label * self.scale, self.key(index)


@pytest.fixture(scope="module")
def root(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("subclass")
    bake(photos, root / "out", size=(16, 16))
    return root


@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_a_sample_is_what_the_subclass_says(root: Path, context: str | None) -> None:
    dataset = WithPaths(root, scale=1000)
    loader = DataLoader(dataset, batch_size=5, num_workers=2 if context else 0, multiprocessing_context=context)
    images, labels, keys = next(iter(loader))
    assert images.shape == (5, 3, 8, 8)
    assert labels.tolist() == [1000 * open_dataset(root / "out")[i][1] for i in range(5)]
    assert list(keys) == [dataset.key(i) for i in range(5)]


def test_attributes_travel(root: Path) -> None:
    dataset = WithPaths(root, scale=5)
    dataset.note = "mine"  # type: ignore[attr-defined]
    others: list[Any] = [pickle.loads(pickle.dumps(dataset)), copy.copy(dataset), copy.deepcopy(dataset), dataset.subset([1, 0])]
    for other in others:
        assert (type(other), other.scale, other.note) == (WithPaths, 5, "mine")
    assert dataset.subset([1, 0])[0][2] == dataset.key(1)


def test_transform_and_augment_can_be_set(root: Path) -> None:
    dataset = open_dataset(root / "out")
    part, _ = random_split(dataset, [0.5, 0.5])
    part.dataset.transform = transforms.Compose([transforms.Resize(4), transforms.ToTensor()])  # type: ignore[attr-defined]
    assert next(iter(DataLoader(part, batch_size=3)))[0].shape == (3, 3, 4, 4)
    dataset.transform = None
    dataset.augment = (step for step in [CenterCrop(6)])  # type: ignore[assignment]
    assert dataset.with_(return_index=True)[0][0].shape == pickle.loads(pickle.dumps(dataset))[0][0].shape == (3, 6, 6)
    with pytest.raises(PrebakeError, match="exclude"):
        dataset.transform = transforms.ToTensor()


def test_a_batch_is_a_real_list(root: Path) -> None:
    dataset = open_dataset(root / "out")

    def by_label(batch: list[Any]) -> Any:
        batch.sort(key=lambda sample: sample[1])
        return default_collate(batch)

    images, labels = next(iter(DataLoader(dataset, batch_size=20, collate_fn=by_label)))
    assert labels.tolist() == sorted(dataset[i][1] for i in range(20))
    plain = default_collate(dataset.__getitems__(range(20)))
    assert isinstance(plain, list)
    assert torch.equal(images.sum(), plain[0].sum())
    assert not torch.equal(images, plain[0])
    batches = DataLoader(dataset, batch_size=None, sampler=BatchSampler(RandomSampler(dataset), 4, drop_last=False))
    assert sum(len(images) for images, _ in batches) == len(dataset)


def test_a_relative_path_outlives_chdir(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    dataset = open_dataset("out")
    os.chdir("/")
    assert torch.equal(pickle.loads(pickle.dumps(dataset))[0][0], dataset[0][0])


def test_a_bake_made_anew_is_noticed(photos: Path, tmp_path: Path) -> None:
    bake(photos, tmp_path / "out", size=(8, 8), mean=(0.0,) * 3, std=(1.0,) * 3)
    data = pickle.dumps(open_dataset(tmp_path / "out"))
    first = open_dataset(tmp_path / "out").keys[:]
    manifest = bake(photos, tmp_path / "out", size=(8, 8), seed=5)  # in the same process, to the same place
    dataset = open_dataset(tmp_path / "out")
    assert manifest.mean == dataset.mean == (0.485, 0.456, 0.406)
    assert dataset.keys[:] != first
    bake(photos, tmp_path / "other", size=(8, 8), seed=5)
    for mine, other in zip(dataset, open_dataset(tmp_path / "other"), strict=True):
        assert torch.equal(mine[0], other[0])
    with pytest.raises(PrebakeError, match="baked anew"):
        pickle.loads(data)
