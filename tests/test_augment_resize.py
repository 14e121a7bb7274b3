"""RandomResizedCrop: boxes with torchvision's distribution, and its pixels to the bit, from every kind of row."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from made import made, noise
from pictures import photo
from PIL import Image
from stepwise import SIMD, resized_alike
from torchvision import transforms
from torchvision.transforms import functional as vision

from convert.errors import PrebakeError
from readers import CenterCrop, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip, open_dataset, resize
from readers.augment import bind
from readers.augment.device import resize_boxes_on_device

DRAWS = 10_000
Array = npt.NDArray[Any]


def boxes_of(step: RandomResizedCrop, size: tuple[int, int], seed: int = 0, count: int = DRAWS) -> Array:
    random = np.random.default_rng(seed)
    return np.stack(step.boxes(*size, lambda: random.random(count)))


def distance(ours: Array, theirs: Array) -> float:
    """Kolmogorov and Smirnov's, between two samples."""
    at = np.concatenate([ours, theirs])
    below = [np.searchsorted(np.sort(sample), at, side="right") / len(sample) for sample in (ours, theirs)]
    return float(np.abs(below[0] - below[1]).max())


LIMIT = 1.95 * np.sqrt(2 / DRAWS)
"""What two samples of one distribution exceed once in a thousand tries."""


@pytest.mark.parametrize(
    ("size", "scale", "ratio"),
    [
        ((256, 256), (0.08, 1.0), (3 / 4, 4 / 3)),
        ((64, 200), (0.5, 1.0), (0.5, 1.1)),
        ((30, 40), (0.3, 0.3), (1.0, 1.0)),
        ((9, 90), (0.9, 1.0), (1.0, 2.0)),
        ((90, 9), (0.9, 1.0), (0.5, 1.0)),
    ],
)
def test_boxes_have_torchvisions_distribution(size: tuple[int, int], scale: tuple[float, float], ratio: tuple[float, float]) -> None:
    ours = boxes_of(RandomResizedCrop(8, scale, ratio), size)
    torch.manual_seed(0)
    blank = torch.empty(1, *size)
    theirs = np.array([transforms.RandomResizedCrop.get_params(blank, list(scale), list(ratio)) for _ in range(DRAWS)]).T
    for mine, right in zip(ours, theirs, strict=True):
        assert distance(mine, right) < LIMIT
    for derived in (ours[2] * ours[3], theirs[2] * theirs[3]), (ours[3] / ours[2], theirs[3] / theirs[2]):
        assert distance(*derived) < LIMIT
    assert (ours[2:] > 0).all()
    assert (ours[0] >= 0).all()
    assert (ours[0] + ours[2] <= size[0]).all()
    assert (ours[1] + ours[3] <= size[1]).all()


def test_what_does_not_fit_is_the_middle_as_in_torchvision() -> None:
    for size, ratio in (((9, 90), (1.0, 2.0)), ((90, 9), (0.5, 1.0)), ((1, 50), (3 / 4, 4 / 3)), ((20, 20), (0.9, 1.2))):
        ours = boxes_of(RandomResizedCrop(8, (5.0, 6.0), ratio), size, count=3)
        right = transforms.RandomResizedCrop.get_params(torch.empty(1, *size), [5.0, 6.0], list(ratio))
        assert ours.T.tolist() == [list(right)] * 3


def test_every_draw_is_asked_for_whatever_the_numbers_are() -> None:
    asked = []
    for value in (0.0, 0.3, np.nextafter(1.0, 0.0)):
        calls = list[int]()

        def uniform(value: float = value, calls: list[int] = calls) -> Array:
            calls.append(1)
            return np.full(4, value)

        RandomResizedCrop(8).boxes(256, 256, uniform)
        asked.append(len(calls))
    assert len(set(asked)) == 1


