"""Every kind of augmentation through the Loader, in its threads and on the way to a device: what the data set itself makes of a draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import bake
from staged import stage

from readers import (
    BakedDataset,
    CenterCrop,
    InPixels,
    Loader,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    open_dataset,
)


def brighter(images: torch.Tensor) -> torch.Tensor:
    return images + 1


def mirrored(images: torch.Tensor) -> torch.Tensor:
    assert images.dtype == torch.uint8
    return images.flip(3)


STEPS: dict[str, list[Any]] = {
    "padded": [RandomCrop((40, 44), padding=6), RandomHorizontalFlip()],
    "resized": [RandomVerticalFlip(), RandomResizedCrop((32, 36)), RandomHorizontalFlip()],
    "resized and cropped": [RandomResizedCrop(40), RandomCrop(32)],
    "cropped and resized": [CenterCrop(60), RandomResizedCrop(32)],
    "erased": [RandomHorizontalFlip(), RandomErasing(1.0, value="random")],
    "a function": [RandomCrop(40), brighter, RandomErasing(1.0)],
    "in pixels": [RandomCrop(40), InPixels(mirrored, dtype=torch.uint8)],
}


@pytest.fixture(params=["float16", "uint8", "float32"])
def folder(request: pytest.FixtureRequest, photos: Path, tmp_path: Path) -> Path:
    bake(photos, tmp_path / "out", size=(64, 64), dtype=request.param)
    return tmp_path / "out"


def images(dataset: BakedDataset, monkeypatch: pytest.MonkeyPatch, *, staged: bool = False, **options: Any) -> torch.Tensor:
    """An epoch's images, in order."""
    with monkeypatch.context() as patch:
        if staged:
            stage(patch)
        return torch.cat([batch[0].clone() for batch in Loader(dataset, **{"batch_size": 7, "threads": 2} | options)])


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("pixels", ["normalized", "unit", "other"])
def test_batch_size_and_threads_change_nothing(folder: Path, name: str, pixels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"mean": (0.1, 0.5, 0.9), "std": (0.3, 0.2, 0.5)} if pixels == "other" else {"pixels": pixels}
    dataset = open_dataset(folder, augment=STEPS[name], **how)
    first = images(dataset, monkeypatch)
    assert torch.equal(images(dataset, monkeypatch, batch_size=5, threads=1), first)
    assert torch.equal(images(dataset, monkeypatch, memory_format=torch.contiguous_format), first)
    assert not torch.equal(images(dataset, monkeypatch, seed=1), first) or name == "in pixels"


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("how", [{}, {"pixels": "unit"}, {"mean": (0.1, 0.5, 0.9), "std": (0.3, 0.2, 0.5)}], ids=str)
def test_a_staged_batch_is_the_same(folder: Path, name: str, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """But for RandomResizedCrop, which a device resizes by another filter: there the same boxes, near the same pixels."""
    dataset = open_dataset(folder, augment=STEPS[name], **how)
    made, right = images(dataset, monkeypatch, staged=True), images(dataset, monkeypatch)
    assert made.shape == right.shape
    if name in ("resized", "cropped and resized"):
        std = torch.tensor(dataset.std).view(-1, 1, 1)
        assert not torch.equal(made, right)
        assert ((made - right) * std * 255).abs().mean() < 6  # noise of 12 levels, which the filters weigh in other ways
    else:
        torch.testing.assert_close(made, right, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("staged", [False, True])
def test_levels_stay_levels(folder: Path, staged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = open_dataset(folder, pixels="uint8")
    made = images(dataset, monkeypatch, staged=staged)
    assert made.dtype == torch.uint8
    assert np.array_equal(made.permute(0, 2, 3, 1).numpy(), np.stack([dataset.image(i) for i in range(len(dataset))]))
    for name in ("padded", "resized"):
        steps = open_dataset(folder, pixels="uint8", augment=STEPS[name])
        assert images(steps, monkeypatch, staged=staged).dtype == torch.uint8


def test_plain_reads_give_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in STEPS:
        pair = [images(open_dataset(folder, augment=STEPS[name], io=io), monkeypatch) for io in ("mmap", "pread")]
        assert torch.equal(*pair)
