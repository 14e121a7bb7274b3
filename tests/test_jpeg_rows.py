"""Rows that are JPEGs: what is decoded is what Pillow decodes, through every door that the readers have."""

from __future__ import annotations

import io
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from epochs import same, samples
from free import made_jpegs
from pictures import jpeg, photo
from PIL import Image
from staged import stage
from stepwise import resized_alike
from test_augment_resize import record
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.transforms import functional as vision

from convert.errors import PrebakeError
from readers import CenterCrop, Loader, RandomCrop, RandomErasing, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip, open_dataset
from readers.jpeg import Decoder, scale_for
from readers.layout import DENSEST

SIZES = [(48, 61), (50, 48), (48, 48), (90, 48), (53, 77), (48, 64), (66, 51), (49, 48)]
Array = npt.NDArray[Any]
HOW: dict[str, dict[str, Any]] = {
    "420": {"subsampling": 2},
    "444": {"subsampling": 0},
    "progressive": {"progressive": True, "quality": 75},
    "gray": {},
}


def files(how: str, sizes: list[tuple[int, int]] = SIZES) -> list[bytes]:
    pictures = [photo(number, *size) for number, size in enumerate(sizes)]
    return [jpeg(picture.convert("L") if how == "gray" else picture, **HOW[how]) for picture in pictures]


def decoded(data: bytes) -> Array:
    levels = np.asarray(Image.open(io.BytesIO(data)))
    return levels if levels.ndim == 3 else levels[:, :, None]


def folder_of(tmp_path: Path, how: str = "420", *, one_shape: bool = False) -> tuple[Path, list[Array]]:
    sizes = [(56, 60)] * len(SIZES) if one_shape else SIZES
    rows = files(how, sizes)
    return made_jpegs(tmp_path, rows, sizes, channels=1 if how == "gray" else 3, one_shape=one_shape), [decoded(row) for row in rows]


@pytest.mark.parametrize(("name", "value"), [("sizes.npy", 65_500), ("sizes.npy", 0x7FFFFFFF), ("lengths.npy", -1), ("lengths.npy", 1)])
def test_no_room_is_made_for_what_a_damaged_table_says(tmp_path: Path, name: str, value: int) -> None:
    path, _ = folder_of(tmp_path)
    table = np.load(path / name)
    table[2] = value
    np.save(path / name, table)
    dataset = open_dataset(path, augment=[CenterCrop(40)])
    tracemalloc.start()
    for look in (lambda: dataset.image(2), lambda: dataset[2], lambda: dataset.with_(augment=None)[2], lambda: list(Loader(dataset, 4))):
        with pytest.raises(PrebakeError, match=rf"{name}.*index 2\)"):
            look()
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("door", ["mmap", "pread"])
@pytest.mark.parametrize("one_shape", [True, False])
@pytest.mark.parametrize("how", HOW)
def test_levels_are_pillows(tmp_path: Path, how: str, door: str, *, one_shape: bool) -> None:
    path, levels = folder_of(tmp_path, how, one_shape=one_shape)
    dataset = open_dataset(path, io=door)
    assert "uint8, JPEG" in repr(dataset)
    normalise = transforms.Compose([transforms.ToTensor(), transforms.Normalize(dataset.mean, dataset.std)])
    given = open_dataset(path, io=door, transform=np.asarray)
    for i, right in enumerate(levels):
        assert np.array_equal(dataset.image(i), right)
        assert np.array_equal(dataset.with_(pixels="uint8")[i][0].permute(1, 2, 0), right)
        assert np.array_equal(given[i][0], right if how != "gray" else right[:, :, 0])
        torch.testing.assert_close(dataset[i][0], normalise(right.copy()), atol=2e-6, rtol=0)
        cropped = dataset.with_(augment=[CenterCrop((40, 41)), RandomVerticalFlip(1.0)], pixels="uint8")[i][0]
        assert torch.equal(cropped, vision.vflip(vision.center_crop(torch.from_numpy(right.copy()).permute(2, 0, 1), [40, 41])))


