"""A data set by itself: samples, what it knows of them, parts of it, the door for old transforms, and its refusals."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import bake
from PIL import Image
from torchvision import datasets, transforms

import readers
from convert.errors import PrebakeError
from readers import CenterCrop, RandomCrop, RandomHorizontalFlip, open_dataset


def test_what_it_knows_is_what_imagefolder_knows(photos: Path, baked: Path) -> None:
    folder, dataset = datasets.ImageFolder(str(photos)), open_dataset(baked)
    right = {str(Path(path).relative_to(photos)): label for path, label in folder.samples}
    assert dataset.classes == folder.classes
    assert dataset.class_to_idx == folder.class_to_idx
    assert {key: int(label) for key, label in zip(dataset.keys, np.array(dataset.targets), strict=True)} == right
    assert dataset.labels is dataset.targets
    assert dataset.class_counts.tolist() == np.bincount(folder.targets).tolist()
    assert dataset.key(3) == dataset.keys[3]
    assert len(dataset) == len(folder)


def test_eval_input_is_torchvisions(photos: Path, tmp_path: Path) -> None:
    bake(photos, tmp_path / "out", size=(64, 64))
    dataset = open_dataset(tmp_path / "out", augment=[CenterCrop(56)])
    plain = open_dataset(tmp_path / "out")
    oracle = transforms.Compose([transforms.Resize(64), transforms.CenterCrop(56)])
    for i in range(len(dataset)):
        level = np.asarray(oracle(Image.open(photos / dataset.key(i)).convert("RGB")))
        image = dataset[i][0].numpy().transpose(1, 2, 0)
        recovered = np.rint((image * np.array(dataset.std) + np.array(dataset.mean)) * 255)
        assert np.array_equal(recovered, level)
        assert np.array_equal(plain.image(i)[4:60, 4:60], level)


def test_an_imagefolder_transform_works_unchanged(photos: Path, baked: Path) -> None:
    steps = transforms.Compose([transforms.CenterCrop(48), transforms.ToTensor(), transforms.Normalize((0.4,) * 3, (0.2,) * 3)])
    seen: list[tuple[str, tuple[int, int]]] = []

    def watch(picture: Image.Image) -> torch.Tensor:
        seen.append((picture.mode, picture.size))
        return torch.as_tensor(steps(picture))

    dataset = open_dataset(baked, transform=watch)
    for i in range(len(dataset)):
        source = transforms.Compose([transforms.Resize(64), transforms.CenterCrop(64)])(Image.open(photos / dataset.key(i)).convert("RGB"))
        assert torch.equal(dataset[i][0], steps(source))
    assert set(seen) == {("RGB", (64, 64))}


def test_images_are_the_callers_own(baked: Path) -> None:
    before = {path.name: path.read_bytes() for path in baked.iterdir()}
    dataset = open_dataset(baked)
    dataset[0][0].zero_()
    dataset.__getitems__([0, 1])[0][0].zero_()
    dataset.image(0)[:] = 0
    assert dataset.targets is not None
    dataset.targets[:] = 0
    assert {path.name: path.read_bytes() for path in baked.iterdir()} == before
    assert dataset[0][0].abs().sum() > 0


@pytest.mark.parametrize("touched", [False, True])
def test_pickles_and_copies_carry_no_address(baked: Path, touched: bool) -> None:
    dataset = open_dataset(baked, augment=[CenterCrop(32)], return_index=True).subset([4, 2, 2])
    if touched:
        _ = dataset[0]
    data = pickle.dumps(dataset)
    assert len(data) < 2000
    for other in (pickle.loads(data), copy.deepcopy(dataset), copy.copy(dataset)):
        assert type(other) is type(dataset)
        assert [s[1:] for s in other] == [s[1:] for s in dataset]
        assert all(torch.equal(a[0], b[0]) for a, b in zip(other, dataset, strict=True))


def test_parts(baked: Path) -> None:
    dataset = open_dataset(baked, augment=[RandomHorizontalFlip()])
    first, second = dataset.split(0.7, seed=3, stratify=True)
    assert sorted([*first.keys, *second.keys]) == sorted(dataset.keys)
    assert len(first) == round(0.7 * len(dataset))
    plain = second.with_(augment=None)
    assert torch.equal(plain[0][0], plain[0][0])
    assert plain.key(0) == second.key(0) == second.keys[0]
    assert np.array_equal(np.array(plain.targets), [label for _, label in plain])
    mask = np.asarray(dataset.targets) == 1
    assert set(dataset.subset(mask).targets.tolist()) == {1}  # type: ignore[union-attr]
    assert dataset.subset([-1]).key(0) == dataset.key(len(dataset) - 1)
    assert open_dataset(baked, return_index=True).subset([5, 3])[1][2] == 1


def test_indices_are_those_of_a_list(baked: Path) -> None:
    dataset = open_dataset(baked)
    last = len(dataset) - 1
    assert torch.equal(dataset[-1][0], dataset[np.int64(last)][0])
    assert torch.equal(dataset[torch.tensor(last)][0], dataset[last][0])
    for wrong in (last + 1, -last - 2):
        with pytest.raises(IndexError):
            dataset[wrong]
        with pytest.raises(IndexError):
            dataset.__getitems__([0, wrong])
    with pytest.raises(TypeError):
        dataset[0.5]  # type: ignore[index]
    assert len(list(dataset)) == len(dataset)


def test_a_flat_folder_has_no_labels(photos: Path, format: str, tmp_path: Path) -> None:
    folder = min(path for path in photos.iterdir() if path.is_dir())
    manifest = bake(folder, tmp_path / "out", format, size=(32, 32))
    assert manifest.target.kind == "none"
    assert not (tmp_path / "out" / "targets.npy").exists()
    dataset = open_dataset(tmp_path / "out")
    assert dataset.targets is None
    assert isinstance(dataset[0], torch.Tensor)
    assert torch.utils.data.default_collate(list(dataset.__getitems__([0, 1]))).shape == (2, 3, 32, 32)
    with pytest.raises(PrebakeError, match="no labels"):
        _ = dataset.class_counts


def test_the_wrong_class_names_the_right_one(baked: Path, format: str) -> None:
    kinds = {"lmdb": "LmdbDataset", "hdf5": "Hdf5Dataset", "webdataset": "TarDataset", "memmap": "MemmapDataset"}
    assert type(open_dataset(baked)).__name__ == kinds[format]
    for other, name in kinds.items():
        if other == format:
            assert len(getattr(readers, name)(baked)) > 0
        else:
            with pytest.raises(PrebakeError, match=f"use {kinds[format]}"):
                getattr(readers, name)(baked)


def test_refusals(baked: Path, photos: Path, tmp_path: Path) -> None:
    with pytest.raises(PrebakeError, match="never moves"):
        open_dataset(baked, augment=[RandomCrop(64)])
    with pytest.raises(PrebakeError, match="transform="):
        open_dataset(baked, augment=[transforms.ColorJitter()])
    with pytest.raises(PrebakeError, match="exclude each other"):
        open_dataset(baked, augment=[CenterCrop(8)], transform=transforms.ToTensor())
    with pytest.raises(PrebakeError, match='floating types; for whole levels, open with pixels="uint8"'):
        open_dataset(baked, dtype=torch.uint8)
    bake(photos, tmp_path / "other", size=(16, 16), mean=(0.5, 0.5, 0.5))
    with pytest.raises(PrebakeError, match="other mean"):
        open_dataset(tmp_path / "other", like=open_dataset(baked))
    with pytest.raises(PrebakeError, match="not a bake"):
        open_dataset(photos)
