"""Every format with every encoding, type and resize: our readers give what the stock library's bytes decode to, through every door."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import lmdb
import numpy as np
import numpy.typing as npt
import pytest
import torch
import webdataset
from conftest import bake
from epochs import same, samples
from PIL import Image

from convert.manifest import Manifest, read_manifest
from readers import CenterCrop, Loader, RandomHorizontalFlip, RandomResizedCrop, open_dataset

Array = npt.NDArray[Any]
KINDS: dict[str, dict[str, Any]] = {
    "uint8 short": {"dtype": "uint8", "resize": "short"},
    "float16 long": {"dtype": "float16", "resize": "long"},
    "gray float16 short": {"dtype": "float16", "resize": "short", "colour": "gray"},
    "jpeg center-crop": {"dtype": "uint8", "encoding": "jpeg", "subsampling": "444"},
    "jpeg short": {"dtype": "uint8", "encoding": "jpeg", "resize": "short"},
    "jpeg passthrough short": {"dtype": "uint8", "encoding": "jpeg", "resize": "short", "passthrough": True},
    "gray jpeg pad": {"dtype": "uint8", "encoding": "jpeg", "resize": "pad", "colour": "gray"},
}


def stock(path: Path, format: str) -> Iterator[Any]:
    """Each row of a shard as the format's own library gives it: bytes, or an array."""
    if format == "memmap":
        yield from np.load(path, mmap_mode="r")
    elif format == "lmdb":
        with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
            yield from (bytes(value) for key, value in txn.cursor() if bytes(key).decode().isdigit())
    elif format == "hdf5":
        with h5py.File(path, "r") as file:
            yield from file["images"][:]
    else:
        for sample in webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False):
            yield sample["jpg"] if "jpg" in sample else np.load(io.BytesIO(sample["npy"]))


def rows_of(out: Path, manifest: Manifest) -> list[Array]:
    """All rows as levels (H, W, C), by stock libraries, NumPy and Pillow alone."""
    sizes = np.load(out / "sizes.npy") if manifest.shape is None else np.tile(manifest.shape[:2], (manifest.count, 1))
    found = [row for shard in manifest.shards if shard.count for row in stock(out / shard.name, manifest.format)]
    if manifest.format == "memmap" and (manifest.shape is None or manifest.encoding == "jpeg"):
        found = end_to_end(out, manifest, sizes)
    pictures = []
    for row, size in zip(found, sizes.tolist(), strict=True):
        if manifest.encoding == "jpeg":
            picture = np.asarray(Image.open(io.BytesIO(row if isinstance(row, bytes) else row.tobytes())))
        else:
            picture = np.frombuffer(row, manifest.row) if isinstance(row, bytes) else row
        picture = picture.reshape(*size, manifest.channels)
        pictures.append(picture if manifest.encoding == "jpeg" else manifest.to_levels(picture))
    return pictures


def end_to_end(out: Path, manifest: Manifest, sizes: Array) -> list[Array]:
    lengths = np.load(out / "lengths.npy") if manifest.encoding == "jpeg" else sizes.astype(np.int64).prod(axis=1) * manifest.channels
    found, first = list[Array](), 0
    for shard in manifest.shards:
        if shard.count:
            ends = lengths[first : first + shard.count].cumsum()
            found += np.split(np.load(out / shard.name), ends)[:-1]
            first += shard.count
    return found


@pytest.fixture(scope="module", params=KINDS)
def out(request: pytest.FixtureRequest, photos: Path, format: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds") / "out"
    bake(photos, folder, format, size=(48, 48), shards=3, **KINDS[request.param])
    return folder


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_every_door_gives_the_rows(out: Path, io: str) -> None:
    manifest = read_manifest(out)
    levels = rows_of(out, manifest)
    dataset = open_dataset(out, io=io, return_index=True)
    assert len(dataset) == len(levels) == 30
    assert dataset.sizes.tolist() == [list(picture.shape[:2]) for picture in levels]
    seen = dataset.with_(transform=np.asarray)
    mean, std = np.array(dataset.mean), np.array(dataset.std)
    tolerance = {"float16": 2e-3}.get(manifest.dtype, 2e-6)
    for i, right in enumerate(levels):
        assert np.array_equal(dataset.image(i), right)
        assert np.array_equal(seen[i][0].reshape(right.shape), right)
        values = torch.from_numpy((right / 255 - mean) / std).permute(2, 0, 1)
        torch.testing.assert_close(dataset[i][0].double(), values, atol=tolerance, rtol=tolerance)
    whole = dataset.with_(augment=[CenterCrop(min(min(picture.shape[:2]) for picture in levels))], pixels="uint8")
    for image, i in samples(Loader(whole, 7, shuffle=True)):
        assert torch.equal(image, whole[i][0])


def test_threads_resumes_and_doors_change_nothing(out: Path) -> None:
    steps = [RandomResizedCrop(24), RandomHorizontalFlip()]
    dataset = open_dataset(out, augment=steps, return_index=True)
    right = samples(Loader(dataset, 4, shuffle=True, threads=1))
    assert same(samples(Loader(open_dataset(out, augment=steps, return_index=True, io="pread"), 9, shuffle=True, threads=2)), right)
    loader, rest = (Loader(dataset, 4, shuffle=True, threads=2) for _ in range(2))
    with loader:
        next(iter(loader))
        rest.load_state_dict(loader.state_dict())
    assert same(samples(rest), right[4:])


def test_every_format_makes_the_same_batches(photos: Path, tmp_path: Path) -> None:
    """For JPEG rows of any size: the same draws, order and pixels, also in quasi order, whose blocks follow the stored lengths."""
    found = []
    for name in ("memmap", "lmdb", "hdf5", "webdataset"):
        bake(photos, tmp_path / name, name, size=(48, 48), shards=3, **KINDS["jpeg short"])
        dataset = open_dataset(tmp_path / name, augment=[RandomResizedCrop(24)], return_index=True)
        loader = Loader(dataset, 4, order="quasi")
        found.append((samples(loader), loader.state_dict()))
    assert all(same(some, found[0][0]) and state == found[0][1] for some, state in found)
