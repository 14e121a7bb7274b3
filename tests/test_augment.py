"""Any sequence of crops and flips, read as one window, is torchvision's functions applied one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from conftest import bake
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import image_folder
from torchvision import transforms
from torchvision.transforms import functional as vision

from convert.errors import PrebakeError
from readers import CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip, open_dataset
from readers.augment import Augment, Window, bind
from readers.gather import gather
from readers.rows import Rows

HEIGHT, WIDTH = 20, 27
LARGEST = np.nextafter(1.0, 0.0)
INDEX = np.array([3, 0, 5, 5, 1, 4, 2, 0], np.int64)
Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("augment")
    bake(image_folder(folder / "photos", {"a": 3, "b": 3}), folder / "baked", size=(HEIGHT, WIDTH), shards=1)
    return folder / "baked"


@st.composite
def sequences(draw: st.DrawFn) -> list[Augment]:
    height, width, steps = HEIGHT, WIDTH, list[Augment]()
    for kind in draw(st.lists(st.sampled_from([CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip]), max_size=6)):
        if kind in (RandomHorizontalFlip, RandomVerticalFlip):
            steps.append(kind(draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))))
            continue
        size = draw(st.integers(max(1, height - 6), height)), draw(st.integers(max(1, width - 6), width))
        steps.append(CenterCrop(size) if size == (height, width) else kind(size))
        height, width = size
    return steps


def one_after_the_other(image: torch.Tensor, steps: list[Augment], draws: Iterator[float]) -> torch.Tensor:
    """The oracle, for one picture (C, H, W)."""
    for step in steps:
        if isinstance(step, CenterCrop):
            image = vision.center_crop(image, step.size)
        elif isinstance(step, RandomCrop):
            assert isinstance(step.size, tuple)
            top, left = (int(next(draws) * (image.shape[axis] - step.size[axis - 1] + 1)) for axis in (1, 2))
            image = vision.crop(image, top, left, *step.size)
        elif isinstance(step, RandomHorizontalFlip):
            image = vision.hflip(image) if next(draws) < step.p else image
        elif isinstance(step, RandomVerticalFlip):
            image = vision.vflip(image) if next(draws) < step.p else image
    return image


@settings(deadline=None, max_examples=150)
@given(steps=sequences(), seed=st.integers(0, 1 << 32), dtype=st.sampled_from([torch.float16, torch.float32]))
def test_any_sequence_is_torchvisions(small: Path, *, steps: list[Augment], seed: int, dtype: torch.dtype) -> None:
    random, drawn, window = np.random.default_rng(seed), list[Floats](), Window(len(INDEX), HEIGHT, WIDTH)

    def uniform() -> Floats:
        drawn.append(random.choice([0.0, LARGEST, *random.random(6)], len(INDEX)))
        return drawn[-1]

    for step in bind(steps, HEIGHT, WIDTH):
        step.apply(window, uniform)
    out = torch.empty((len(INDEX), window.height, window.width, 3), dtype=dtype)
    gather(Rows(small), INDEX, window, out)
    pictures = torch.from_numpy(np.load(small / "shard-00000.npy")).permute(0, 3, 1, 2)
    for place, index in enumerate(INDEX):
        expected = one_after_the_other(pictures[index], steps, iter([float(draws[place]) for draws in drawn]))
        assert torch.equal(out[place].permute(2, 0, 1), expected.to(dtype))


@pytest.mark.parametrize("side", range(1, 12))
def test_center_crop_has_torchvisions_offsets(side: int) -> None:
    for length in range(side, 14):
        window = Window(1, length, 13)
        CenterCrop((side, 11)).apply(window, lambda: np.zeros(1))
        numbers = torch.arange(length)[None, :, None].expand(1, length, 13)
        assert int(window.top[0]) == int(vision.center_crop(numbers, [side, 11])[0, 0, 0])


def test_random_crop_takes_every_place_as_often() -> None:
    count = 30_000
    window, random = Window(count, 7, 9), np.random.default_rng(0)
    RandomCrop((3, 4)).apply(window, lambda: random.random(count))
    counts = np.zeros((5, 6))
    np.add.at(counts, (window.top, window.left), 1)  # an offset out of range would raise
    chi_square = ((counts - count / 30) ** 2 / (count / 30)).sum()
    assert chi_square < 29 + 5 * np.sqrt(2 * 29)


def test_random_crop_never_leaves_the_row() -> None:
    for length in [*range(2, 1500), 1 << 14, (1 << 14) + 1, 65535, 65536]:
        window = Window(1, length, length)
        RandomCrop((1, length - 1)).apply(window, lambda: np.array([LARGEST]))
        assert (window.top[0], window.left[0]) == (length - 1, 1)


@pytest.mark.parametrize("p", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize(("flip", "name"), [(RandomHorizontalFlip, "flip_columns"), (RandomVerticalFlip, "flip_rows")])
def test_flips_happen_with_their_probability(flip: Callable[[float], Augment], name: str, p: float) -> None:
    window, random = Window(20_000, 4, 4), np.random.default_rng(1)
    flip(p).apply(window, lambda: np.append(random.random(19_998), [0.0, LARGEST]))
    share = getattr(window, name).mean()
    assert share == p if p in (0, 1) else abs(share - p) < 0.015
    assert not (window.flip_rows & window.flip_columns).any()


def test_a_crop_that_never_moves_or_does_not_fit_is_refused() -> None:
    for steps in ([RandomCrop((HEIGHT, WIDTH))], [CenterCrop(10), RandomCrop(10)], [RandomCrop(9), RandomHorizontalFlip(), RandomCrop(9)]):
        with pytest.raises(PrebakeError, match="never moves"):
            bind(steps, HEIGHT, WIDTH)
    for step in (RandomCrop(21), CenterCrop(21), RandomCrop((20, 28)), CenterCrop((21, 5))):
        with pytest.raises(PrebakeError, match="does not fit"):
            bind([step], HEIGHT, WIDTH)
    assert len(bind([RandomCrop((HEIGHT, WIDTH - 1)), CenterCrop((HEIGHT, WIDTH - 1))], HEIGHT, WIDTH)) == 2


@pytest.mark.parametrize("size", [0, -3, 2.5, (3,), (3, 3, 3), (3, 0), (3, 2.5), "33", None])
def test_a_size_that_is_none_is_refused(size: Any) -> None:
    with pytest.raises(PrebakeError, match="size"):
        bind([RandomCrop(size)], HEIGHT, WIDTH)


def test_sizes_may_be_lists_and_numpy_integers() -> None:
    sizes: list[Any] = [np.int64(8), [8, 8], (np.int32(8), 8)]
    for size in sizes:
        window = Window(1, HEIGHT, WIDTH)
        bind([CenterCrop(size)], HEIGHT, WIDTH)[0].apply(window, lambda: np.zeros(1))
        assert (window.height, window.width, window.top[0], window.left[0]) == (8, 8, 6, 10)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_a_probability_is_from_0_to_1(p: float) -> None:
    with pytest.raises(PrebakeError, match="probability"):
        bind([RandomVerticalFlip(p)], HEIGHT, WIDTH)


JITTER = transforms.ColorJitter(0.4)
OTHERS = [[JITTER], [RandomHorizontalFlip(), JITTER], [lambda x: x], JITTER, transforms.Compose([JITTER]), torch.nn.Sequential(JITTER)]


@pytest.mark.parametrize("steps", OTHERS)
def test_what_is_not_ours_is_sent_to_transform(steps: Any, small: Path) -> None:
    with pytest.raises(PrebakeError, match="transform="):
        open_dataset(small, augment=steps)
