"""Any sequence of crops and flips, read as one window, is torchvision's functions applied one after the other."""

from __future__ import annotations

import pickle
from collections.abc import Callable
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
from stepwise import one_after_the_other, sides
from torchvision import transforms
from torchvision.transforms import functional as vision
from torchvision.transforms import v2

from convert.errors import PrebakeError
from readers import CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip, open_dataset
from readers.augment import Augment, Window, bind
from readers.render import render, render_size
from readers.rows import Rows
from readers.values import baked_values

HEIGHT, WIDTH = 20, 27
SHAPE = (HEIGHT, WIDTH, 3)
LARGEST = np.nextafter(1.0, 0.0)
INDEX = np.array([3, 0, 5, 5, 1, 4, 2, 0], np.int64)
Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("augment")
    bake(image_folder(folder / "photos", {"a": 3, "b": 3}), folder / "baked", size=(HEIGHT, WIDTH), shards=1)
    return folder / "baked"


BLACK = ((0 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])).astype(np.float16)
PADDING = st.none() | st.integers(0, 30) | st.tuples(*[st.integers(0, 9)] * 2) | st.tuples(*[st.integers(0, 9)] * 4)


@st.composite
def sequences(draw: st.DrawFn) -> list[Augment]:
    height, width, steps = HEIGHT, WIDTH, list[Augment]()
    for kind in draw(st.lists(st.sampled_from([CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip]), max_size=6)):
        if kind in (RandomHorizontalFlip, RandomVerticalFlip):
            steps.append(kind(draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))))
            continue
        padding = draw(PADDING) if kind is RandomCrop else None
        left, top, right, bottom = sides(padding)
        height, width = height + top + bottom, width + left + right
        size = draw(st.integers(max(1, height - 6), height)), draw(st.integers(max(1, width - 6), width))
        if kind is CenterCrop:
            steps.append(CenterCrop(size))
        elif size == (height, width):
            height, width = height - top - bottom, width - left - right
            continue
        else:
            steps.append(RandomCrop(size, padding))
        height, width = size
    return steps


@settings(deadline=None, max_examples=150)
@given(steps=sequences(), seed=st.integers(0, 1 << 32), dtype=st.sampled_from([torch.float16, torch.float32]))
def test_any_sequence_is_torchvisions(small: Path, *, steps: list[Augment], seed: int, dtype: torch.dtype) -> None:
    random, drawn, rows = np.random.default_rng(seed), list[Floats](), Rows(small)

    def uniform() -> Floats:
        drawn.append(random.choice([0.0, LARGEST, *random.random(6)], len(INDEX)))
        return drawn[-1]

    bound = bind(steps, SHAPE)
    out = torch.empty((len(INDEX), *render_size(rows, bound, INDEX)), dtype=dtype)
    render(rows, INDEX, bound, values=baked_values(rows.manifest), uniform=uniform, out=out)
    pictures = torch.from_numpy(np.load(small / "shard-00000.npy")).permute(0, 3, 1, 2)
    for place, index in enumerate(INDEX):
        expected = one_after_the_other(pictures[index], steps, iter([float(draws[place]) for draws in drawn]), BLACK)
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
            bind(steps, SHAPE)
    for step in (RandomCrop(21), CenterCrop(21), RandomCrop((20, 28)), CenterCrop((21, 5))):
        with pytest.raises(PrebakeError, match="does not fit"):
            bind([step], SHAPE)
    with pytest.raises(PrebakeError, match=f"into rows of {HEIGHT}x{WIDTH}: ") as caught:
        bind([RandomCrop(HEIGHT + 9, padding=4)], SHAPE)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert len(bind([RandomCrop((HEIGHT, WIDTH - 1)), CenterCrop((HEIGHT, WIDTH - 1))], SHAPE)) == 2


@pytest.mark.parametrize("size", [0, -3, 2.5, (3,), (3, 3, 3), (3, 0), (3, 2.5), "33", None])
def test_a_size_that_is_none_is_refused(size: Any) -> None:
    with pytest.raises(PrebakeError, match="size"):
        bind([RandomCrop(size)], SHAPE)


def test_sizes_may_be_lists_and_numpy_integers() -> None:
    sizes: list[Any] = [np.int64(8), [8, 8], (np.int32(8), 8)]
    for size in sizes:
        window = Window(1, HEIGHT, WIDTH)
        bind([CenterCrop(size)], SHAPE)
        CenterCrop(size).apply(window, lambda: np.zeros(1))
        assert (window.height, window.width, window.top[0], window.left[0]) == (8, 8, 6, 10)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_a_probability_is_from_0_to_1(p: float) -> None:
    with pytest.raises(PrebakeError, match="probability"):
        bind([RandomVerticalFlip(p)], SHAPE)


JITTER = transforms.ColorJitter(0.4)
OTHERS = [
    [JITTER],
    [RandomHorizontalFlip(), JITTER],
    [v2.RandomHorizontalFlip()],
    JITTER,
    transforms.Compose([JITTER]),
    torch.nn.Sequential(torch.nn.Identity(), JITTER),
    [vision.hflip],
    [RandomHorizontalFlip],
    ["RandomHorizontalFlip"],
    [None],
]


@pytest.mark.parametrize("steps", OTHERS)
def test_what_expects_pixels_is_sent_to_where_they_are(steps: Any, small: Path) -> None:
    with pytest.raises(PrebakeError, match=r"InPixels\(\.\.\.\).* transform="):
        open_dataset(small, augment=steps)
