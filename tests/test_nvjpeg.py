"""`decode="nvjpeg"`: the same batches, decoded where the device is. Without a GPU torchvision decodes on the CPU in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from free import made_free, made_jpegs
from pictures import jpeg, photo
from staged import stage

from convert.errors import PrebakeError
from readers import CenterCrop, Loader, RandomCrop, RandomErasing, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip, open_dataset

SIZES = [(48, 61), (50, 48), (48, 48), (90, 48), (53, 77)]
FLIPS = [RandomHorizontalFlip(), RandomVerticalFlip()]
STEPS: dict[str, list[Any]] = {
    "cropped": [*FLIPS, RandomCrop(41), *FLIPS],
    "resized": [RandomResizedCrop((30, 24)), *FLIPS],
    "resized and cropped": [CenterCrop(44), RandomResizedCrop(40), RandomCrop(32), *FLIPS],
}


@pytest.fixture(params=["RGB", "L"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    rows = [jpeg(photo(number, *size).convert(request.param)) for number, size in enumerate(SIZES)]
    return made_jpegs(tmp_path, rows, SIZES, channels=1 if request.param == "L" else 3)


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> None:
    stage(monkeypatch)


@pytest.mark.usefixtures("staged")
@pytest.mark.parametrize("name", STEPS)
def test_the_same_pictures_in_the_same_places(folder: Path, name: str) -> None:
    for pixels in ("uint8", "normalized"):
        dataset = open_dataset(folder, augment=STEPS[name], pixels=pixels)
        options: dict[str, Any] = {"shuffle": True, "threads": 2}
        std = 1 if pixels == "uint8" else 255 * torch.tensor(dataset.std).view(-1, 1, 1)
        for (images, labels), (others, known) in zip(
            Loader(dataset, 3, decode="nvjpeg", **options), Loader(dataset, 3, **options), strict=True
        ):
            assert torch.equal(labels, known)
            assert images.dtype == others.dtype
            assert images.is_contiguous(memory_format=torch.channels_last)
            away = ((images.float() - others.float()) * std).abs()
            assert away.mean() < (0.01 if name == "cropped" else 0.6)  # resized: rounded once instead of twice


@pytest.mark.usefixtures("staged")
def test_a_broken_file_is_named(tmp_path: Path) -> None:
    for number, broken in enumerate((b"no picture, but long enough", jpeg(photo(0, 40, 40)))):
        rows = [jpeg(photo(0, 48, 48)), broken]
        dataset = open_dataset(made_jpegs(tmp_path / str(number), rows, [(48, 48)] * 2), augment=[RandomResizedCrop(8)])
        with pytest.raises(PrebakeError, match=r"its JPEG .* index 1"):
            list(Loader(dataset, 2, decode="nvjpeg"))


@pytest.mark.usefixtures("staged")
def test_what_it_cannot_do_is_told(folder: Path, tmp_path: Path) -> None:
    for late in ([RandomCrop(40, padding=2)], [CenterCrop(40), RandomErasing()], [CenterCrop(40), torch.neg]):
        with pytest.raises(PrebakeError, match="takes crops without padding"):
            Loader(open_dataset(folder, augment=late), 2, decode="nvjpeg")
    with pytest.raises(PrebakeError, match="are pixels"):
        Loader(open_dataset(made_free(tmp_path / "raw", [np.zeros((8, 8, 3), np.uint8)])), 1, decode="nvjpeg")


def test_without_a_device_it_is_told(folder: Path) -> None:
    dataset = open_dataset(folder, augment=[CenterCrop(40)])
    with pytest.raises(PrebakeError, match='give device="cuda"'):
        Loader(dataset, 2, decode="nvjpeg")
    with pytest.raises(PrebakeError, match='choose "cpu", or "nvjpeg"'):
        Loader(dataset, 2, decode="gpu")  # type: ignore[arg-type]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_decodes_nearly_the_same(folder: Path) -> None:
    for steps in STEPS.values():
        dataset = open_dataset(folder, augment=steps, pixels="uint8")
        for (images, _), (others, _) in zip(Loader(dataset, 3, decode="nvjpeg", device="cuda"), Loader(dataset, 3), strict=True):
            assert images.is_cuda
            assert (images.cpu().float() - others.float()).abs().mean() < 2
