"""JPEG rows and rows of any size, in every format: stock libraries read the right pixels, and what lies beside says where they are."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import stock_rows
from conftest import bake
from pictures import jpeg
from PIL import Image, ImageOps

from convert.manifest import Manifest
from convert.stored import Stored

MEAN, STD = (0.1, 0.5, 0.9), (0.5, 0.25, 0.2)
SIDE = 64
"""Of the photos, some are larger and some smaller."""
Levels = npt.NDArray[np.uint8]


def _oracle(path: Path, resize: str, mode: str = "RGB") -> Image.Image:
    """What Pillow makes of a source, by torchvision's rule for the other side."""
    picture = ImageOps.exif_transpose(Image.open(path)).convert("RGB").convert(mode)
    short, long = sorted(picture.size)
    by = {"short": short, "long": long}[resize]
    if by <= SIDE:
        return picture
    other = int(SIDE * long / short) if resize == "short" else int(SIDE * short / long)
    wide = (picture.width > picture.height) == (resize == "short")
    return picture.resize((other, SIDE) if wide else (SIDE, other), Image.Resampling.BILINEAR)


def _pictures(photos: Path, out: Path, resize: str, mode: str = "RGB") -> list[Image.Image]:
    with (out / "samples.csv").open(newline="") as file:
        return [_oracle(photos / line["key"], resize, mode) for line in csv.DictReader(file)]


def _stock_rows(out: Path, manifest: Manifest) -> stock_rows.Rows:
    sizes = np.load(out / "sizes.npy").tolist() if manifest.shape is None else [list(manifest.shape[:2])] * manifest.count
    offsets = np.load(out / "offsets.npy").tolist()
    if manifest.jpeg is None:
        lengths = [height * width * manifest.channels * manifest.row.itemsize for height, width in sizes]
    else:
        lengths = np.load(out / "lengths.npy").tolist()
    rows, begin = stock_rows.Rows(), 0
    for shard in manifest.shards:
        end = begin + shard.count
        assert (shard.first, shard.stride) == (None, None)
        places = offsets[begin:end], lengths[begin:end], sizes[begin:end]
        shape = stock_rows.Shape(manifest.dtype, manifest.channels, manifest.jpeg is not None, *places)
        some = stock_rows.READ[manifest.format](out / shard.name, shape)
        data = (out / shard.name).read_bytes()
        for row, offset, nbytes, size in zip(some, *places, strict=True):
            assert list(row.shape[:2]) == size
            stored = data[offset : offset + nbytes]
            assert np.array_equal(
                row, stock_rows.decoded(stored, shape) if manifest.jpeg else np.frombuffer(stored, row.dtype).reshape(row.shape)
            )
            assert manifest.jpeg or manifest.format == "lmdb" or offset % row.itemsize == 0
        rows += some
        begin = end
    return rows


def _off(levels: npt.NDArray[Any], picture: Image.Image) -> float:
    return float(np.abs(levels.astype(int).squeeze() - np.asarray(picture)).mean())


@pytest.mark.parametrize("kind", ["uint8 short", "uint8 long", "float16 short", "float16 long", "float32 short"])
def test_raw_rows_of_any_size(photos: Path, format: str, kind: str, tmp_path: Path) -> None:
    out, (dtype, resize) = tmp_path / "out", kind.split()
    manifest = bake(photos, out, format, size=(SIDE, SIDE), resize=resize, dtype=dtype, mean=MEAN, std=STD, shards=3)
    assert (manifest.shape, manifest.side, manifest.encoding, manifest.jpeg) == (None, SIDE, "raw", None)
    pictures, rows, stored = _pictures(photos, out, resize), _stock_rows(out, manifest), Stored(out, manifest)
    assert len({picture.size for picture in pictures}) > 10
    for i, (row, picture) in enumerate(zip(rows, pictures, strict=True)):
        levels = np.asarray(picture)
        right = levels if dtype == "uint8" else ((levels / 255 - np.array(MEAN)) / np.array(STD)).astype(dtype)
        assert np.array_equal(row, right)
        assert np.array_equal(stored.row(i), right)


@pytest.mark.parametrize("asked", [{}, {"quality": 60, "subsampling": "444"}], ids=str)
def test_jpeg_rows(photos: Path, format: str, asked: dict[str, Any], tmp_path: Path) -> None:
    """The very bytes that Pillow writes of the picture."""
    for resize in ("short", "long"):
        out = tmp_path / resize
        manifest = bake(photos, out, format, size=(SIDE, SIDE), resize=resize, encoding="jpeg", shards=3, **asked)
        assert (manifest.dtype, manifest.normalized, manifest.encoding) == ("uint8", False, "jpeg")
        lengths, stored = np.load(out / "lengths.npy"), Stored(out, manifest)
        for i, (row, picture) in enumerate(zip(_stock_rows(out, manifest), _pictures(photos, out, resize), strict=True)):
            coded = jpeg(picture, asked.get("quality", 90), subsampling=":".join(asked.get("subsampling", "420")))
            assert lengths[i] == len(coded)
            assert np.array_equal(row, np.asarray(Image.open(io.BytesIO(coded))))
            assert np.array_equal(row, stored.row(i))


