"""A bake's values by other statistics, from 0 to 1 or as levels: what torchvision makes of the same levels."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from conftest import bake
from made import made, noise
from test_levels import STATISTICS
from torchvision.transforms import functional as vision

from convert.errors import PrebakeError
from readers import CenterCrop, RandomCrop, RandomHorizontalFlip, open_dataset

KINDS = ["float16", "float32", "uint8", "gray float16", "gray uint8", "gray uint16"]
OTHER = ((0.5, 0.4, 0.3), (0.5, 0.25, 0.2))


def every_level(kind: str) -> npt.NDArray[Any]:
    if kind.endswith("uint16"):
        return np.arange(1 << 16, dtype=np.uint16).reshape(4, 128, 128, 1)
    shifts = (0, 77, 140)[: 1 if "gray" in kind else 3]
    return np.stack([np.roll(np.arange(256, dtype=np.uint8), shift) for shift in shifts], axis=1).reshape(1, 16, 16, -1)


def unit(levels: npt.NDArray[Any]) -> torch.Tensor:
    """(N, C, H, W), exact: float64."""
    return torch.from_numpy(levels.astype(np.float64) / np.iinfo(levels.dtype).max).permute(0, 3, 1, 2)


def images(dataset: Any) -> torch.Tensor:
    return torch.stack([image for image, _ in dataset])


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_every_level_is_what_torchvision_makes_of_it(kind: str, shift: int, tmp_path: Path) -> None:
    levels = every_level(kind)
    channels = levels.shape[3]
    path = made(tmp_path, levels, kind.split()[-1], shift=shift)
    right = unit(levels)
    mean, std = (numbers[:channels] for numbers in OTHER)
    half = [] if kind.endswith("uint16") else [(torch.float16, 4e-3)]  # refused for 16-bit levels
    for dtype, atol in ((torch.float32, 1e-6), (torch.float64, 1e-6), *half):
        other = open_dataset(path, mean=mean, std=std, dtype=dtype)
        torch.testing.assert_close(images(other), vision.normalize(right, list(mean), list(std)).to(dtype), atol=atol, rtol=0)
        plain = images(open_dataset(path, pixels="unit", dtype=dtype))
        torch.testing.assert_close(plain, right.to(dtype), atol=atol / 4, rtol=0)
        assert (float(plain.min()), float(plain.max())) == (0, 1)
    whole = images(open_dataset(path, pixels="uint8"))
    assert whole.dtype == (torch.uint16 if kind.endswith("uint16") else torch.uint8)
    assert np.array_equal(whole.permute(0, 2, 3, 1).numpy(), levels)


@pytest.mark.parametrize("name", [name for name in STATISTICS if name != "grey"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_levels_are_exact_for_all_statistics_in_use(name: str, dtype: str, tmp_path: Path) -> None:
    levels = every_level(dtype)
    path = made(tmp_path, levels, dtype, STATISTICS[name])
    assert np.array_equal(images(open_dataset(path, pixels="uint8")).permute(0, 2, 3, 1).numpy(), levels)
    stored = (dtype, name) == ("float16", "plain")  # these are the baked values themselves, as they were rounded
    torch.testing.assert_close(images(open_dataset(path, pixels="unit")), unit(levels).float(), atol=3e-4 if stored else 1e-7, rtol=0)


@pytest.mark.parametrize("options", [{"pixels": "uint8"}, {"pixels": "unit"}, {"mean": OTHER[0], "std": OTHER[1]}, {}])
def test_every_format_crops_flips_and_pads_them(baked: Path, options: dict[str, Any]) -> None:
    steps = [RandomHorizontalFlip(1.0), RandomCrop((70, 71), padding=(4, 3))]
    dataset, plain = open_dataset(baked, augment=steps, **options), open_dataset(baked, pixels="uint8")
    torch.manual_seed(0)
    found = torch.utils.data.default_collate(list(dataset.__getitems__(range(len(dataset)))))[0]
    for i, image in enumerate(found):
        around = vision.pad(vision.hflip(plain[i][0]), [4, 3])
        if dataset.pixels != "uint8":
            around = vision.normalize(around / 255, list(dataset.mean), list(dataset.std))
        places = [around[:, top : top + 70, left : left + 71] for top in (0,) for left in (0, 1)]
        assert min(float((place.float() - image.float()).abs().max()) for place in places) < (2e-3 if not options else 1e-6)


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8", "uint16"])
def test_padding_is_the_black_that_a_bake_has(dtype: str, shift: int, tmp_path: Path) -> None:
    levels = noise(0, 2, 10, 10, 1 if dtype == "uint16" else 3)
    levels[1, :1] = 0
    path = made(tmp_path, levels, dtype, shift=shift)
    dataset, black = open_dataset(path, augment=[RandomCrop((11, 10), padding=(0, 1, 0, 1))]), open_dataset(path)[1][0][:, :1]
    borders = [(torch.equal(image[:, :1], black), torch.equal(image[:, -1:], black)) for image in (dataset[0][0] for _ in range(20))]
    assert set(borders) == {(True, False), (False, True)}


def test_what_values_are_is_said_and_kept(baked: Path) -> None:
    dataset = open_dataset(baked)
    other = dataset.with_(mean=OTHER[0], std=np.array(OTHER[1]), augment=[CenterCrop(20)])
    assert (other.mean, other.std, other.pixels) == (*OTHER, "normalized")
    for same in (pickle.loads(pickle.dumps(other)), other.subset(range(len(other))), other.split(0.5)[0].with_(return_index=False)):
        assert (same.mean, same.std) == OTHER
    assert torch.equal(pickle.loads(pickle.dumps(other))[2][0], other[2][0])
    for pixels in ("unit", "uint8"):
        plain = dataset.with_(pixels=pixels)
        assert (plain.mean, plain.std, plain.pixels) == ((0.0,) * 3, (1.0,) * 3, pixels)
    assert dataset.with_(std=(1.0, 1.0, 1.0)).mean == dataset.mean
    assert torch.equal(other.with_(mean=None, std=None, augment=None)[3][0], dataset[3][0])
    assert np.array_equal(other.image(1), dataset.image(1))


def test_like_compares_what_is_handed_out(photos: Path, baked: Path, tmp_path: Path) -> None:
    bake(photos, tmp_path / "other", size=(16, 16), mean=OTHER[0], std=OTHER[1])
    train = open_dataset(baked, mean=OTHER[0], std=OTHER[1])
    assert open_dataset(tmp_path / "other", like=train).mean == train.mean
    assert open_dataset(tmp_path / "other", like=open_dataset(baked, pixels="unit"), pixels="unit").pixels == "unit"
    for options, what in (({}, "mean"), ({"mean": OTHER[0]}, "std"), ({"pixels": "uint8"}, "pixels")):
        with pytest.raises(PrebakeError, match=f"other {what} than.*same mean=, std= and pixels="):
            open_dataset(baked, like=train, **options)
    with pytest.raises(PrebakeError, match="other mean"):
        open_dataset(baked, like=tmp_path / "other")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"mean": (123.7, 116.3, 103.5)}, "divide by 255"),
        ({"mean": (0.5, 0.5)}, "3 numbers"),
        ({"mean": 0.5}, "3 numbers"),
        ({"std": (0.5, 0.0, 0.5)}, "std above 0"),
        ({"std": (0.5, float("nan"), 0.5)}, "std above 0"),
        ({"std": "abc"}, "3 numbers"),
        ({"pixels": "float"}, "choose"),
        ({"pixels": "unit", "mean": (0.5,) * 3}, "leave mean= and std= out"),
        ({"pixels": "uint8", "std": (0.5,) * 3}, "leave mean= and std= out"),
        ({"pixels": "uint8", "dtype": torch.float16}, "exclude"),
    ],
)
def test_what_makes_no_sense_is_refused(baked: Path, options: dict[str, Any], what: str) -> None:
    with pytest.raises(PrebakeError, match=what):
        open_dataset(baked, **options)
    with pytest.raises(PrebakeError, match=what):
        open_dataset(baked).with_(**options)
    with pytest.raises(PrebakeError, match=r"knows augment.*not values"):
        open_dataset(baked).with_(values=1)
