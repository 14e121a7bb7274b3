"""RandomErasing: boxes with torchvision's distribution, erased as torchvision erases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from made import made, noise
from test_augment_resize import DRAWS, LIMIT, distance
from torchvision import transforms
from torchvision.transforms import functional as vision

from convert.errors import PrebakeError
from readers import RandomCrop, RandomErasing, RandomHorizontalFlip, open_dataset
from readers.augment import bind

Array = npt.NDArray[Any]


def erased(image: torch.Tensor) -> tuple[int, int, int, int] | None:
    """Top, left, height and width of what is 1 in (C, H, W); nothing else may be."""
    rows, columns = image[0].any(dim=1).nonzero(), image[0].any(dim=0).nonzero()
    if not len(rows):
        return None
    top, left, bottom, right = int(rows[0]), int(columns[0]), int(rows[-1]) + 1, int(columns[-1]) + 1
    assert (image[:, top:bottom, left:right] == 1).all()
    assert image.sum() == len(image) * (bottom - top) * (right - left)
    return top, left, bottom - top, right - left


@pytest.mark.parametrize(("scale", "ratio"), [((0.02, 0.33), (0.3, 3.3)), ((0.5, 0.9), (0.5, 0.8))])
def test_boxes_have_torchvisions_distribution(scale: tuple[float, float], ratio: tuple[float, float]) -> None:
    height, width = 24, 40
    random, count = np.random.default_rng(0), DRAWS
    images = torch.zeros(count, 1, height, width)
    RandomErasing(1.0, scale, ratio, 1.0).apply(images, lambda: random.random(count))
    ours = [erased(image) for image in images]
    torch.manual_seed(0)
    blank = torch.zeros(1, height, width)
    theirs = [transforms.RandomErasing.get_params(blank, scale, ratio, [1.0])[:4] for _ in range(count)]
    theirs = [None if box == (0, 0, height, width) else box for box in theirs]  # ten attempts failed
    assert abs(ours.count(None) - theirs.count(None)) < 5 * np.sqrt(count * 0.25)
    mine, right = (np.array([box for box in boxes if box is not None]).T for boxes in (ours, theirs))
    for one, other in zip(mine, right, strict=True):
        assert distance(one, other) < LIMIT
    assert distance(mine[2] * mine[3], right[2] * right[3]) < LIMIT
    assert distance(mine[2] / mine[3], right[2] / right[3]) < LIMIT


def test_what_never_fits_is_left_as_it_is() -> None:
    images = torch.zeros(50, 3, 8, 8)
    RandomErasing(1.0, (1.0, 1.0), (1.0, 1.0), 1.0).apply(images, lambda: np.linspace(0, 0.99, 50))
    assert not images.any()
    assert not transforms.RandomErasing(1.0, (1.0, 1.0), (1.0, 1.0), 1.0)(images[0]).any()


@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_it_happens_with_its_probability(p: float) -> None:
    random = np.random.default_rng(1)
    images = torch.zeros(4000, 1, 8, 8)
    RandomErasing(p, (0.1, 0.2), (1.0, 1.0), 1.0).apply(images, lambda: random.random(4000))
    share = float(images.amax(dim=(1, 2, 3)).mean())
    assert share == p if p in (0, 1) else abs(share - p) < 0.03


@pytest.mark.parametrize("value", [0, 0.5, [2.0], (0.1, -0.2, 3.0)])
@pytest.mark.parametrize("pixels", ["normalized", "unit"])
def test_values_are_torchvisions_after_normalize(baked: Path, monkeypatch: pytest.MonkeyPatch, value: Any, pixels: Any) -> None:
    drawn, draw = list[Any](), RandomErasing.draw

    def spy(self: RandomErasing, height: int, width: int, uniform: Any) -> Any:
        drawn.append(draw(self, height, width, uniform))
        return drawn[-1]

    monkeypatch.setattr(RandomErasing, "draw", spy)
    dataset = open_dataset(baked, augment=[RandomHorizontalFlip(1.0), RandomErasing(0.8, value=value)], pixels=pixels)
    plain = dataset.with_(augment=None)
    images = torch.utils.data.default_collate(list(dataset.__getitems__(range(len(dataset)))))[0]
    boxes, chosen, _ = drawn[0]
    assert 0 < chosen.sum() < len(chosen)
    for i, image in enumerate(images):
        right = vision.hflip(plain[i][0])
        if chosen[i]:
            numbers = torch.tensor(np.atleast_1d(value), dtype=torch.float32)[:, None, None]
            right = vision.erase(right, *boxes[:, i].tolist(), numbers)
        assert torch.equal(image, right)


def test_noise_is_normal_and_another_one_for_each_picture(tmp_path: Path) -> None:
    levels = np.zeros((64, 32, 32, 3), np.uint8)
    path = made(tmp_path, levels, "uint8", ((0.0,) * 3, (1.0,) * 3))
    dataset = open_dataset(path, augment=[RandomErasing(1.0, (0.5, 0.5), (1.0, 1.0), "random")])
    torch.manual_seed(3)
    images = torch.stack([image for image, _ in dataset])
    values = images[images != 0]
    assert len(values) == 64 * 23 * 23 * 3
    assert abs(float(values.mean())) < 0.02
    assert abs(float(values.std()) - 1) < 0.02
    assert len(set(values.tolist())) > 0.9 * len(values)
    torch.manual_seed(3)
    assert torch.equal(torch.stack([image for image, _ in dataset]), images)


def test_levels_are_erased_as_levels(tmp_path: Path) -> None:
    path = made(tmp_path, noise(0, 4, 16, 16, 3) // 2, "float16")
    dataset = open_dataset(path, augment=[RandomErasing(1.0, value=(200, 201, 202))], pixels="uint8")
    image = dataset[0][0]
    assert image.dtype == torch.uint8
    assert [int(plane.max()) for plane in image] == [200, 201, 202]


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    shape = (16, 16, 3)
    for step, what in (
        (RandomErasing(1.5), "probability"),
        (RandomErasing(scale=(0.1, 1.1)), "scale"),
        (RandomErasing(ratio=(2.0, 1.0)), "ratio"),
        (RandomErasing(value=(1.0, 2.0)), "value"),
        (RandomErasing(value="noise"), "value"),  # type: ignore[arg-type]
        (RandomErasing(value=float("nan")), "value"),
        (RandomErasing(value=None), "value"),  # type: ignore[arg-type]
    ):
        with pytest.raises(PrebakeError, match=what):
            bind([step], shape)
    path = made(tmp_path, noise(0, 2, 16, 16, 3), "uint8")
    values: list[Any] = ["random", 0.5, 256, -1]
    for value in values:
        with pytest.raises(PrebakeError, match="whole"):
            open_dataset(path, augment=[RandomErasing(value=value)], pixels="uint8")
        open_dataset(path, augment=[RandomErasing(value=value)])
    with pytest.raises(PrebakeError, match="before RandomErasing"):
        bind([RandomErasing(), RandomCrop(8)], shape)
