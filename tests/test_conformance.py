"""Every format that the registry lists: stock libraries read the right pixels and labels, and so do our readers."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stock
import torch
from conftest import bake
from PIL import Image, ImageOps
from torchvision import datasets, transforms

from convert.manifest import Manifest, read_manifest
from convert.registry import format_names
from readers import open_dataset

MEAN, STD = (0.1, 0.5, 0.9), (0.5, 0.25, 0.2)


def test_every_format_has_a_stock_reader() -> None:
    assert set(format_names()) == set(stock.READ)


def _oracle(photos: Path, keys: list[str], size: int) -> list[np.ndarray[Any, Any]]:
    """What torchvision makes of the sources, as 8-bit levels."""
    resize = transforms.Compose([transforms.Resize(size), transforms.CenterCrop(size)])
    return [np.asarray(resize(ImageOps.exif_transpose(Image.open(photos / key)).convert("RGB"))) for key in keys]


def _stock_rows(out: Path, manifest: Manifest) -> stock.Rows:
    images: list[Any] = []
    labels: list[int] = []
    for shard in manifest.shards:
        some, targets = stock.READ[manifest.format](out / shard.name, manifest.dtype, manifest.shape or ())
        assert len(some) == shard.count
        images += some
        labels += targets
    return images, labels


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_stock_libraries_read_the_right_rows(photos: Path, format: str, dtype: str, tmp_path: Path) -> None:
    manifest = bake(photos, tmp_path / "out", format, size=(64, 64), dtype=dtype, mean=MEAN, std=STD, shards=3)
    images, labels = _stock_rows(tmp_path / "out", manifest)
    with (tmp_path / "out" / "samples.csv").open(newline="") as file:
        samples = list(csv.DictReader(file))
    levels = _oracle(photos, [sample["key"] for sample in samples], 64)
    folder = datasets.ImageFolder(str(photos))
    right = {str(Path(path).relative_to(photos)): label for path, label in folder.samples}
    targets = np.load(tmp_path / "out" / "targets.npy")
    assert len(images) == len(samples) == len(folder) == manifest.count
    assert manifest.classes == tuple(folder.classes)
    assert targets.tolist() == [right[sample["key"]] for sample in samples] == [int(sample["label"]) for sample in samples]
    assert labels in ([], targets.tolist())
    for image, level in zip(images, levels, strict=True):
        if dtype == "uint8":
            assert np.array_equal(image, level)
        else:
            assert np.array_equal(image, ((level / 255 - np.array(MEAN)) / np.array(STD)).astype(dtype))
            assert np.array_equal(manifest.to_levels(image), level)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_readers_agree_with_torchvision(photos: Path, format: str, dtype: str, tmp_path: Path) -> None:
    bake(photos, tmp_path / "out", format, size=(48, 48), dtype=dtype, shards=2)
    dataset = open_dataset(tmp_path / "out")
    levels = _oracle(photos, list(dataset.keys), 48)
    normalise = transforms.Compose([transforms.ToTensor(), transforms.Normalize(dataset.mean, dataset.std)])
    tolerance = {"uint8": 1e-6, "float32": 1e-6, "float16": 2e-3}[dtype]
    for i, level in enumerate(levels):
        image, label = dataset[i]
        assert image.dtype == torch.float32
        assert image.is_contiguous()
        assert torch.allclose(image, normalise(level.copy()), atol=tolerance, rtol=tolerance)
        assert dataset.classes[label] == dataset.key(i).split("/")[0]
        assert np.array_equal(dataset.image(i), level)


def test_rows_that_were_rejected_leave_no_gap(photos: Path, format: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    for path in sorted(photos.rglob("*")):
        if path.is_file():
            link = source / path.relative_to(photos)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    folders = sorted(path for path in source.iterdir() if path.is_dir())
    (folders[0] / "broken.jpg").write_bytes(b"\xff\xd8\xff broken")
    (folders[1] / "empty.jpg").touch()
    manifest = bake(source, tmp_path / "out", format, size=(32, 32), shards=2, classes_are_folders=True)
    images, _ = _stock_rows(tmp_path / "out", manifest)
    dataset = open_dataset(tmp_path / "out")
    assert len(images) == len(dataset) == len(datasets.ImageFolder(str(photos)))
    for i, level in enumerate(_oracle(source, list(dataset.keys), 32)):
        assert np.array_equal(dataset.image(i), level)
        assert np.array_equal(manifest.to_levels(images[i]), level)


def test_a_shard_of_rejects_alone_leaves_no_file(format: str, photos: Path, tmp_path: Path) -> None:
    source = tmp_path / "source" / "class"
    source.mkdir(parents=True)
    good = next(path for path in sorted(photos.rglob("*")) if path.is_file())
    (source / "a.jpg").write_bytes(b"not a picture")
    (source / "b.jpg").symlink_to(good)
    manifest = bake(tmp_path / "source", tmp_path / "out", format, size=(16, 16), shards=2, order="source")
    assert [shard.count for shard in manifest.shards] == [0, 1]
    assert not (tmp_path / "out" / manifest.shards[0].name).exists()
    assert np.array_equal(open_dataset(tmp_path / "out").image(0), _oracle(source, ["b.jpg"], 16)[0])


def test_checksums_are_those_of_the_files(baked: Path) -> None:
    manifest = read_manifest(baked)
    files: list[Any] = [*manifest.shards, *manifest.files]
    for file in files:
        data = (baked / file.name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file.bytes, file.checksum)
    named = {file.name for file in files} | {"manifest.json"}
    assert {path.name for path in baked.iterdir()} == named
