"""Targets that are values: every stock library reads them, and so do our readers, through all that torch does with samples."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import h5py
import lmdb
import numpy as np
import pytest
import torch
import webdataset
from torch.utils.data import ConcatDataset, DataLoader, Subset, default_collate
from torchvision.transforms import v2

from convert.errors import PrebakeError
from convert.manifest import Manifest, Target
from convert.request import Request
from convert.resolve import resolve
from convert.run import carry_out
from convert.tasks import Crew
from readers import BakedDataset, CenterCrop, open_dataset

COLUMNS = ("age", "height", "käse")


def bake_values(source: Path, out: Path, format: str, columns: tuple[str, ...] = COLUMNS) -> tuple[Manifest, dict[str, list[float]]]:
    """Bake with values for each picture, some unknown; also returns them, by key."""
    plan, scanned = resolve(Request(source=source, out=None, format=format, recipe={"size": (16, 16)}, shards=3))
    values = np.random.default_rng(0).normal(0, 100, (len(scanned.keys), len(columns))).astype(np.float32)
    values[::5, 0] = np.nan
    values[1], values[2, -1] = 0, 3e38
    plan = dataclasses.replace(plan, target=Target("values", len(columns)), targets=values, classes=columns)
    manifest = carry_out(plan, out, Crew(1, "serial", quiet=True), preview=False).manifest
    return manifest, dict(zip(scanned.keys, values.tolist(), strict=True))


@pytest.fixture(scope="module")
def valued(photos: Path, format: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray[Any, Any]]:
    """A bake with values, and the values of its rows (N, 3)."""
    out = tmp_path_factory.mktemp("values") / "out"
    _, values = bake_values(photos, out, format)
    return out, np.array([values[key] for key in open_dataset(out).keys], np.float32)


def _same(a: Any, b: Any) -> bool:
    return np.array_equal(np.asarray(a, np.float32), np.asarray(b, np.float32), equal_nan=True)


def _memmap(folder: Path, shards: list[Path]) -> list[Any]:
    assert all(np.load(path, mmap_mode="r").ndim == 4 for path in shards)
    return list(np.load(folder / "targets.npy"))


def _lmdb(_: Path, shards: list[Path]) -> list[Any]:
    found = []
    for path in shards:
        with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
            texts = [bytes(value).decode() for key, value in txn.cursor() if bytes(key).startswith(b"label:")]
        assert "NaN" not in "".join(texts)
        found += [[float("nan") if value is None else value for value in json.loads(text)] for text in texts]
    return found


def _hdf5(_: Path, shards: list[Path]) -> list[Any]:
    found: list[Any] = []
    for path in shards:
        with h5py.File(path) as file:
            assert file["targets"].dtype == np.float32
            assert file["targets"].shape == (len(file["images"]), 3)
            found += list(file["targets"][:])
    return found


def _webdataset(_: Path, shards: list[Path]) -> list[Any]:
    samples = list(webdataset.WebDataset([str(path) for path in shards], shardshuffle=False).decode())
    assert all("cls" not in sample for sample in samples)
    return [[float("nan") if value is None else value for value in sample["json"]["target"]] for sample in samples]


STOCK = {"memmap": _memmap, "lmdb": _lmdb, "hdf5": _hdf5, "webdataset": _webdataset}


def test_stock_libraries_read_the_values(valued: tuple[Path, np.ndarray[Any, Any]], format: str) -> None:
    folder, values = valued
    manifest = open_dataset(folder).manifest
    assert (manifest.target, manifest.classes) == (Target("values", 3), COLUMNS)
    assert _same(STOCK[format](folder, [folder / shard.name for shard in manifest.shards]), values)


def _labels_last(batch: Any) -> tuple[torch.Tensor, list[Any]]:
    return torch.stack([sample[0] for sample in batch]), [tuple(sample[1:]) for sample in batch]


def test_samples_and_batches(valued: tuple[Path, np.ndarray[Any, Any]]) -> None:
    folder, values = valued
    dataset = open_dataset(folder, return_index=True, augment=[CenterCrop(8)])
    assert "3 values" in repr(dataset)
    assert dataset.classes == list(COLUMNS)
    assert dataset.targets is not None
    assert dataset.targets.dtype == np.float32
    assert _same(dataset.targets, values)
    image, value, index = dataset[4]
    assert (image.shape, value.dtype, value.shape, index) == ((3, 8, 8), torch.float32, (3,), 4)
    assert _same(value, values[4])
    count = len(dataset)
    for workers in (0, 2):
        wrapped: list[Any] = [
            dataset,
            Subset(dataset, range(count)),
            ConcatDataset([dataset.subset(range(7)), dataset.subset(range(7, count))]),
        ]
        for parts in wrapped:
            batches = list(DataLoader(parts, batch_size=7, num_workers=workers))
            assert all(batch[1].dtype == torch.float32 and batch[1].shape == (len(batch[0]), 3) for batch in batches)
            assert _same(torch.cat([batch[1] for batch in batches]), values)
        collated = list(DataLoader(dataset, batch_size=7, num_workers=workers, collate_fn=_labels_last))
        assert _same(torch.stack([value for _, samples in collated for value, _ in samples]), values)
        assert [index for _, samples in collated for _, index in samples] == list(range(count))


def test_a_batch_is_what_its_samples_are(valued: tuple[Path, np.ndarray[Any, Any]]) -> None:
    folder, values = valued
    dataset = open_dataset(folder)
    ready, one_by_one = default_collate(dataset.__getitems__([3, 0, -1])), default_collate([dataset[3], dataset[0], dataset[-1]])
    sorted_after = dataset.__getitems__([3, 0, -1])
    sorted_after.reverse()
    for batch in (ready, one_by_one, [column.flip(0) for column in default_collate(sorted_after)], dataset[[3, 0, -1]]):
        assert torch.equal(batch[0], ready[0])
        assert _same(batch[1], values[[3, 0, -1]])
    mixed = v2.Compose([v2.ToDtype(torch.float16)])(*ready)
    assert _same(mixed[1], ready[1])


def test_values_are_the_callers_own(valued: tuple[Path, np.ndarray[Any, Any]]) -> None:
    folder, values = valued
    dataset = open_dataset(folder)
    dataset[0][1].zero_()
    dataset.__getitems__([0, 1])[0][1].zero_()
    assert dataset.targets is not None
    dataset.targets[:] = 0
    assert _same(dataset[0][1], values[0])
    assert _same(np.load(folder / "targets.npy"), values)


def test_pickles_parts_and_transforms(valued: tuple[Path, np.ndarray[Any, Any]]) -> None:
    folder, values = valued
    part = open_dataset(folder, transform=v2.PILToTensor()).subset([5, 1])
    again = pickle.loads(pickle.dumps(part))
    assert _same(again.targets, values[[5, 1]])
    assert _same(torch.stack([value for _, value in again]), values[[5, 1]])
    first, second = open_dataset(folder).split(0.5, seed=1)
    assert _same(np.sort(np.concatenate([first.targets, second.targets]), 0), np.sort(values, 0))


def test_one_column_stays_a_column(photos: Path, format: str, tmp_path: Path) -> None:
    bake_values(photos, tmp_path / "out", format, ("age",))
    dataset = open_dataset(tmp_path / "out")
    assert dataset[0][1].shape == (1,)
    assert next(iter(DataLoader(dataset, batch_size=4)))[1].shape == (4, 1)
    assert "1 value)" in repr(dataset)


def test_what_needs_classes_says_so(valued: tuple[Path, np.ndarray[Any, Any]], photos: Path, tmp_path: Path) -> None:
    dataset = open_dataset(valued[0])
    for ask in (lambda: dataset.class_counts, lambda: dataset.split(0.5, stratify=True)):
        with pytest.raises(PrebakeError, match=r"has 3 values for each picture, and no class"):
            ask()
    bake_values(photos, tmp_path / "other", "memmap", ("age", "weight"))
    with pytest.raises(PrebakeError, match=r"other has other columns of values than .*3 values\)"):
        open_dataset(tmp_path / "other", like=dataset)


def test_values_and_classes_are_not_alike(baked: Path, valued: tuple[Path, np.ndarray[Any, Any]]) -> None:
    with pytest.raises(PrebakeError, match="has other targets than"):
        open_dataset(baked, like=valued[0])
    assert isinstance(open_dataset(valued[0], like=valued[0]), BakedDataset)
