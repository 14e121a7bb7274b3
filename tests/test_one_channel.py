"""One channel, with 8 bits, 16 bits or normalised: the readers against NumPy, Pillow and torchvision, on shards written row by row."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import bake
from pictures import image_folder
from PIL import Image
from torch.utils.data import DataLoader
from torchvision.transforms import functional as vision
from torchvision.transforms import v2

from convert.contracts import Pixels, Sample, ShardSpec
from convert.errors import PrebakeError
from convert.manifest import MANIFEST, Shard, SideFile, read_manifest
from convert.registry import load_format
from readers import CenterCrop, Loader, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip, open_dataset

MEAN, STD = 0.4, 0.2
HIGHEST = {"uint8": 255, "uint16": 65535, "float16": 255, "float32": 255}
KINDS = [(dtype, size) for dtype in HIGHEST for size in ((11, 7), (64, 50))]
"""Rows that lie inside of LMDB's pages, of an odd number of bytes, and rows that do not."""
Kind = tuple[str, tuple[int, int]]
Levels = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def coloured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine rows in two shards, whose pixels are to be replaced."""
    root = tmp_path_factory.mktemp("grey")
    bake(image_folder(root / "source", {"cat": 5, "dog": 4}), root / "out", size=(8, 8), shards=2)
    return root / "out"


def grey(like: Path, out: Path, format: str, kind: Kind) -> tuple[Path, Levels]:
    """A bake with one channel, made by the format's writer, with the labels and keys of another; also returns its levels (N, H, W)."""
    (dtype, size), old = kind, read_manifest(like)
    unsigned: type[np.unsignedinteger[Any]] = np.uint16 if dtype == "uint16" else np.uint8
    levels: Levels = np.random.default_rng(0).integers(0, HIGHEST[dtype] + 1, (old.count, *size)).astype(unsigned)
    levels[0, 0, :2] = 0, HIGHEST[dtype]
    stored = levels if dtype.startswith("u") else ((levels / 255 - MEAN) / STD).astype(dtype)
    writer, pixels = load_format(format), Pixels(*size, 1, dtype)
    out.mkdir()
    for file in old.files:
        (out / file.name).write_bytes((like / file.name).read_bytes())
    targets = np.load(like / "targets.npy").tolist() if old.target.width else [None] * old.count
    shards, offsets, done = [], [], 0
    for number, shard in enumerate(old.shards):
        path = out / f"shard-{number:05d}{writer.suffix}"
        with writer.write_shard(path, ShardSpec(number, shard.count, pixels, old.target), {}) as add:
            for row in range(done, done + shard.count):
                add(Sample(f"{row}", np.ascontiguousarray(stored[row][:, :, None]), targets[row]))
        offsets.append(writer.locate(path, np.full(shard.count, pixels.nbytes)))
        done += shard.count
        shards.append(Shard(path.name, shard.count, path.stat().st_size, "", None, None))
    np.save(out / "offsets.npy", np.concatenate(offsets), allow_pickle=False)
    manifest = dataclasses.replace(
        old,
        format=format,
        shape=(*size, 1),
        dtype=dtype,
        colour="gray",
        mean=(MEAN,),
        std=(STD,),
        normalized=dtype.startswith("f"),
        shards=tuple(shards),
        files=(*old.files, SideFile("offsets.npy", (out / "offsets.npy").stat().st_size, "")),
    )
    (out / MANIFEST).write_text(manifest.to_json())
    return out, levels


def _normalised(levels: Levels, dtype: str) -> torch.Tensor:
    """The oracle (..., 1, H, W), in float64, rounded as the bake was."""
    values = (levels / HIGHEST[dtype] - MEAN) / STD
    return torch.from_numpy((values.astype(dtype) if dtype == "float16" else values).astype(np.float32)).unsqueeze(-3)


def _image(sample: Any) -> torch.Tensor:
    image = sample if isinstance(sample, torch.Tensor) else sample[0]
    assert isinstance(image, torch.Tensor)
    return image


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_levels_values_and_batches(coloured: Path, tmp_path: Path, format: str, kind: Kind) -> None:
    folder, levels = grey(coloured, tmp_path / "out", format, kind)
    dtype, size = kind
    dataset = open_dataset(folder)
    assert f"{size[0]}x{size[1]}x1 {dtype}" in repr(dataset)
    assert (dataset.mean, dataset.std) == ((MEAN,), (STD,))
    right = _normalised(levels, dtype)
    for i in range(len(dataset)):
        image = _image(dataset[i])
        assert (image.dtype, image.shape) == (torch.float32, (1, *size))
        assert image.is_contiguous()
        assert torch.allclose(image, right[i], atol=1e-6)
        assert dataset.image(i).dtype == levels.dtype
        assert np.array_equal(dataset.image(i)[:, :, 0], levels[i])
    for workers in (0, 1):
        batches = [_image(batch) for batch in DataLoader(dataset, batch_size=4, num_workers=workers)]
        assert all(batch.is_contiguous() and batch.is_contiguous(memory_format=torch.channels_last) for batch in batches)
        assert torch.equal(torch.cat(batches), torch.stack([_image(sample) for sample in dataset]))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_crops_and_flips(coloured: Path, tmp_path: Path, format: str, kind: Kind) -> None:
    folder, levels = grey(coloured, tmp_path / "out", format, kind)
    dtype, size = kind
    right = _normalised(levels, dtype)
    height, width = size[0] - 4, size[1] - 2
    fixed = open_dataset(folder, augment=[CenterCrop((height, width)), RandomHorizontalFlip(1.0), RandomVerticalFlip(1.0)])
    oracle = vision.vflip(vision.hflip(vision.center_crop(right, [height, width])))
    assert torch.allclose(torch.stack([_image(sample) for sample in fixed]), oracle, atol=1e-6)
    torch.manual_seed(3)
    batch = next(_image(batch) for batch in DataLoader(open_dataset(folder, augment=[RandomCrop((height, width))]), batch_size=9))
    windows = right.unfold(-2, height, 1).unfold(-2, width, 1)  # (9, 1, 5, 3, height, width)
    apart = (windows - batch[:, :, None, None]).abs().amax((1, -2, -1))
    assert (apart.flatten(1).min(1).values < 1e-6).all()
    assert len(set(apart.flatten(1).argmin(1).tolist())) > 1


