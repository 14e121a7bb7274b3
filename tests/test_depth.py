"""Grey pictures with 16 bits: windows, and uint16 data sets that keep every level."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import stock
import torch
from conftest import bake
from launch import prebake, rows
from pictures import encoded, photo, png
from PIL import Image

from convert.contracts import RejectError
from convert.image.decode import decode, decode_wide
from convert.image.depth import DARK
from convert.manifest import Decoding
from readers import open_dataset

LEVELS = np.random.default_rng(1).integers(0, 65536, (40, 56), dtype=np.uint16)


def eight_bits(data: bytes, window: tuple[float, float] | None) -> npt.NDArray[np.uint8]:
    return np.asarray(decode(data, decoding=Decoding(window=window)).picture)[:, :, 0]


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
@pytest.mark.parametrize("window", [None, (0, 4095), (1000, 30000), (-5000, 70000), (0.5, 255.5)])
def test_a_window_becomes_black_to_white(kind: str, window: tuple[float, float] | None) -> None:
    low, high = window or (0, 65535)
    expected = ((LEVELS.astype(np.float64) - low) / (high - low)).clip(0, 1) * 255
    found = eight_bits(encoded(Image.fromarray(LEVELS), kind), window)
    assert np.abs(found - expected).max() <= 0.5 + 1e-9


def test_fractions_and_32_bits_need_a_window() -> None:
    for levels in (np.linspace(0, 1, 600, dtype=np.float32).reshape(20, 30), np.arange(600, dtype=np.int32).reshape(20, 30) * 1000):
        data = encoded(Image.fromarray(levels), "TIFF")
        with pytest.raises(RejectError) as caught:
            decode(data)
        assert caught.value.reason == "unsupported_format"
        assert "--window" in caught.value.detail
        high = float(levels.max())
        assert np.abs(eight_bits(data, (0, high)) - levels / high * 255).max() <= 0.51


def test_what_is_not_a_number_is_black() -> None:
    levels = np.full((8, 8), 0.75, np.float32)
    levels[0, 0] = np.nan
    found = eight_bits(encoded(Image.fromarray(levels), "TIFF"), (0.5, 1))
    assert (found[0, 0], found[1, 1]) == (0, 128)


def test_a_window_leaves_8_bits_alone() -> None:
    picture = photo(1, 32, 32)
    np.testing.assert_array_equal(np.asarray(decode(png(picture), decoding=Decoding(window=(0, 100))).picture), np.asarray(picture))


def test_12_bits_in_16_are_noticed() -> None:
    for top, count in ((4095, 1), (65535, 0)):
        seen = Counter[str]()
        decode(png(Image.fromarray((LEVELS & top).astype(np.uint16))), seen)
        assert seen[DARK] == count


def test_dark_pictures_are_a_warning_that_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    for number in range(3):
        (tmp_path / "source" / f"{number}.png").write_bytes(png(Image.fromarray((LEVELS >> 4) + np.uint16(number))))
    done = prebake("memmap", tmp_path / "source", tmp_path / "dark", "--size", "32")
    assert done.returncode == 0
    assert "WARNING: 3 of 3 16-bit pictures" in done.stdout
    assert "--window" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if str(tmp_path) not in line) <= 80
    done = prebake("memmap", tmp_path / "source", tmp_path / "bright", "--size", "32", "--window", "0:4095")
    assert "WARNING" not in done.stdout
    assert open_dataset(tmp_path / "dark").image(0).max() < 20
    assert open_dataset(tmp_path / "bright").image(0).max() > 200


@pytest.fixture
def grey_source(tmp_path: Path) -> Path:
    """16-bit PNGs, a 16-bit TIFF turned by its EXIF, 8-bit grey and a colour picture, all 40 x 40."""
    source = tmp_path / "source" / "class"
    source.mkdir(parents=True)
    square = LEVELS[:, :40].copy()
    (source / "a.png").write_bytes(png(Image.fromarray(square)))
    (source / "b.png").write_bytes(png(Image.fromarray(np.ascontiguousarray(square.T))))
    (source / "c.tif").write_bytes(encoded(Image.fromarray(square), "TIFF"))
    (source / "d.png").write_bytes(png(photo(3, 40, 40).convert("L")))
    (source / "e.png").write_bytes(png(photo(4, 40, 40)))
    return tmp_path / "source"


def _levels(source: Path, key: str) -> npt.NDArray[Any]:
    with Image.open(source / key) as picture:
        if picture.mode.startswith("I"):
            return np.asarray(picture).astype(np.uint16)
        return np.asarray(picture.convert("L")).astype(np.uint16) * 257


def test_uint16_keeps_every_level_in_every_format(grey_source: Path, format: str, tmp_path: Path) -> None:
    manifest = bake(grey_source, tmp_path / "out", format, size=(40, 40), dtype="uint16", shards=2)
    assert (manifest.dtype, manifest.colour, manifest.shape, manifest.normalized) == ("uint16", "gray", (40, 40, 1), False)
    images: list[Any] = []
    for shard in manifest.shards:
        images += stock.READ[format](tmp_path / "out" / shard.name, "uint16", (40, 40, 1))[0]
    dataset = open_dataset(tmp_path / "out")
    for i, sample in enumerate(rows(tmp_path / "out" / "samples.csv")):
        right = _levels(grey_source, sample["key"])
        np.testing.assert_array_equal(images[i][:, :, 0], right, strict=True)
        np.testing.assert_array_equal(dataset.image(i)[:, :, 0], right, strict=True)
        values = (right / 65535 - manifest.mean[0]) / manifest.std[0]
        image = dataset[i][0]
        assert (image.shape, image.dtype) == ((1, 40, 40), torch.float32)
        assert np.abs(image[0].numpy() - values).max() < 1e-6


def test_uint16_is_resized_in_16_bits(grey_source: Path, tmp_path: Path) -> None:
    bake(grey_source, tmp_path / "out", size=(17, 17), dtype="uint16", order="source")
    right = Image.fromarray(_levels(grey_source, "class/a.png").astype(np.float32)).resize((17, 17), Image.Resampling.BILINEAR)
    assert np.abs(open_dataset(tmp_path / "out").image(0)[:, :, 0] - np.asarray(right)).max() <= 0.5


def test_a_filter_that_overshoots_does_not_wrap_around(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    board = np.kron(np.indices((6, 6)).sum(0) % 2, np.ones((9, 9))).astype(np.uint16) * 65535
    (tmp_path / "source" / "board.png").write_bytes(png(Image.fromarray(board)))
    bake(tmp_path / "source", tmp_path / "out", size=(81, 81), dtype="uint16", filter="lanczos")
    row = open_dataset(tmp_path / "out").image(0)[:, :, 0]
    assert (row[4, 4], row[4, 17]) == (0, 65535)
    middles = np.abs(np.diff(row[40].astype(int)))
    assert middles.max() < 60_000


def test_uint16_is_grey_and_has_no_window(grey_source: Path, tmp_path: Path) -> None:
    for options, says in ((["--color", "RGB"], "does not go with --color RGB"), (["--window", "0:4095"], "leave --window out")):
        done = prebake("memmap", grey_source, tmp_path / "out", "--dtype", "uint16", *options)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr
        assert not (tmp_path / "out").exists()


def test_fractions_are_refused_for_uint16() -> None:
    with pytest.raises(RejectError, match="where 16 bits were expected"):
        decode(encoded(Image.fromarray(np.ones((4, 4), np.float32)), "TIFF"), mode="F")


def test_the_levels_as_they_are() -> None:
    data = png(Image.fromarray(LEVELS))
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), LEVELS)
    np.testing.assert_array_equal(decode_wide(data, Decoding()), LEVELS)
    assert decode_wide(png(photo(0, 8, 8)), Decoding()) is None
    with pytest.raises(RejectError, match="truncated"):
        decode_wide(data[:-100], Decoding())