KINDS = ["float16", "float32", "uint8", "gray float16", "gray uint8", "gray uint16"]


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_pixels_are_torchvisions_to_the_bit(kind: str, shift: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dtype, channels = kind.split()[-1], 1 if "gray" in kind else 3
    levels = noise(1, 12, 40, 52, channels, dtype="uint16" if dtype == "uint16" else "uint8")
    path = made(tmp_path, levels, dtype, shift=shift)
    drawn = record(monkeypatch)
    for size in (24, (60, 33)):
        dataset = open_dataset(path, augment=[RandomResizedCrop(size)], pixels="uint8")
        for i, made_levels in enumerate(levels):
            image = dataset[i][0]
            top, left, height, width = (int(side[0]) for side in drawn[-1])
            picture = Image.fromarray(made_levels[:, :, 0] if channels == 1 else made_levels)
            right = vision.resized_crop(picture, top, left, height, width, list(np.broadcast_to(size, 2).tolist()))
            assert resized_alike(image.permute(1, 2, 0).numpy(), np.array(right).reshape(*right.size[::-1], channels))


def record(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every draw of boxes, in order."""
    drawn, boxes = list[Any](), RandomResizedCrop.boxes

    def spy(self: RandomResizedCrop, height: int, width: int, uniform: Any) -> Any:
        drawn.append(boxes(self, height, width, uniform))
        return drawn[-1]

    monkeypatch.setattr(RandomResizedCrop, "boxes", spy)
    return drawn


def test_values_are_those_of_the_levels_in_every_format(baked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = record(monkeypatch)
    dataset = open_dataset(baked, augment=[RandomResizedCrop(32), RandomHorizontalFlip(1.0)])
    oracle = transforms.Compose([transforms.ToTensor(), transforms.Normalize(dataset.mean, dataset.std)])
    images = torch.utils.data.default_collate(list(dataset.__getitems__(range(len(dataset)))))[0]
    for i in range(len(dataset)):
        box = [int(side[i]) for side in drawn[0]]
        picture = vision.hflip(vision.resized_crop(Image.fromarray(dataset.image(i)), *box, [32, 32]))
        torch.testing.assert_close(images[i], oracle(picture), atol=2e-6 if SIMD else 2.01 / 255 / min(dataset.std), rtol=0)


def test_steps_before_and_after_are_taken_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = np.stack([np.asarray(photo(i, 40, 52)) for i in range(8)])
    drawn = record(monkeypatch)
    flips = RandomHorizontalFlip(1.0), RandomVerticalFlip(1.0)
    steps = [CenterCrop((36, 44)), flips[0], RandomResizedCrop(30), CenterCrop((24, 28)), flips[1], RandomCrop(26, padding=(3, 1, 0, 4))]
    path = made(tmp_path, levels, "uint8")
    dataset = open_dataset(path, augment=steps, pixels="uint8")
    found = set()
    for i, picture in enumerate(levels):
        image = dataset[i][0].to(torch.int64)
        box = [int(side[0]) for side in drawn[-1]]
        right: Any = vision.hflip(vision.center_crop(Image.fromarray(picture), [36, 44]))
        right = vision.vflip(vision.center_crop(vision.resized_crop(right, *box, [30, 30]), [24, 28]))
        right = vision.pil_to_tensor(vision.pad(right, [3, 1, 0, 4])).to(torch.int64)
        places = [(y, x) for y in range(29 - 26 + 1) for x in range(31 - 26 + 1)]
        errors = {at: (right[:, at[0] : at[0] + 26, at[1] : at[1] + 26] - image).abs().max() for at in places}
        best = min(errors, key=lambda at: errors[at])
        assert errors[best] <= 1  # the flip before the resizing is made after it
        found.add(best)
    assert len(found) > 3


def test_what_makes_no_sense_is_refused() -> None:
    shape = (64, 64, 3)
    for late in (RandomResizedCrop(8), RandomCrop(64, padding=4)):
        with pytest.raises(PrebakeError, match="resized once, and padded after"):
            bind([late, RandomResizedCrop(16)], shape)
    for step, what in (
        (RandomResizedCrop(0), "size"),
        (RandomResizedCrop(8, scale=(0.5, 0.1)), "scale"),
        (RandomResizedCrop(8, scale=(0.0, 0.1)), "scale"),
        (RandomResizedCrop(8, scale=0.5), "scale"),  # type: ignore[arg-type]
        (RandomResizedCrop(8, ratio=(0.5, float("inf"))), "ratio"),
        (RandomResizedCrop(8, ratio=(0.0, 1.0)), "ratio"),
    ):
        with pytest.raises(PrebakeError, match=what):
            bind([step], shape)
    with pytest.raises(PrebakeError, match="does not fit"):
        bind([RandomResizedCrop(16), RandomCrop(17)], shape)


@pytest.mark.parametrize(("side", "limit"), [(256, 2.0), (400, 2.0)])
def test_on_a_device_it_is_close_to_pillow(side: int, limit: float) -> None:
    levels = np.stack([np.asarray(photo(i, side, side)) for i in range(12)])
    boxes = boxes_of(RandomResizedCrop(224), (side, side), count=12).T
    pixels = torch.from_numpy(levels).permute(0, 3, 1, 2)
    ours = resize_boxes_on_device(pixels, torch.from_numpy(boxes), (224, 224))
    theirs = torch.stack(
        [
            vision.pil_to_tensor(vision.resized_crop(Image.fromarray(picture), *box.tolist(), [224, 224]))
            for picture, box in zip(levels, boxes, strict=True)
        ]
    )
    assert ours.dtype == torch.float32
    assert float((ours - theirs).abs().mean()) < limit
    whole = resize_boxes_on_device(pixels.double(), torch.tensor([[0, 0, side, side]] * 12), (side, side))
    if side == 256:
        assert torch.equal(whole, pixels.double())


@pytest.mark.parametrize("door", ["private", "public"])
@pytest.mark.parametrize("channels", [1, 3])
def test_any_sides_become_any_others(door: str, channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if door == "public":
        monkeypatch.setattr(resize, "_bilinear", resize._interpolate)  # noqa: SLF001 - what there is without torch's private one
    random = np.random.default_rng(0)
    for height, width in itertools.product((1, 2, 3, 9, 80), repeat=2):
        levels = random.integers(0, 256, (height, width, channels), np.uint8)
        for size in ((1, 1), (1, 7), (64, 1), (30, 41)):
            made = resize.Resize(*size, channels)(levels).numpy()
            right = Image.fromarray(levels if channels == 3 else levels[:, :, 0]).resize(size[::-1], Image.Resampling.BILINEAR)
            assert np.abs(made.astype(int) - np.asarray(right).reshape(*size, channels)).max() <= 1
