"""`io="pread"`: the same rows by plain reads, with few descriptors, and errors where a map would kill the process."""

from __future__ import annotations

import errno
import functools
import gc
import mmap
import os
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import bake
from processes import holds_in_threads_and_a_fork
from torch.utils.data import DataLoader

from convert.errors import PrebakeError
from convert.manifest import read_manifest
from readers import BakedDataset, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip, files, open_dataset


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _same(dataset: BakedDataset, right: BakedDataset, seed: int) -> bool:
    order = np.random.default_rng(seed).permutation(len(right)).tolist()
    return all(torch.equal(dataset[i][0], right[i][0]) for i in order)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_pixels_are_those_of_the_map(photos: Path, format: str, dtype: str, tmp_path: Path) -> None:
    bake(photos, tmp_path / "out", format, size=(24, 20), dtype=dtype, shards=3)
    augment = [RandomCrop((17, 13)), RandomHorizontalFlip(), RandomVerticalFlip()]
    mapped = open_dataset(tmp_path / "out", augment=augment)
    read = open_dataset(tmp_path / "out", augment=augment, io="pread")
    order = np.random.default_rng(0).permutation(len(read)).tolist()
    torch.manual_seed(5)
    right, labels = torch.utils.data.default_collate(mapped.__getitems__(order))
    torch.manual_seed(5)
    found, again = torch.utils.data.default_collate(read.__getitems__(order))
    assert torch.equal(found, right)
    assert torch.equal(labels, again)
    assert all(np.array_equal(read.image(i), mapped.image(i)) for i in order)
    assert list(read.keys) == list(mapped.keys)


def test_nothing_is_mapped(baked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copytree(baked, tmp_path / "copy")
    dataset = open_dataset(copy, io="pread")
    _ = dataset[0], dataset.keys[1], dataset.targets
    assert str(copy) not in Path("/proc/self/maps").read_text()
    expected = open_dataset(copy).column("key").tolist()

    class Never(mmap.mmap):
        def __new__(cls, *_: object, **_options: object) -> Never:
            raise AssertionError("mapped")

    monkeypatch.setattr(mmap, "mmap", Never)
    assert dataset.column("key").tolist() == expected


def test_threads_forks_pickles_and_workers(baked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = open_dataset(baked, io="pread", return_index=True)
    right = [image.clone() for image, *_ in open_dataset(baked)]

    def read(seed: int) -> bool:
        order = np.random.default_rng(seed).permutation(len(right)).tolist()
        return all(torch.equal(sample[0], right[i]) for sample, i in zip(dataset.__getitems__(order), order, strict=True))

    holds_in_threads_and_a_fork(read, 48)
    for context in ("fork", "spawn"):
        for images, _, index in DataLoader(dataset, 8, num_workers=2, multiprocessing_context=context):
            assert all(torch.equal(image, right[i]) for image, i in zip(images, index.tolist(), strict=True))
    other = pickle.loads(pickle.dumps(dataset))
    assert torch.equal(other[1][0], right[1])
    monkeypatch.setattr(os, "preadv", None)
    with pytest.raises(TypeError):
        _ = other[1]


def test_few_descriptors_and_none_left(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More shards than stay open, from many threads at once: right pixels, and all closed with the data set."""
    bake(photos, tmp_path / "few", size=(8, 8), shards=1)
    bake(photos, tmp_path / "many", size=(8, 8), shards=len(list(photos.rglob("*.jpg"))))
    monkeypatch.setattr(files, "OPEN", 4)
    right = BakedDataset(tmp_path / "few")
    gc.collect()
    before = _descriptors()
    dataset = BakedDataset(tmp_path / "many", io="pread")
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(functools.partial(_same, dataset, right), range(32)))
    assert before <= _descriptors() <= before + 4
    del dataset, pool
    gc.collect()
    assert _descriptors() == before


@pytest.mark.parametrize("damage", ["vanished", "cut", "cut while open", "broken"])
def test_errors_name_shard_key_and_index(baked: Path, tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(baked, tmp_path / "copy")
    manifest = read_manifest(baked)
    shard, first = manifest.shards[1], manifest.shards[0].count
    dataset = open_dataset(tmp_path / "copy", io="pread")
    path = tmp_path / "copy" / shard.name
    if damage == "cut while open":
        _ = dataset[first]
    if damage == "vanished":
        path.unlink()
    elif damage == "broken":

        def fail(*_: object) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, "preadv", fail)
    else:
        os.truncate(path, 1000)
    with pytest.raises(PrebakeError) as caught:
        dataset.__getitems__([first + 2])
    for word in (shard.name, f"index {first + 2}", dataset.key(first + 2)):
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_other_word(baked: Path) -> None:
    with pytest.raises(PrebakeError, match="'pread' for network"):
        open_dataset(baked, io="read")