@pytest.mark.parametrize("how", ["420", "gray"])
def test_resized_crops_are_torchvisions(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, levels = folder_of(tmp_path, how)
    drawn = record(monkeypatch)
    dataset = open_dataset(path, augment=[RandomResizedCrop(30)], pixels="uint8")
    images = torch.utils.data.default_collate(dataset.__getitems__(range(len(dataset))))[0]
    for image, whole, box in zip(images, levels, np.stack(drawn[-1]).T.tolist(), strict=True):
        right = vision.resized_crop(Image.fromarray(whole.squeeze()), *box, [30, 30])
        assert resized_alike(image.permute(1, 2, 0).numpy(), np.asarray(right).reshape(30, 30, -1))


def test_whole_rows_are_decoded_straight_into_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, levels = folder_of(tmp_path, one_shape=True)
    into = list[Any]()
    decode = Decoder.__call__

    def spy(self: Decoder, *args: Any, **options: Any) -> Any:
        into.append(options.get("into"))
        return decode(self, *args, **options)

    monkeypatch.setattr(Decoder, "__call__", spy)
    for augment in ([], [CenterCrop((56, 60))]):
        into.clear()
        ((images, _),) = Loader(open_dataset(path, augment=augment, pixels="uint8"), len(levels))
        assert all(np.shares_memory(memory, images.permute(0, 2, 3, 1).numpy()) for memory in into)
        assert np.array_equal(images.permute(0, 2, 3, 1).numpy(), np.stack(levels))


STEPS: dict[str, list[Any]] = {
    "cropped": [RandomHorizontalFlip(), RandomCrop(41), RandomVerticalFlip()],
    "padded": [RandomCrop(44, padding=3), RandomHorizontalFlip()],
    "resized": [RandomResizedCrop((17, 24)), RandomHorizontalFlip()],
    "reduced": [RandomResizedCrop((5, 6))],
    "erased": [CenterCrop(30), RandomErasing(1.0)],
}


@pytest.mark.parametrize("name", STEPS)
def test_a_loader_makes_the_same_whatever_the_threads_and_batches(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = folder_of(tmp_path)
    dataset = open_dataset(path, augment=STEPS[name], return_index=True)
    options: dict[str, Any] = {"shuffle": True, "seed": 3}
    right = samples(Loader(dataset, 3, threads=1, **options))
    assert same(samples(Loader(dataset, 5, threads=2, **options)), right)
    assert same(samples(Loader(dataset, 3, memory_format=torch.contiguous_format, **options)), right)
    assert same(samples(Loader(open_dataset(path, augment=STEPS[name], return_index=True, io="pread"), 4, **options)), right)
    rest = Loader(dataset, 2, **options)
    loader = Loader(dataset, 3, **options)
    epoch = iter(loader)
    next(epoch)
    rest.load_state_dict(loader.state_dict())
    epoch.close()
    assert same(samples(rest), right[3:])
    stage(monkeypatch)
    for (image, _), (other, _) in zip(samples(Loader(dataset, 3, **options)), right, strict=True):
        torch.testing.assert_close(image, other, atol=2e-6, rtol=1e-6)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_a_dataloader(tmp_path: Path, context: str) -> None:
    path, _ = folder_of(tmp_path)
    dataset = open_dataset(path, augment=[CenterCrop(40)], return_index=True)
    right = [image for image, *_ in dataset]
    for images, _, index in DataLoader(dataset, 3, num_workers=2, multiprocessing_context=context):
        assert all(torch.equal(image, right[i]) for image, i in zip(images, index.tolist(), strict=True))


def test_a_large_box_is_decoded_smaller_and_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [(400, 517), (512, 384), (391, 640), (399, 401)]
    pictures = [photo(number, *size) for number, size in enumerate(sizes)]
    rows = [jpeg(picture) for picture in pictures]
    path = made_jpegs(tmp_path, rows, sizes)
    drawn, scales = record(monkeypatch), list[int]()
    decode = Decoder.__call__

    def spy(self: Decoder, *args: Any, **options: Any) -> Any:
        scales.append(options["scale"])
        return decode(self, *args, **options)

    monkeypatch.setattr(Decoder, "__call__", spy)
    for size, scale in ((96, 2), (48, 4), (24, 8), (120, 1)):
        dataset = open_dataset(path, augment=[RandomResizedCrop(size, scale=(0.9, 1.0), ratio=(0.8, 1.3))], pixels="uint8")
        scales.clear()
        images = torch.utils.data.default_collate(dataset.__getitems__(range(4)))[0]
        assert set(scales) <= {scale, scale // 2 or 1}
        assert scale in scales
        for image, row, box in zip(images, rows, np.stack(drawn[-1]).T.tolist(), strict=True):
            right = np.asarray(vision.resized_crop(Image.fromarray(decoded(row)), *box, [size, size])).astype(int)
            assert np.abs(right - image.permute(1, 2, 0).numpy()).mean() < 1


def test_a_scale_leaves_twice_the_size() -> None:
    for box in ((896, 896), (895, 900), (448, 2000), (1792, 1800), (5000, 5000), (1, 1)):
        scale = scale_for(box, (224, 224))
        assert scale == 1 or min(box) >= 448 * scale
        assert scale == 8 or min(box) < 896 * scale


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 3), (17, 8), (31, 33), (255, 256), (257, 400)])
@pytest.mark.parametrize("scale", [1, 2, 4, 8])
def test_every_scale_divides_every_size(height: int, width: int, scale: int) -> None:
    data = np.frombuffer(jpeg(photo(0, height, width)), np.uint8)
    assert Decoder(3)(data, height, width, scale=scale).shape == (-(-height // scale), -(-width // scale), 3)


@pytest.mark.parametrize("damage", ["cut", "noise", "no JPEG", "another size", "a smaller size"])
@pytest.mark.parametrize("steps", [[], [CenterCrop(40)], [RandomResizedCrop(20)]])
@pytest.mark.parametrize("pixels", ["uint8", "normalized"])
def test_a_broken_row_is_named(tmp_path: Path, damage: str, steps: list[Any], pixels: Any) -> None:
    rows, broken = files("420", [(56, 60)] * 4), 2
    if damage == "cut":
        rows[broken] = rows[broken][:-200]
    elif damage == "noise":
        rows[broken] = rows[broken][:700] + b"\xff\xd9" + rows[broken][702:]
    elif damage == "no JPEG":
        rows[broken] = b"none"
    else:
        rows[broken] = jpeg(photo(0, 60, 56) if damage == "another size" else photo(0, 40, 40))
    path = made_jpegs(tmp_path, rows, [(56, 60)] * 4, one_shape=True)
    dataset = open_dataset(path, augment=steps, pixels=pixels)
    for words in (lambda: dataset[2], lambda: dataset.__getitems__([1, 2]), lambda: list(Loader(dataset, 2)), lambda: dataset.image(2)):
        with pytest.raises(PrebakeError, match="its JPEG") as caught:
            words()
        for word in (dataset.manifest.shards[0].name, dataset.key(2), "index 2"):
            assert word in str(caught.value)
        assert "\n" not in str(caught.value)
    assert dataset[1][0].shape[0] == 3


def test_without_simplejpeg_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = folder_of(tmp_path)
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    with pytest.raises(PrebakeError, match="pip install simplejpeg"):
        open_dataset(path)[0]


def test_lengths_that_lead_out_of_the_shard_are_told(tmp_path: Path) -> None:
    path, _ = folder_of(tmp_path)
    lengths = np.load(path / "lengths.npy")
    for wrong in (-lengths, lengths * 0, lengths + (1 << 40)):
        np.save(path / "lengths.npy", wrong)
        with pytest.raises(PrebakeError, match=r"lengths.npy (-?\d+ bytes|or offsets.npy points outside of shard .*).* index 3"):
            open_dataset(path).image(3)


def test_the_densest_jpeg_that_libjpeg_writes_can_be_read(tmp_path: Path) -> None:
    row = jpeg(Image.new("L", (2048, 2048), 128), progressive=True, optimize=True)
    assert 240 < 2048 * 2048 / len(row) < DENSEST
    dataset = open_dataset(made_jpegs(tmp_path, [row], [(2048, 2048)], channels=1))
    assert (dataset.image(0) == 128).all()
