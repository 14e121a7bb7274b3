"""Transparency by one policy: laid over white or black, or dropped; the same for every kind of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import bake
from launch import prebake
from pictures import encoded, png
from PIL import Image

from convert.image.decode import decode
from convert.manifest import Decoding
from readers import open_dataset

SHAPE = (24, 32)
RANDOM = np.random.default_rng(3)
COLOUR = RANDOM.integers(0, 256, (*SHAPE, 3), dtype=np.uint8)
ALPHA = RANDOM.integers(0, 256, SHAPE, dtype=np.uint8)
GROUND = {"white": 255.0, "black": 0.0}


def pixels(data: bytes, alpha: str) -> npt.NDArray[np.int64]:
    return np.asarray(decode(data, decoding=Decoding(alpha=alpha)).picture).astype(np.int64)


def expected(colour: npt.NDArray[Any], alpha: npt.NDArray[Any], policy: str) -> npt.NDArray[np.float64]:
    if policy == "drop":
        return colour.astype(np.float64)
    share = alpha[:, :, None] / 255
    return np.asarray(colour * share + GROUND[policy] * (1 - share))


@pytest.mark.parametrize("policy", ["white", "black", "drop"])
def test_rgba(policy: str) -> None:
    picture = Image.fromarray(np.dstack([COLOUR, ALPHA]))
    for data in (png(picture), encoded(picture, "TIFF")):
        assert np.abs(pixels(data, policy) - expected(COLOUR, ALPHA, policy)).max() <= 1


@pytest.mark.parametrize("policy", ["white", "black", "drop"])
def test_grey_with_alpha(policy: str) -> None:
    grey = np.repeat(COLOUR[:, :, :1], 3, axis=2)
    data = png(Image.fromarray(np.dstack([COLOUR[:, :, 0], ALPHA])))
    assert Image.open(io.BytesIO(data)).mode == "LA"
    assert np.abs(pixels(data, policy) - expected(grey, ALPHA, policy)).max() <= 1


@pytest.mark.parametrize("policy", ["white", "black", "drop"])
def test_a_palette_with_transparent_entries(policy: str) -> None:
    numbers = (COLOUR[:, :, 0] % 16).astype(np.uint8)
    colours = RANDOM.integers(0, 256, (16, 3), dtype=np.uint8)
    entries = np.arange(16, dtype=np.uint8) * 17
    picture = Image.fromarray(numbers)
    picture.putpalette(colours.tobytes())
    data = png(picture, transparency=entries.tobytes())
    assert np.abs(pixels(data, policy) - expected(colours[numbers], entries[numbers], policy)).max() <= 1


@pytest.mark.parametrize("policy", ["white", "black", "drop"])
def test_one_transparent_colour(policy: str) -> None:
    colour = COLOUR.copy()
    colour[:8] = (10, 20, 30)
    alpha = np.where((colour == (10, 20, 30)).all(axis=2), 0, 255)
    data = png(Image.fromarray(colour), transparency=(10, 20, 30))
    np.testing.assert_array_equal(pixels(data, policy), expected(colour, alpha, policy))


def test_large_pictures_are_laid_over_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    data = png(Image.fromarray(np.dstack([COLOUR, ALPHA])))
    whole = pixels(data, "white")
    monkeypatch.setattr("convert.image.colour.BAND", 5 * SHAPE[1])
    np.testing.assert_array_equal(pixels(data, "white"), whole)


def test_the_policy_is_an_option_is_recorded_and_taken_along_by_like(tmp_path: Path) -> None:
    source = tmp_path / "source" / "class"
    source.mkdir(parents=True)
    (source / "clear.png").write_bytes(png(Image.new("RGBA", (16, 16), (200, 100, 50, 0))))
    for policy, level in (("white", [255, 255, 255]), ("black", [0, 0, 0]), ("drop", [200, 100, 50])):
        done = prebake("memmap", tmp_path / "source", tmp_path / policy, "--size", 16, "--alpha", policy)
        assert done.returncode == 0, done.stderr
        assert (policy == "white") or policy in done.stdout.replace("dropped", "drop")
        assert open_dataset(tmp_path / policy).image(0)[3, 3].tolist() == level
        like = bake(tmp_path / "source", tmp_path / f"like-{policy}", like=tmp_path / policy)
        assert like.decoding.alpha == policy
        assert open_dataset(tmp_path / f"like-{policy}").image(0)[3, 3].tolist() == level
    done = prebake("memmap", tmp_path / "source", tmp_path / "x", "--like", tmp_path / "black", "--alpha", "white")
    assert (done.returncode, "--alpha contradicts --like" in done.stderr) == (2, True)