@pytest.mark.parametrize("dtype", HIGHEST)
def test_a_transform_gets_a_grey_picture(coloured: Path, tmp_path: Path, format: str, dtype: str) -> None:
    folder, levels = grey(coloured, tmp_path / "out", format, (dtype, (11, 7)))
    seen: list[Image.Image] = []

    def watch(picture: Image.Image) -> torch.Tensor:
        seen.append(picture)
        return torch.from_numpy(np.array(picture, np.int64))

    dataset = open_dataset(folder, transform=watch)
    batch = next(_image(batch) for batch in DataLoader(dataset, batch_size=9))
    assert np.array_equal(batch.numpy(), levels)
    assert {picture.mode for picture in seen} == {"I;16" if dtype == "uint16" else "L"}
    assert {picture.size for picture in seen} == {(7, 11)}
    if dtype == "uint8":
        steps = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([MEAN], [STD])])
        flipped = _image(open_dataset(folder, transform=steps)[0])
        assert torch.allclose(flipped, vision.hflip(_normalised(levels[0], dtype)), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_types_of_images(coloured: Path, tmp_path: Path, dtype: torch.dtype) -> None:
    folder, levels = grey(coloured, tmp_path / "eight", "memmap", ("uint8", (11, 7)))
    image = _image(open_dataset(folder, dtype=dtype)[3])
    assert image.dtype == dtype
    assert torch.allclose(image.float(), _normalised(levels[3], "uint8"), atol=0.02)
    folder, levels = grey(coloured, tmp_path / "sixteen", "memmap", ("uint16", (11, 7)))
    if dtype == torch.float64:
        assert torch.allclose(_image(open_dataset(folder, dtype=dtype)[3]).float(), _normalised(levels[3], "uint16"), atol=1e-6)
        return
    dataset = open_dataset(folder)
    asks: list[Callable[[], object]] = [
        lambda: open_dataset(folder, dtype=dtype),
        lambda: dataset.with_(dtype=dtype),
        lambda: Loader(dataset, 2, dtype=dtype),
    ]
    for ask in asks:
        with pytest.raises(PrebakeError, match=rf"dtype={dtype} is too coarse for the 16-bit levels of this bake: use torch.float32"):
            ask()


def test_every_16_bit_level_can_be_told_from_its_neighbours(coloured: Path, tmp_path: Path) -> None:
    folder, _ = grey(coloured, tmp_path / "out", "memmap", ("uint16", (256, 256)))
    path = folder / "shard-00000.npy"
    levels = np.arange(1 << 16, dtype=np.uint16).reshape(256, 256, 1)
    np.load(path, mmap_mode="r+")[0] = levels
    dataset = open_dataset(folder)
    back = (_image(dataset[0]).double() * STD + MEAN) * 65535
    assert torch.equal(back.round()[0], torch.from_numpy(levels[:, :, 0].astype(np.float64)))
    assert np.array_equal(dataset.image(0), levels)


def test_grey_is_not_like_colour(coloured: Path, tmp_path: Path) -> None:
    folder, _ = grey(coloured, tmp_path / "out", "memmap", ("uint8", (8, 8)))
    with pytest.raises(PrebakeError, match=r"has other colours than .*8x8x3"):
        open_dataset(folder, like=coloured)
    wide, _ = grey(coloured, tmp_path / "wide", "lmdb", ("uint16", (11, 7)))
    assert open_dataset(wide, like=folder).classes == open_dataset(coloured).classes


@pytest.mark.parametrize("dtype", HIGHEST)
def test_a_flat_folder_gives_pictures_alone(tmp_path: Path, format: str, dtype: str) -> None:
    bake(image_folder(tmp_path / "source", {"flat": 9}) / "flat", tmp_path / "coloured", size=(8, 8), shards=2)
    folder, levels = grey(tmp_path / "coloured", tmp_path / "out", format, (dtype, (11, 7)))
    dataset = open_dataset(folder)
    assert isinstance(dataset[0], torch.Tensor)
    batch = next(iter(DataLoader(dataset, batch_size=9)))
    assert batch.is_contiguous()
    assert batch.is_contiguous(memory_format=torch.channels_last)
    assert torch.allclose(batch, _normalised(levels, dtype), atol=1e-6)
