"""Large JPEGs are decoded at 1/2, 1/4 or 1/8 while twice the row's size is left; `--exact` never is."""

from __future__ import annotations

import dataclasses
import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from conftest import bake
from launch import prebake
from pictures import jpeg, photo, with_segment
from PIL import Image
from torchvision import transforms

from convert.contracts import RejectError
from convert.image.bake import Bake, Recipe
from convert.manifest import read_manifest
from convert.recipe import make_recipe
from readers import open_dataset

SIZE = 32
TURNED = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
"""Orientation 6."""


def recipe(exact: bool = False, resize: str = "center-crop") -> Recipe:
    return make_recipe({"size": (SIZE, SIZE), "dtype": "uint8", "exact": exact, "resize": resize})


def scale(data: bytes, recipe: Recipe) -> int:
    """At which part of its size a JPEG was decoded, by what is counted."""
    seen = Counter[str]()
    Bake(recipe)(data, seen)
    found = [int(name.split("/")[1]) for name in seen if name.startswith("JPEG decoded at")]
    return found[0] if found else 1


@pytest.mark.parametrize(
    ("height", "width", "by"),
    [(63, 400, 1), (127, 200, 1), (128, 200, 2), (128, 201, 1), (255, 400, 1), (256, 400, 4), (512, 512, 8), (2048, 1024, 8)],
)
def test_twice_the_target_is_left_and_sides_divide(height: int, width: int, by: int) -> None:
    data = jpeg(photo(0, height, width))
    assert scale(data, recipe()) == by
    assert scale(data, recipe(exact=True)) == 1


def test_both_sides_count_where_the_shape_is_not_kept() -> None:
    data = jpeg(photo(0, 64, 512))
    assert scale(data, recipe(resize="stretch")) == 1
    assert scale(data, recipe(resize="pad")) == 8


@pytest.mark.parametrize(("height", "width"), [(128, 192), (256, 256), (512, 768), (768, 512)])
@pytest.mark.parametrize("subsampling", [0, 2])
def test_reduced_pixels_are_near_and_exact_ones_are_torchvisions(height: int, width: int, subsampling: int) -> None:
    data = jpeg(photo(5, height, width), subsampling=subsampling)
    exact = Bake(recipe(exact=True))(data).row.copy()
    with Image.open(io.BytesIO(data)) as picture:
        oracle = transforms.Compose([transforms.Resize(SIZE), transforms.CenterCrop(SIZE)])(picture.convert("RGB"))
    np.testing.assert_array_equal(exact, np.asarray(oracle))
    reduced = Bake(recipe())(data)
    difference = reduced.row.astype(int) - exact
    assert 0 < np.abs(difference).mean() < 1
    assert np.abs(difference).max() <= 8
    assert np.abs(difference.mean()) < 0.4
    assert (reduced.height, reduced.width) == (height, width)


def test_a_turned_picture_is_reduced_by_its_upright_sides() -> None:
    upright = photo(6, 512, 256)
    data = with_segment(jpeg(upright.transpose(Image.Transpose.ROTATE_90), quality=98, subsampling=0), TURNED)
    assert scale(data, recipe()) == 4
    baked = Bake(recipe())(data)
    assert (baked.height, baked.width) == (512, 256)
    oracle = transforms.Compose([transforms.Resize(SIZE), transforms.CenterCrop(SIZE)])(upright)
    assert np.abs(baked.row.astype(int) - np.asarray(oracle)).mean() < 2


def test_a_cut_file_is_noticed_at_every_scale() -> None:
    for height in (32, 128, 256, 512):
        data = jpeg(photo(7, height, height))
        for percent in (30, 60, 90):
            with pytest.raises(RejectError) as caught:
                Bake(recipe())(data[: len(data) * percent // 100])
            assert caught.value.reason == "truncated"


def test_the_choice_is_recorded_counted_and_taken_along(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "large.jpg").write_bytes(jpeg(photo(8, 256, 256)))
    for name, options in (("reduced", []), ("exact", ["--exact"])):
        done = prebake("lmdb", tmp_path / "source", tmp_path / name, "--size", SIZE, "--dtype", "uint8", *options)
        assert done.returncode == 0, done.stderr
        assert ("JPEG decoded at 1/4 1" in done.stdout) == (name == "reduced")
        assert read_manifest(tmp_path / name).decoding.exact == (name == "exact")
        like = bake(tmp_path / "source", tmp_path / f"{name}-like", "lmdb", like=tmp_path / name)
        assert like.decoding == read_manifest(tmp_path / name).decoding
        assert np.array_equal(open_dataset(tmp_path / f"{name}-like").image(0), open_dataset(tmp_path / name).image(0))
    assert dataclasses.asdict(read_manifest(tmp_path / "exact"))["plan"] != dataclasses.asdict(read_manifest(tmp_path / "reduced"))["plan"]
