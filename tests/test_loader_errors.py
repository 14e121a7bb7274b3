"""A Loader's errors: they come at the right batch, name what is lost, and end the threads."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import bake
from epochs import ended, used_up

from convert.errors import PrebakeError
from readers import Loader, open_dataset


@pytest.mark.parametrize("cut", [False, True])
def test_a_lost_shard_is_named_at_its_batch(baked: Path, tmp_path: Path, cut: bool) -> None:
    copy = shutil.copytree(baked, tmp_path / "copy")
    dataset = open_dataset(copy)
    shard = sorted(copy.glob("shard-*"))[1]
    first = dataset._rows.manifest.shards[0].count  # noqa: SLF001
    if cut:
        os.truncate(shard, shard.stat().st_size - 4096)
    else:
        shard.unlink()
    loader = Loader(dataset, 2, prefetch=8)
    iterator = iter(loader)
    for _ in range(first // 2):
        next(iterator)
    with pytest.raises(PrebakeError, match=rf"{shard.name}.*key {dataset.key(first)[:3]}.*index {first}"):
        next(iterator)
    ended()
    with pytest.raises(StopIteration):
        next(iterator)
    assert loader.state_dict()["samples"] == first // 2 * 2


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_a_shard_that_changes_between_epochs_is_seen(baked: Path, tmp_path: Path, io: str) -> None:
    copy = shutil.copytree(baked, tmp_path / "copy")
    dataset = open_dataset(copy, io=io)
    loader, last = Loader(dataset, 4), len(dataset) - 1
    used_up(loader)
    shard = sorted(copy.glob("shard-*"))[2]
    data = shard.read_bytes()
    shard.unlink()
    with pytest.raises(PrebakeError, match=shard.name):
        used_up(loader)
    shard.write_bytes(bytes(len(data)))
    with pytest.warns(UserWarning, match=shard.name):
        used_up(loader)
    assert not dataset[last][0].any()
    shard.write_bytes(data)
    with pytest.warns(UserWarning, match=shard.name):
        used_up(loader)
    assert dataset[last][0].any()


def test_a_function_that_stops_iteration_does_not_end_the_epoch(baked: Path) -> None:
    def stop(images: torch.Tensor) -> torch.Tensor:
        del images
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        used_up(Loader(open_dataset(baked, augment=[stop]), 4))
    ended()


def test_a_label_of_no_class_is_named(photos: Path, tmp_path: Path) -> None:
    bake(photos, tmp_path / "out", size=(16, 16))
    labels = np.load(tmp_path / "out" / "targets.npy")
    labels[9] = 77
    np.save(tmp_path / "out" / "targets.npy", labels)
    iterator = iter(Loader(open_dataset(tmp_path / "out"), 4))
    next(iterator), next(iterator)
    with pytest.raises(PrebakeError, match=r"label 77.*index 9"):
        next(iterator)
    ended()
