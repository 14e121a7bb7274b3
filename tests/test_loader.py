"""The Loader's batches: the right pictures, by position alone, whatever the threads, batches, layouts and formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import bake
from epochs import STEPS, indexed, same, samples
from stock import READ

from convert.errors import PrebakeError
from readers import CenterCrop, Loader, RandomCrop, open_dataset


@pytest.mark.parametrize("memory_format", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_batches_are_the_stored_rows(baked: Path, format: str, *, dtype: torch.dtype, memory_format: torch.memory_format) -> None:
    rows = [row for path in sorted(baked.glob("shard-*")) for row in READ[format](path, "float16", (64, 64, 3))[0]]
    dataset = open_dataset(baked)
    seen = 0
    for images, labels in Loader(dataset, 7, dtype=dtype, memory_format=memory_format):
        assert images.dtype == dtype
        assert images.is_contiguous(memory_format=memory_format)
        assert labels.dtype == torch.int64
        expected = torch.from_numpy(np.stack(rows[seen : seen + len(images)])).permute(0, 3, 1, 2).to(dtype)
        assert torch.equal(images, expected)
        assert labels.tolist() == np.asarray(dataset.targets)[seen : seen + len(images)].tolist()
        seen += len(images)
    assert seen == len(rows) == len(dataset)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_levels_are_normalised(photos: Path, tmp_path: Path, dtype: torch.dtype) -> None:
    bake(photos, tmp_path / "levels", size=(32, 32), dtype="uint8")
    levels = np.concatenate([np.load(path) for path in sorted((tmp_path / "levels").glob("shard-*"))])
    dataset = open_dataset(tmp_path / "levels")
    images = torch.cat([images for images, _ in Loader(dataset, 8, dtype=dtype)])
    expected = (levels / 255 - np.array(dataset.mean)) / np.array(dataset.std)
    assert torch.allclose(images.double(), torch.from_numpy(expected).permute(0, 3, 1, 2), atol=1e-6 if dtype == torch.float32 else 1e-2)


@pytest.mark.parametrize("order", ["sequential", "shuffle", "quasi"])
def test_threads_batches_and_layouts_change_nothing(baked: Path, order: Any) -> None:
    dataset = indexed(baked, augment=STEPS)
    first = Loader(dataset, 8, order=order, seed=3)
    epochs = [samples(first), samples(first)]
    for threads, batch_size, prefetch in [(1, 8, 1), (5, 3, 2), (2, 64, 9)]:
        other = Loader(dataset, batch_size, order=order, seed=3, threads=threads, prefetch=prefetch, memory_format=torch.contiguous_format)
        assert all(same(samples(other), epoch) for epoch in epochs)
    assert not same(*epochs)
    assert (order == "sequential") == ([index for _, index in epochs[0]] == [index for _, index in epochs[1]])
    assert sorted(index for _, index in epochs[0]) == list(range(len(dataset)))
    assert not same(samples(Loader(dataset, 8, order=order, seed=4)), epochs[0])


def test_every_format_gives_the_same(photos: Path, tmp_path: Path) -> None:
    made = []
    for format in READ:
        bake(photos, tmp_path / format, format, size=(64, 64), shards=3)
        made.append(samples(Loader(indexed(tmp_path / format, augment=STEPS), 9, shuffle=True)))
    assert all(same(made[0], other) for other in made[1:])


def test_each_picture_is_a_crop_of_its_row(baked: Path) -> None:
    dataset = indexed(baked, augment=[RandomCrop(60)])
    corners = set()
    for image, index in samples(Loader(dataset, 8, shuffle=True)):
        row = open_dataset(baked)[index][0]
        where = [(y, x) for y in range(5) for x in range(5) if torch.equal(row[:, y : y + 60, x : x + 60], image)]
        assert len(where) == 1
        corners.update(where)
    assert len(corners) > 8


def test_parts_and_masks(baked: Path) -> None:
    dataset = indexed(baked)
    assert [i for _, i in samples(Loader(dataset, 2, indices=[4, -1, 4, 0]))] == [4, len(dataset) - 1, 4, 0]
    mask = np.asarray(dataset.targets) == 1
    assert [i for _, i in samples(Loader(dataset, 2, indices=mask))] == np.flatnonzero(mask).tolist()
    part = dataset.subset([5, 3, 9])
    assert [i for _, i in samples(Loader(part, 2))] == [0, 1, 2]
    assert all(torch.equal(image, part[i][0]) for image, i in samples(Loader(part, 2, indices=[2, 0])))


def test_without_labels_a_batch_is_its_images(photos: Path, tmp_path: Path) -> None:
    folder = min(path for path in photos.iterdir() if path.is_dir())
    bake(folder, tmp_path / "out", size=(32, 32))
    batch = next(iter(Loader(open_dataset(tmp_path / "out", augment=[CenterCrop(8)]), 2)))
    assert isinstance(batch, torch.Tensor)
    assert batch.shape == (2, 3, 8, 8)
    with pytest.raises(PrebakeError, match="balanced"):
        Loader(open_dataset(tmp_path / "out"), 2, weights="balanced")


def test_refusals(baked: Path) -> None:
    dataset = open_dataset(baked)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": True}, "batch_size"),
        ({"prefetch": 0}, "prefetch"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"order": "random"}, "choose one of"),
        ({"order": "sequential", "shuffle": True}, "exclude each other"),
        ({"order": "quasi", "weights": "balanced"}, "weights"),
        ({"threads": 0}, "threads"),
        ({"threads": "all"}, "threads"),
        ({"dtype": torch.uint8}, "floating"),
        ({"memory_format": torch.preserve_format}, "memory_format"),
        ({"rank": 1}, "give both"),
        ({"rank": 2, "world_size": 2}, "rank"),
        ({"weights": [1.0]}, "one for each"),
        ({"weights": "even"}, "balanced"),
        ({"weights": np.full(len(dataset), -1)}, "below 0"),
        ({"weights": np.full(len(dataset), np.nan)}, "below 0"),
        ({"weights": np.zeros(len(dataset))}, "not all 0"),
        ({"indices": []}, "no pictures"),
        ({"batch_size": 1000, "drop_last": True}, "drop_last"),
        ({"device": "meta"}, "CUDA"),
        ({"device": "nonsense"}, "no such device"),
    ]
    for options, message in wrong:
        with pytest.raises(PrebakeError, match=message):
            Loader(dataset, **({"batch_size": 4} | options))
    with pytest.raises(PrebakeError, match="epoch"):
        Loader(dataset, 4).set_epoch(-1)
    with pytest.raises(PrebakeError, match="transform="):
        Loader(open_dataset(baked, transform=lambda picture: picture), 4)
    with pytest.raises(PrebakeError, match="indices="):
        Loader(torch.utils.data.Subset(dataset, [1]), 4)  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        Loader(dataset, 4, indices=[1000])
