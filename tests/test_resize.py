"""Resizing is torchvision's on PIL to the last bit, and the placement it reports is where pixels really went."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pictures import photo
from PIL import Image
from torchvision.transforms import CenterCrop, Compose, InterpolationMode, Resize
from torchvision.transforms import functional as vision

from convert.image.resize import FILTERS, Placement, fit, kept_share, place

MODES = {"bilinear": InterpolationMode.BILINEAR, "bicubic": InterpolationMode.BICUBIC, "lanczos": InterpolationMode.LANCZOS}
PIL = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}
SIDES = st.integers(1, 80)
SIZES = st.tuples(SIDES, SIDES)
NAMES = st.sampled_from(sorted(MODES))


def fitted(picture: Image.Image, size: tuple[int, int], method: str, name: str) -> tuple[Image.Image, Placement]:
    at = place(picture.height, picture.width, size, method)
    return fit(picture, at, size, name), at


def same(one: Image.Image, other: Image.Image) -> None:
    assert (one.mode, one.size) == (other.mode, other.size)
    np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_every_filter_is_tested() -> None:
    assert set(FILTERS) == set(MODES)


@settings(deadline=None, max_examples=150)
@given(SIDES, SIDES, st.integers(1, 60), NAMES)
@example(375, 500, 256, "bilinear")
@example(500, 375, 224, "bilinear")
@example(333, 500, 255, "bilinear")
@example(501, 333, 224, "bicubic")
@example(256, 341, 256, "bilinear")  # short side equal to the target: cropped, not resized
@example(64, 64, 64, "lanczos")
@example(3, 2, 64, "bilinear")
@example(1, 300, 32, "bilinear")
@example(3000, 3, 16, "bilinear")
def test_center_crop_is_torchvisions_resize_and_center_crop(height: int, width: int, size: int, name: str) -> None:
    picture = photo(1, height, width)
    oracle = Compose([Resize(size, interpolation=MODES[name], antialias=True), CenterCrop(size)])
    same(fitted(picture, (size, size), "center-crop", name)[0], oracle(picture))


@settings(deadline=None, max_examples=100)
@given(SIDES, SIDES, SIZES, NAMES)
@example(375, 500, (192, 256), "bilinear")
@example(500, 375, (192, 256), "bilinear")
@example(100, 100, (1, 80), "bilinear")
def test_center_crop_of_two_sides_covers_then_crops(height: int, width: int, size: tuple[int, int], name: str) -> None:
    picture = photo(2, height, width)
    scale = max(Fraction(size[0], height), Fraction(size[1], width))
    covering = vision.resize(picture, [int(scale * height), int(scale * width)], interpolation=MODES[name], antialias=True)
    same(fitted(picture, size, "center-crop", name)[0], vision.center_crop(covering, list(size)))


@settings(deadline=None, max_examples=50)
@given(SIDES, SIDES, SIZES, NAMES)
def test_stretch_is_a_plain_resize(height: int, width: int, size: tuple[int, int], name: str) -> None:
    picture = photo(3, height, width)
    same(fitted(picture, size, "stretch", name)[0], picture.resize(size[::-1], PIL[name]))


@settings(deadline=None, max_examples=100)
@given(SIDES, SIDES, SIZES, NAMES)
@example(3, 4000, (32, 32), "bilinear")
@example(4000, 3, (32, 32), "bilinear")
@example(1, 300, (24, 32), "lanczos")
@example(300, 1, (24, 32), "bilinear")
def test_pad_puts_the_whole_picture_in_the_middle_of_black(height: int, width: int, size: tuple[int, int], name: str) -> None:
    to_height, to_width = size
    white = Image.new("RGB", (width, height), "white")
    row = np.asarray(fitted(white, size, "pad", name)[0])
    assert row.shape == (to_height, to_width, 3)
    assert set(np.unique(row)) <= {0, 255}
    rows, columns = (np.flatnonzero((row == 255).all(2).any(axis)) for axis in (1, 0))
    (top, bottom), (left, right) = ((int(line[0]), int(line[-1]) + 1) for line in (rows, columns))
    assert (row[top:bottom, left:right] == 255).all()
    assert 0 <= (to_height - bottom) - top <= 1
    assert 0 <= (to_width - right) - left <= 1
    scale = min(Fraction(to_height, height), Fraction(to_width, width))
    assert (bottom - top, right - left) == (max(1, int(scale * height)), max(1, int(scale * width)))
    assert bottom - top == to_height or right - left == to_width
    picture = photo(4, height, width)
    content = fitted(picture, size, "pad", name)[0].crop((left, top, right, bottom))
    same(content, picture.resize((right - left, bottom - top), PIL[name]))


@pytest.mark.parametrize("method", ["center-crop", "stretch", "pad"])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 300), (300, 1), (2, 257), (4000, 3), (3, 4000)])
def test_extreme_shapes_give_the_size_asked_for(height: int, width: int, method: str) -> None:
    row, placement = fitted(photo(5, height, width), (32, 48), method, "bilinear")
    assert row.size == (48, 32)
    assert min(placement.height, placement.width) >= 1


@pytest.mark.parametrize("name", sorted(MODES))
@pytest.mark.parametrize("method", ["center-crop", "stretch", "pad"])
def test_a_fine_checkerboard_becomes_grey(method: str, name: str) -> None:
    board = np.indices((512, 512)).sum(0) % 2 * 255
    picture = Image.fromarray(board.astype(np.uint8)).convert("RGB")
    assert np.asarray(picture).std() > 127
    assert np.asarray(fitted(picture, (64, 64), method, name)[0]).std() < 8


@pytest.mark.parametrize("method", ["center-crop", "stretch", "pad"])
@pytest.mark.parametrize(("height", "width"), [(150, 400), (400, 150), (200, 200), (60, 40)])
@pytest.mark.parametrize("size", [(64, 64), (64, 96), (97, 51)])
def test_a_point_of_the_source_lands_at_scale_times_point_plus_offset(height: int, width: int, size: tuple[int, int], method: str) -> None:
    """Red rises along the source's rows, green along its columns: so each pixel's levels tell from which point of the source it came."""
    red, green = np.linspace(0, 255, height)[:, None], np.linspace(0, 255, width)[None, :]
    ramps = np.stack(np.broadcast_arrays(red, green, 255.0), axis=2)
    picture, at = fitted(Image.fromarray(np.rint(ramps).astype(np.uint8)), size, method, "bilinear")
    row = np.asarray(picture).astype(float)
    for channel, (side, scale, offset) in enumerate([(height, at.height / height, at.top), (width, at.width / width, at.left)]):
        points = np.arange(side * 0.1, side * 0.9)  # away from the border, where the filter sees less on one side
        pixels = np.floor(scale * points + offset).astype(int)
        inside = (pixels >= 0) & (pixels < size[channel])
        assert inside.sum() > 8
        levels = row.take(pixels[inside], channel).max(1 - channel)
        middles = (np.floor(scale * points + offset) + 0.5 - offset) / scale  # of the pixels that hold the points, in the source
        expected = (middles[inside] - 0.5) * 255 / (side - 1)
        assert np.abs(levels[:, channel] - expected).max() < 1.5


@pytest.mark.parametrize(
    ("shape", "size", "method", "share"),
    [
        ((300, 400), (300, 300), "center-crop", 0.75),
        ((400, 100), (50, 50), "center-crop", 0.25),
        ((90, 90), (30, 60), "center-crop", 0.5),
        ((123, 45), (64, 64), "stretch", 1.0),
        ((123, 45), (64, 64), "pad", 1.0),
    ],
)
def test_the_share_kept_is_the_area_of_the_crop(shape: tuple[int, int], size: tuple[int, int], method: str, share: float) -> None:
    assert kept_share(*shape, size, method) == pytest.approx(share)
