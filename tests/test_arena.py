"""The mapped range: many shards, damaged shards, threads, forks, and stock libraries at work on the same files."""

from __future__ import annotations

import dataclasses
import gc
import os
import pickle
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import lmdb
import numpy as np
import pytest
import torch
from conftest import bake
from damage import listed
from pictures import image_folder
from processes import holds_in_threads_and_a_fork

from convert.errors import PrebakeError
from convert.manifest import MANIFEST, Keys, read_manifest
from readers import CenterCrop, open_dataset

OPEN_MANY = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from readers import CenterCrop, open_dataset
dataset = open_dataset(sys.argv[1], io=sys.argv[2])
print(sum(label for _, label in dataset), len(dataset.__getitems__(range(len(dataset)))))
"""


def test_more_shards_than_descriptors(photos: Path, tmp_path: Path) -> None:
    manifest = bake(photos, tmp_path / "out", size=(8, 8), shards=30)
    copies = -(-2000 // len(manifest.shards))
    shards = [dataclasses.replace(shard, name=f"{copy}-{shard.name}") for copy in range(copies) for shard in manifest.shards]
    for shard in shards:
        (tmp_path / "out" / shard.name).hardlink_to(tmp_path / "out" / shard.name.split("-", 1)[1])
    targets = np.tile(np.load(tmp_path / "out" / "targets.npy"), copies)
    np.save(tmp_path / "out" / "targets.npy", targets)
    Keys.make(str(i) for i in range(len(targets))).save(tmp_path / "out")
    many = dataclasses.replace(manifest, shards=tuple(shards), count=copies * manifest.count)
    (tmp_path / "out" / MANIFEST).write_text(listed(tmp_path / "out", many, "keys.bin", "keys.npy", "targets.npy").to_json())
    for io in ("mmap", "pread"):
        words = [sys.executable, "-c", OPEN_MANY, str(tmp_path / "out"), io]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(targets.sum()), str(len(targets))]


Damage = Callable[[Path], None]


def _vanish(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 100)


def _grow(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


@pytest.mark.parametrize("damage", [_vanish, _cut, _grow])
def test_a_damaged_shard_is_named(baked: Path, tmp_path: Path, damage: Damage) -> None:
    shutil.copytree(baked, tmp_path / "copy")
    shard = read_manifest(baked).shards[1]
    first = read_manifest(baked).shards[0].count
    damage(tmp_path / "copy" / shard.name)
    dataset = open_dataset(tmp_path / "copy")
    assert torch.equal(dataset[0][0], open_dataset(baked)[0][0])
    with pytest.raises(PrebakeError) as caught:
        dataset.__getitems__([0, first + 2])
    for word in (shard.name, f"index {first + 2}", dataset.key(first + 2)):
        assert word in str(caught.value)


@pytest.mark.parametrize("offset", [-1, 1 << 40, (1 << 63) - 1])
def test_offsets_outside_of_a_shard_are_an_error(photos: Path, tmp_path: Path, offset: int) -> None:
    manifest = bake(photos, tmp_path / "out", "webdataset", size=(8, 8), shards=2)
    irregular = dataclasses.replace(manifest, shards=tuple(dataclasses.replace(s, first=None, stride=None) for s in manifest.shards))
    np.save(tmp_path / "out" / "offsets.npy", np.full(manifest.count, offset))
    (tmp_path / "out" / MANIFEST).write_text(listed(tmp_path / "out", irregular, "offsets.npy").to_json())
    with pytest.raises(PrebakeError, match="outside of shard"):
        _ = open_dataset(tmp_path / "out")[0]


def test_rows_at_uneven_distances(tmp_path: Path) -> None:
    """Long keys in a tar's .json members, and LMDB's pages, put rows where no stride leads."""
    image_folder(tmp_path / "source", {"a": 4, "b" * 200: 4})
    for number in range(4):
        long = tmp_path / "source" / "a" / ("x" * 200) / ("y" * 200) / ("z" * 200)
        long.mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / "source" / "a" / "0000.jpg", long / f"{number}.jpg")
    manifest = bake(tmp_path / "source", tmp_path / "tar", "webdataset", size=(8, 8), options={"with_keys": True})
    assert manifest.shards[0].stride is None
    assert (tmp_path / "tar" / "offsets.npy").exists()
    bake(tmp_path / "source", tmp_path / "plain", "memmap", size=(8, 8))
    bake(tmp_path / "source", tmp_path / "lmdb", "lmdb", size=(8, 8), dtype="float32")
    tar, plain, small = (open_dataset(tmp_path / name) for name in ("tar", "plain", "lmdb"))
    for i in range(len(plain)):
        assert torch.equal(tar[i][0], plain[i][0])
        assert np.array_equal(small.image(i), plain.image(i))
        assert torch.allclose(small[i][0], plain[i][0], atol=2e-3)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rows_at_odd_bytes(photos: Path, tmp_path: Path, dtype: str) -> None:
    manifest = bake(photos, tmp_path / "out", size=(8, 8), dtype=dtype, shards=1)
    shard = manifest.shards[0]
    data = (tmp_path / "out" / shard.name).read_bytes()
    (tmp_path / "out" / shard.name).write_bytes(b"!" + data)
    moved = dataclasses.replace(shard, bytes=shard.bytes + 1, first=129)
    (tmp_path / "out" / MANIFEST).write_text(dataclasses.replace(manifest, shards=(moved,)).to_json())
    rows = np.frombuffer(data[128:], dtype).reshape(-1, 8, 8, 3)
    for augment, part in (([], np.s_[:, :, :]), ([CenterCrop(4)], np.s_[:, 2:6, 2:6])):
        images = torch.stack([image for image, _ in open_dataset(tmp_path / "out", augment=augment)])
        assert np.array_equal(images.permute(0, 2, 3, 1).numpy(), rows[part].astype(np.float32))


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_threads_forks_and_stock_libraries_at_once(baked: Path, format: str) -> None:
    right = [image.clone() for image, _ in open_dataset(baked)]
    dataset = pickle.loads(pickle.dumps(open_dataset(baked)))
    _ = dataset[0]  # open before the fork, and twice in this process
    other = pickle.loads(pickle.dumps(dataset))
    gc.collect()
    before = _descriptors()
    shard = baked / read_manifest(baked).shards[0].name
    if format == "lmdb":
        stock: object = lmdb.open(str(shard), subdir=False, readonly=True, lock=False)
    elif format == "hdf5":
        stock = h5py.File(shard, "r")
    else:
        stock = np.memmap(shard, np.uint8, "r")

    def read(seed: int) -> bool:
        order = np.random.default_rng(seed).permutation(len(right)).tolist()
        samples = (dataset, other)[seed % 2].__getitems__(order)
        return all(torch.equal(samples[k][0], right[i]) for k, i in enumerate(order))

    holds_in_threads_and_a_fork(read, 64)
    if hasattr(stock, "close"):
        stock.close()
    del stock
    assert _descriptors() == before


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_opening_reserves_addresses_not_memory(photos: Path, tmp_path: Path, io: str) -> None:
    """Sparse shards that span 40 TB: the last row of each is right, and little memory is used."""
    manifest = bake(photos, tmp_path / "out", size=(8, 8), shards=5)
    huge, row = 10 << 40, 384
    far = []
    for shard in manifest.shards[1:]:
        path = tmp_path / "out" / shard.name
        stored = path.read_bytes()[128:]
        first = huge - shard.count * row
        os.truncate(path, huge)
        with path.open("rb+") as file:
            file.seek(first)
            file.write(stored)
        far.append(dataclasses.replace(shard, bytes=huge, first=first))
    changed = dataclasses.replace(manifest, shards=(manifest.shards[0], *far))
    (tmp_path / "out" / MANIFEST).write_text(changed.to_json())
    bake(photos, tmp_path / "plain", size=(8, 8), shards=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    dataset, plain = open_dataset(tmp_path / "out", io=io), open_dataset(tmp_path / "plain")
    samples = dataset.__getitems__(range(len(dataset)))
    assert all(torch.equal(image, plain[i][0]) for i, (image, _) in enumerate(samples))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_sizes_that_wrap_reach_no_memory(photos: Path, tmp_path: Path) -> None:
    manifest = bake(photos, tmp_path / "out", size=(8, 8), shards=1)
    huge = tuple(dataclasses.replace(manifest.shards[0], name=f"huge-{i}", count=0, bytes=1 << 62) for i in range(2))
    (tmp_path / "out" / MANIFEST).write_text(dataclasses.replace(manifest, shards=(*manifest.shards, *huge)).to_json())
    with pytest.raises(PrebakeError, match="address space"):
        open_dataset(tmp_path / "out")


def test_tables_that_are_damaged_are_named(photos: Path, tmp_path: Path) -> None:
    manifest = bake(photos, tmp_path / "out", size=(8, 8))
    (tmp_path / "out" / "samples.csv").write_text("edited in a spreadsheet")
    assert len(open_dataset(tmp_path / "out")) == manifest.count
    damages = {
        "targets.npy": np.full(manifest.count, 1_000_000),
        "keys.npy": np.zeros(manifest.count + 1, np.int64),
    }
    for name, table in damages.items():
        before = (tmp_path / "out" / name).read_bytes()
        np.save(tmp_path / "out" / name, table)
        with pytest.raises(PrebakeError, match="damaged, bake again"):
            _ = open_dataset(tmp_path / "out")[0]
        (tmp_path / "out" / name).write_bytes(b"\0" * len(before))
        with pytest.raises(PrebakeError, match="cannot be read"):
            open_dataset(tmp_path / "out")
        (tmp_path / "out" / name).write_bytes(before)
