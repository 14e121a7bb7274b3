"""Functions of a batch in `augment=`: what they get, what they may return, and what InPixels lends them."""

from __future__ import annotations

import dataclasses
import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from made import made, noise
from torch.utils.data import DataLoader, default_collate
from torchvision.transforms import v2

from convert.errors import PrebakeError
from readers import CenterCrop, InPixels, RandomCrop, RandomErasing, RandomHorizontalFlip, open_dataset

DTYPES = ["float16", "float32", "uint8"]


def batch_of(dataset: Any) -> Any:
    return default_collate(dataset.__getitems__(range(len(dataset))))[0]


def invert(images: torch.Tensor) -> torch.Tensor:
    return images.max() - images if images.dtype == torch.uint8 else 1 - images


def noisy(images: torch.Tensor, strength: float = 1.0) -> torch.Tensor:
    return images + strength * torch.rand(len(images), 1, 1, 1)


@dataclasses.dataclass
class Shrink:
    """Halves both sides."""

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool2d(images, 2)


@pytest.mark.parametrize("stored", DTYPES)
@pytest.mark.parametrize("asked", [torch.float32, torch.uint8])
def test_a_transform_gets_the_pixels_of_the_levels(stored: str, asked: torch.dtype, tmp_path: Path) -> None:
    levels = noise(0, 6, 12, 14, 3)
    seen = list[torch.Tensor]()

    def watch(images: torch.Tensor) -> torch.Tensor:
        seen.append(images.clone())
        return invert(images)

    right = torch.from_numpy(levels).permute(0, 3, 1, 2)
    path = made(tmp_path, levels, stored)
    others: list[dict[str, Any]] = [{}, {"pixels": "unit"}, {"pixels": "uint8"}, {"mean": (0.1, 0.5, 0.9), "std": (0.5,) * 3}]
    for options in others:
        dataset = open_dataset(path, augment=[InPixels(watch, asked)], **options)
        images = batch_of(dataset)
        got = seen.pop()
        assert got.dtype == asked
        if asked == torch.uint8:
            assert torch.equal(got, right)
        else:
            torch.testing.assert_close(got, right / 255, atol=6e-4 if stored == "float16" and not options else 1e-6, rtol=0)
        after = 255 - right if dataset.pixels == "uint8" else v2.functional.normalize((255 - right) / 255, dataset.mean, dataset.std)
        torch.testing.assert_close(images, after, atol=4e-3 if stored == "float16" and not options else 1e-5, rtol=0)
        assert images.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("transform", [v2.ColorJitter(0.4, 0.4, 0.4, 0.1), v2.Compose([v2.GaussianBlur(3), v2.RandomGrayscale(1.0)])])
def test_torchvisions_transforms_do_in_it_what_they_do_alone(baked: Path, transform: Any) -> None:
    dataset, plain = open_dataset(baked, augment=[InPixels(transform)]), open_dataset(baked, pixels="unit")
    torch.manual_seed(5)
    images = batch_of(dataset)
    torch.manual_seed(5)
    right = v2.functional.normalize(transform(batch_of(plain)), dataset.mean, dataset.std)
    torch.testing.assert_close(images, right, atol=4e-3, rtol=0)


def test_a_transform_may_change_the_size_and_the_type(baked: Path) -> None:
    smaller = v2.Compose([v2.Resize((20, 30)), v2.ToDtype(torch.uint8, scale=True), torch.Tensor.contiguous])
    dataset = open_dataset(baked, augment=[CenterCrop((60, 40)), InPixels(smaller)])
    images = batch_of(dataset)
    assert images.shape[1:] == (3, 20, 30)
    assert images.dtype == torch.float32
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert dataset[0][0].shape == (3, 20, 30)
    assert dataset[0][0].is_contiguous()


def test_pixels_stay_between_black_and_white_for_a_transform(baked: Path) -> None:
    def check(images: torch.Tensor) -> torch.Tensor:
        assert (float(images.min()), float(images.max())) == (0, 1)
        return images

    batch_of(open_dataset(baked, augment=[RandomErasing(1.0, value="random"), InPixels(check)]))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_any_function_of_a_batch_in_workers(baked: Path, workers: int, method: str) -> None:
    steps = [RandomHorizontalFlip(1.0), torch.neg, functools.partial(torch.add, other=2), Shrink(), InPixels(invert)]
    dataset = open_dataset(baked, augment=steps)
    plain = open_dataset(baked)
    right = Shrink()(2 - torch.stack([image for image, _ in plain]).flip(3))
    mean, std = (torch.tensor(numbers)[:, None, None] for numbers in (plain.mean, plain.std))
    right = (1 - (right * std + mean).clamp(0, 1) - mean) / std
    context = method if workers else None
    for _ in range(2 if workers and method == "fork" else 1):
        found = torch.cat([images for images, _ in DataLoader(dataset, 7, num_workers=workers, multiprocessing_context=context)])
        torch.testing.assert_close(found, right, atol=1e-4, rtol=0)
    assert torch.equal(pickle.loads(pickle.dumps(dataset))[3][0], dataset[3][0])


def test_erasing_comes_where_it_is_written(baked: Path) -> None:
    erase = RandomErasing(1.0, (0.1, 0.2), value=5.0)
    before, after = batch_of(open_dataset(baked, augment=[erase, torch.neg])), batch_of(open_dataset(baked, augment=[torch.neg, erase]))
    assert (before.min(), before.max() < 5) == (-5, True)
    assert (after.max(), after.min() > -5) == (5, True)


@pytest.mark.parametrize("wrong", [lambda images: images[1:], torch.Tensor.tolist, print, lambda images: images.sum()])
def test_what_is_no_batch_is_said(baked: Path, wrong: Callable[..., Any]) -> None:
    for step in (wrong, InPixels(wrong)):
        with pytest.raises(PrebakeError, match="must return one"):
            batch_of(open_dataset(baked, augment=[step]))
    with pytest.raises(PrebakeError, match=r"InPixels.*returned"):
        batch_of(open_dataset(baked, augment=[InPixels(v2.Grayscale())]))


def test_what_makes_no_sense_is_refused(baked: Path) -> None:
    for step in (RandomCrop(8), RandomHorizontalFlip()):
        with pytest.raises(PrebakeError, match=f"put {type(step).__name__}.* before .*neg.*come first"):
            open_dataset(baked, augment=[torch.neg, step])
    with pytest.raises(PrebakeError, match="InPixels wraps"):
        open_dataset(baked, augment=[InPixels(v2.ColorJitter)])
    with pytest.raises(PrebakeError, match=r"torch\.uint8"):
        open_dataset(baked, augment=[InPixels(invert, torch.float16)])
