"""The way to a device: the same batches as on the CPU. Without a GPU the same code runs with no streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import bake

from readers import CenterCrop, Loader, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip, open_dataset
from readers.device import Staging
from readers.fill import Fill

STEPS = [RandomCrop((40, 48)), RandomHorizontalFlip(), RandomVerticalFlip(0.3), RandomHorizontalFlip(0.2)]
CPU = torch.device("cpu")


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readers.loader.staging_for", lambda _device, fill, **how: Staging(CPU, fill, **how))


def batches(loader: Loader) -> list[Any]:
    return [[tensor.clone() for tensor in batch] for batch in loader]


@pytest.mark.parametrize("memory_format", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("stored", ["float16", "float32", "uint8"])
def test_a_staged_batch_is_the_same(
    photos: Path, tmp_path: Path, request: pytest.FixtureRequest, *, stored: str, dtype: torch.dtype, memory_format: torch.memory_format
) -> None:
    bake(photos, tmp_path / "out", size=(64, 64), dtype=stored)
    dataset = open_dataset(tmp_path / "out", augment=STEPS, return_index=True)
    options: dict[str, Any] = {"shuffle": True, "dtype": dtype, "memory_format": memory_format, "threads": 2}
    expected = batches(Loader(dataset, 7, **options))
    request.getfixturevalue("staged")
    for batch, right in zip(batches(Loader(dataset, 7, **options)), expected, strict=True):
        assert batch[0].dtype == dtype
        assert batch[0].is_contiguous(memory_format=memory_format)
        assert all(torch.equal(a, b) for a, b in zip(batch, right, strict=True))


@pytest.mark.parametrize("resize", ["center-crop", "short"])
@pytest.mark.usefixtures("staged")
def test_levels_and_float16_become_the_same_values(photos: Path, tmp_path: Path, resize: str) -> None:
    """To the rounding of float16, of values up to 2.64: what was cropped; what was resized, from equal levels, to float32's."""
    for stored in ("uint8", "float16"):
        bake(photos, tmp_path / stored, size=(64, 64), dtype=stored, resize=resize)
    for steps, limit in (([RandomCrop(48), RandomHorizontalFlip()], 1.3e-3), ([CenterCrop(48), RandomResizedCrop(20)], 1.3e-3)):
        one, other = (Loader(open_dataset(tmp_path / stored, augment=steps), 7, shuffle=True) for stored in ("uint8", "float16"))
        for (images, labels), (others, known) in zip(one, other, strict=True):
            assert torch.equal(labels, known)
            torch.testing.assert_close(images, others, atol=limit, rtol=0)


def test_a_staged_batch_goes_over_in_the_smaller_type(photos: Path, tmp_path: Path) -> None:
    for stored, right in {"uint8": torch.uint8, "float16": torch.float16, "float32": torch.float32}.items():
        bake(photos, tmp_path / stored, size=(16, 16), dtype=stored)
        fill = Fill(open_dataset(tmp_path / stored), 0)
        staging = Staging(CPU, fill, dtype=torch.float32, memory_format=torch.channels_last)
        assert staging.type_for(plain=True) == right
        assert staging.type_for(plain=False) == torch.float32


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("stored", ["float16", "uint8"])
def test_a_gpu_gets_the_same(photos: Path, tmp_path: Path, stored: str) -> None:
    bake(photos, tmp_path / "out", size=(64, 64), dtype=stored)
    dataset = open_dataset(tmp_path / "out", augment=STEPS)
    for _ in range(20):
        for (images, labels), (there, labels_there) in zip(
            Loader(dataset, 7, shuffle=True), Loader(dataset, 7, shuffle=True, device="cuda"), strict=True
        ):
            assert there.is_cuda
            assert labels_there.is_cuda
            assert torch.allclose(there.cpu(), images, atol=1e-6)
            assert torch.equal(labels_there.cpu(), labels)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_that_lags_behind_gets_the_right_batches(photos: Path, tmp_path: Path) -> None:
    bake(photos, tmp_path / "out", size=(64, 64))
    dataset = open_dataset(tmp_path / "out")
    right = [images.double().sum() for images, _ in Loader(dataset, 4)]
    busy = torch.randn(4096, 4096, device="cuda")
    sums = []
    for images, _ in Loader(dataset, 4, device="cuda"):
        for _ in range(20):
            busy = (busy @ busy).clamp_(-1, 1)  # the batch is used long after the next ones were sent
        sums.append(images.double().sum())
    assert torch.allclose(torch.stack(sums).cpu(), torch.stack(right), rtol=1e-6)
