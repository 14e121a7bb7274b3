"""Every 8-bit level survives normalisation, storage and the way back; statistics that would lose one are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import photo, png

from convert.contracts import Pixels
from convert.errors import UsageError
from convert.image.bake import Bake, Recipe
from convert.image.levels import Normalise
from convert.manifest import Manifest, Target

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
STATISTICS = {
    "imagenet": IMAGENET,
    "half": ((0.5,) * 3, (0.5,) * 3),
    "plain": ((0.0,) * 3, (1.0,) * 3),
    "asymmetric": ((0.1, 0.5, 0.9), (0.3, 0.2, 0.1)),
    "small std": ((0.2, 0.3, 0.4), (0.004, 0.001, 0.0005)),
    "grey": ((0.449,), (0.226,)),
}
ANY = [pytest.param(*pair, id=name) for name, pair in STATISTICS.items()]
Levels = npt.NDArray[np.uint8]


def manifest(shape: tuple[int, int, int], dtype: str, mean: tuple[float, ...], std: tuple[float, ...]) -> Manifest:
    fields: dict[str, Any] = dict.fromkeys(Manifest.__dataclass_fields__, "") | {"shards": (), "files": (), "target": Target("none", 0)}
    return Manifest(**fields | {"shape": shape, "dtype": dtype, "mean": mean, "std": std, "normalized": dtype != "uint8"})


def every_level(channels: int) -> Levels:
    """(16, 16, C): each level once in each channel, and never beside the same neighbour."""
    random = np.random.default_rng(0)
    return np.stack([random.permutation(256) for _ in range(channels)], axis=1).astype(np.uint8).reshape(16, 16, channels)


def stored(levels: Levels, dtype: str, mean: tuple[float, ...], std: tuple[float, ...]) -> npt.NDArray[Any]:
    """A row as it is written."""
    height, width, channels = levels.shape
    return Normalise(Pixels(height, width, channels, dtype), mean, std)(levels)


def exact(levels: Levels, mean: tuple[float, ...], std: tuple[float, ...]) -> npt.NDArray[np.float64]:
    return np.asarray((levels / 255 - np.array(mean)) / np.array(std), np.float64)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(("mean", "std"), ANY)
@pytest.mark.parametrize("shape", [(16, 16), (5, 7), (1, 1), (3, 1), (1, 2)])
def test_values_are_the_formula_in_float64_rounded_once(
    shape: tuple[int, int], dtype: str, mean: tuple[float, ...], std: tuple[float, ...]
) -> None:
    levels = every_level(len(mean))[: shape[0], : shape[1]].copy()
    row = stored(levels, dtype, mean, std)
    assert row.dtype == np.dtype(dtype).newbyteorder("<")
    np.testing.assert_array_equal(row, exact(levels, mean, std).astype(dtype), strict=True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8"])
@pytest.mark.parametrize(("mean", "std"), ANY)
def test_every_level_of_every_channel_is_recovered(dtype: str, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
    levels = every_level(len(mean))
    assert all(len(np.unique(levels[:, :, channel])) == 256 for channel in range(len(mean)))
    np.testing.assert_array_equal(manifest(levels.shape, dtype, mean, std).to_levels(stored(levels, dtype, mean, std)), levels, strict=True)


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from(["float16", "float32"]),
    st.tuples(*[st.floats(0, 1)] * 3),
    st.tuples(*[st.floats(1e-9, 1)] * 3),
)
def test_statistics_lose_no_level_or_are_refused(dtype: str, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
    levels = every_level(3)
    recipe = Recipe((16, 16), "center-crop", "bilinear", dtype, mean, std)
    highest, limit = np.abs(exact(levels, mean, std)).max(), float(np.finfo(dtype).max)
    if highest < limit:
        recipe.check()
        back = manifest(levels.shape, dtype, mean, std).to_levels(stored(levels, dtype, mean, std))
        np.testing.assert_array_equal(back, levels, strict=True)
    elif highest > limit * 1.001:  # between them, rounding decides
        with pytest.raises(UsageError, match="do not fit"):
            recipe.check()


@pytest.mark.parametrize(("mean", "std"), ANY)
def test_float16_is_off_by_less_than_an_eighth_of_a_step(mean: tuple[float, ...], std: tuple[float, ...]) -> None:
    levels = every_level(len(mean))
    back = (stored(levels, "float16", mean, std).astype(np.float64) * np.array(std) + np.array(mean)) * 255
    error = np.abs(back - levels)
    assert 0 < error.max() < 0.125


def test_a_bake_normalises_each_channel_by_its_own_numbers() -> None:
    mean, std = STATISTICS["asymmetric"]
    picture = photo(1, 5, 7)
    row = Bake(Recipe((5, 7), "stretch", "bilinear", "float32", mean, std))(png(picture)).row
    np.testing.assert_array_equal(row, exact(np.asarray(picture), mean, std).astype(np.float32), strict=True)


def test_a_bake_of_uint8_keeps_the_levels() -> None:
    picture = photo(2, 5, 7)
    row = Bake(Recipe((5, 7), "stretch", "bilinear", "uint8", *IMAGENET))(png(picture)).row
    np.testing.assert_array_equal(row, np.asarray(picture), strict=True)


@pytest.mark.parametrize(
    ("mean", "std", "hints"),
    [
        ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375), ["--mean 0.485,0.456,0.406", "--std 0.229,0.224,0.225"]),
        ((0.5, 0.5, 127.5), (0.5, 0.5, 0.5), ["0 to 255"]),
        ((0.5, 0.5, 0.5), (127.5, 127.5, 127.5), ["0 to 255", "--std 0.500,0.500,0.500"]),
        ((0.5, -0.1, 0.5), (0.5, 0.5, 0.5), ["--mean must be from 0 to 1"]),
        ((0.5, 0.5, 0.5), (0.5, 0.0, 0.5), ["--std above 0"]),
        ((0.5, 0.5, 0.5), (0.5, -0.5, 0.5), ["--std above 0"]),
        ((0.5, float("nan"), 0.5), (0.5, 0.5, 0.5), ["--mean must be"]),
        ((0.5, 0.5, 0.5), (float("nan"), 0.5, 0.5), ["--std above 0"]),
    ],
)
def test_statistics_that_make_no_sense_are_refused(mean: tuple[float, ...], std: tuple[float, ...], hints: list[str]) -> None:
    for dtype in ("float16", "float32", "uint8"):
        with pytest.raises(UsageError) as caught:
            Recipe((16, 16), "center-crop", "bilinear", dtype, mean, std).check()
        assert all(hint in str(caught.value) for hint in hints)


def test_a_std_too_small_for_float16_is_refused_and_float32_takes_it() -> None:
    mean, std = (0.0,) * 3, (0.5, 1.5e-5, 0.5)
    with pytest.raises(UsageError, match="--dtype float32"):
        Recipe((16, 16), "center-crop", "bilinear", "float16", mean, std).check()
    Recipe((16, 16), "center-crop", "bilinear", "float32", mean, std).check()


def test_a_std_too_small_for_float32_is_not_answered_with_float32() -> None:
    with pytest.raises(UsageError) as caught:
        Recipe((16, 16), "center-crop", "bilinear", "float32", (0.0,) * 3, (1e-39,) * 3).check()
    assert "use --dtype float32" not in str(caught.value)


@pytest.mark.parametrize(("mean", "std"), ANY)
def test_all_statistics_in_use_are_taken(mean: tuple[float, ...], std: tuple[float, ...]) -> None:
    for dtype in ("float16", "float32", "uint8"):
        Recipe((16, 16), "center-crop", "bilinear", dtype, mean, std).check()