def test_jpeg_rows_of_one_shape(photos: Path, format: str, tmp_path: Path) -> None:
    """The levels that raw rows hold, coded."""
    raw = bake(photos, tmp_path / "raw", format, size=(48, 40), dtype="uint8", shards=2)
    manifest = bake(photos, tmp_path / "jpeg", format, size=(48, 40), encoding="jpeg", shards=2)
    assert manifest.shape == raw.shape == (48, 40, 3)
    assert not (tmp_path / "jpeg" / "sizes.npy").exists()
    levels = Stored(tmp_path / "raw", raw)
    for i, row in enumerate(_stock_rows(tmp_path / "jpeg", manifest)):
        assert 0 < _off(row, Image.fromarray(levels.row(i))) < 6


@pytest.mark.parametrize("options", [{"encoding": "jpeg"}, {"dtype": "uint8"}, {"dtype": "uint16"}], ids=str)
def test_one_channel(photos: Path, format: str, options: dict[str, Any], tmp_path: Path) -> None:
    manifest = bake(photos, tmp_path / "out", format, size=(SIDE, SIDE), resize="short", colour="gray", shards=2, **options)
    for row, picture in zip(_stock_rows(tmp_path / "out", manifest), _pictures(photos, tmp_path / "out", "short", "L"), strict=True):
        assert row.shape[2] == 1
        assert _off(row / 257 if row.dtype == "uint16" else row, picture) < (6 if manifest.jpeg else 1)


@pytest.mark.parametrize("options", [{"encoding": "jpeg"}, {"resize": "short"}], ids=str)
def test_rows_that_were_rejected_leave_no_gap(photos: Path, format: str, options: dict[str, Any], tmp_path: Path) -> None:
    """With keys, which h5py adds behind the rows."""
    source = tmp_path / "source" / "one"
    source.mkdir(parents=True)
    for number, path in enumerate(sorted(path for path in photos.rglob("*") if path.is_file())[:6]):
        (source / f"{number}.jpg").symlink_to(path)
    for number in (2, 5):
        (source / f"{number}.png").write_bytes(b"\xff\xd8\xff broken")
    keys = {} if format == "memmap" else {"with_keys": True}
    manifest = bake(source.parent, tmp_path / "out", format, size=(32, 32), shards=2, options=keys, **options)
    assert manifest.count == 6
    assert [row.shape for row in _stock_rows(tmp_path / "out", manifest)] == [
        row.shape for row in map(Stored(tmp_path / "out", manifest).row, range(6))
    ]


@pytest.mark.parametrize("options", [{"encoding": "jpeg", "resize": "long"}, {"resize": "short"}], ids=str)
def test_output_does_not_depend_on_who_made_it(photos: Path, format: str, options: dict[str, Any], tmp_path: Path) -> None:
    bakes = []
    for name, executor in (("one", "serial"), ("two", "local")):
        bake(photos, tmp_path / name, format, workers=2, executor=executor, size=(SIDE, SIDE), shards=4, preview=True, **options)
        bakes.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert bakes[0] == bakes[1]
    assert "sizes.npy" in bakes[0]


@pytest.mark.parametrize("options", [{"encoding": "jpeg"}, {"resize": "short"}, {"resize": "long", "encoding": "jpeg"}], ids=str)
def test_a_shard_of_rejects_alone_leaves_no_file(photos: Path, format: str, options: dict[str, Any], tmp_path: Path) -> None:
    source = tmp_path / "source" / "class"
    source.mkdir(parents=True)
    (source / "a.jpg").write_bytes(b"not a picture")
    (source / "b.jpg").symlink_to(next(path for path in sorted(photos.rglob("*")) if path.is_file()))
    manifest = bake(tmp_path / "source", tmp_path / "out", format, size=(16, 16), shards=2, order="source", **options)
    assert [shard.count for shard in manifest.shards] == [0, 1]
    assert not (tmp_path / "out" / manifest.shards[0].name).exists()
    assert Stored(tmp_path / "out", manifest).row(0).shape[2] == 3
    assert len(np.load(tmp_path / "out" / "offsets.npy")) == 1
