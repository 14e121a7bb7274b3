"""The way to a device: the same batches as on the CPU. Without a GPU the same code runs with no streams."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import bake
from made import made, noise
from processes import wait_for
from staged import stage

from convert.errors import PrebakeError
from readers import (
    CenterCrop,
    InPixels,
    Loader,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    open_dataset,
)
from readers.device import Staging
from readers.fill import Fill

STEPS = [RandomCrop((40, 48)), RandomHorizontalFlip(), RandomVerticalFlip(0.3), RandomHorizontalFlip(0.2)]
CPU = torch.device("cpu")


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> None:
    stage(monkeypatch)


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
        staging = Staging(CPU, fill, dtype=torch.float32)
        assert staging.type_for(plain=True) == right
        assert staging.type_for(plain=False) == torch.float32


@pytest.mark.usefixtures("staged")
def test_a_lost_row_is_told_at_its_batch(baked: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(baked, tmp_path / "copy")
    dataset = open_dataset(copy)
    first = dataset.manifest.shards[0].count
    sorted(copy.glob("shard-*"))[1].unlink()
    loader = Loader(dataset, first, prefetch=2)
    iterator = iter(loader)
    iterator._begin_some()  # noqa: SLF001
    wait_for(lambda: all(batch.filled for batch in iterator._waiting))  # noqa: SLF001
    assert len(next(iterator)[0]) == first
    assert loader.state_dict()["samples"] == first
    with pytest.raises(PrebakeError, match=f"index {first}"):
        next(iterator)


@pytest.mark.parametrize("device", [None, "cpu"])
def test_inference_mode_may_begin_and_end_anywhere(baked: Path, request: pytest.FixtureRequest, *, device: str | None) -> None:
    if device:
        request.getfixturevalue("staged")
    loader = Loader(open_dataset(baked, augment=[*STEPS, InPixels(torch.clone)], mean=(0.5,) * 3), 7, shuffle=True, prefetch=2)
    expected = batches(loader)
    loader.set_epoch(0)
    iterator = iter(loader)
    found = [next(iterator)]
    with torch.inference_mode():
        found += [next(iterator), next(iterator)]
    found += iterator
    assert all(torch.equal(a, b) for some, right in zip(found, expected, strict=True) for a, b in zip(some, right, strict=True))
    weight = torch.ones((), requires_grad=True)
    (found[-1][0] * weight).sum().backward()


@pytest.mark.parametrize("memory_format", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_what_a_function_returns_comes_in_the_memory_format(
    baked: Path, request: pytest.FixtureRequest, *, device: str | None, memory_format: torch.memory_format
) -> None:
    if device:
        request.getfixturevalue("staged")
    how: Any = {"memory_format": memory_format}
    smaller, _ = next(iter(Loader(open_dataset(baked, augment=[lambda images: images[:, :, ::2]]), 4, **how)))
    assert smaller.shape == (4, 3, 32, 64)
    assert smaller.is_contiguous(memory_format=memory_format)
    features, _ = next(iter(Loader(open_dataset(baked, augment=[lambda images: images.mean((2, 3))]), 4, **how)))
    assert features.shape == (4, 3)


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


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_gets_16_bit_levels(tmp_path: Path) -> None:
    folder = made(tmp_path, noise(1, 12, 40, 32, 1, dtype="uint16"), "uint16")
    dataset = open_dataset(folder, augment=[RandomHorizontalFlip(), RandomVerticalFlip()], pixels="uint8")
    for (images, _), (there, _) in zip(Loader(dataset, 5), Loader(dataset, 5, device="cuda"), strict=True):
        assert there.dtype == torch.uint16
        assert there.cpu().numpy().tobytes() == images.numpy().tobytes()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_function_on_a_gpu_sees_what_the_callers_stream_made(baked: Path) -> None:
    added = torch.full((3, 64, 64), 0.5, device="cuda")
    right = [images + 2.5 for images, _ in Loader(open_dataset(baked), 4)]
    busy = torch.randn(4096, 4096, device="cuda")
    for _ in range(20):
        busy = (busy @ busy).clamp_(-1, 1)
    added.add_(2 + 0 * busy[0, 0])  # long after the first batch could be sent
    dataset = open_dataset(baked, augment=[lambda images: images + added])
    for (images, _), expected in zip(Loader(dataset, 4, device="cuda"), right, strict=True):
        assert torch.allclose(images.cpu(), expected)
