"""`--color gray`: one channel, as torchvision's Grayscale makes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import stock
from conftest import bake
from launch import prebake
from PIL import Image
from torchvision import transforms

from readers import open_dataset


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_grey_rows_are_torchvisions(photos: Path, format: str, dtype: str, tmp_path: Path) -> None:
    manifest = bake(photos, tmp_path / "out", format, size=(40, 40), colour="gray", dtype=dtype, shards=2)
    assert (manifest.shape, manifest.colour, manifest.mean, manifest.std) == ((40, 40, 1), "gray", (0.449,), (0.226,))
    door = transforms.Compose([transforms.Grayscale(), transforms.Resize(40), transforms.CenterCrop(40)])
    images = [image for shard in manifest.shards for image in stock.READ[format](tmp_path / "out" / shard.name, dtype, (40, 40, 1))[0]]
    dataset = open_dataset(tmp_path / "out")
    for i, key in enumerate(dataset.keys):
        level = np.asarray(door(Image.open(photos / key).convert("RGB")))
        assert np.array_equal(manifest.to_levels(images[i])[:, :, 0], level)
        assert np.array_equal(dataset.image(i)[:, :, 0], level)
        value = dataset[i][0]
        assert value.shape == (1, 40, 40)
        assert np.abs(value[0].numpy() - (level / 255 - 0.449) / 0.226).max() < 2e-3


def test_one_number_is_enough_and_three_are_too_many(photos: Path, tmp_path: Path) -> None:
    grey = ("memmap", photos, tmp_path / "out", "--size", "16", "--color", "gray")
    done = prebake(*grey, "--mean", "0.4,0.5,0.6")
    assert (done.returncode, "has 3 numbers" in done.stderr) == (2, True)
    done = prebake(*grey, "--mean", "0.5", "--std", "0.25", "--no-preview")
    assert done.returncode == 0, done.stderr
    assert "one channel, grey" in done.stdout
    dataset = open_dataset(tmp_path / "out")
    assert (dataset.mean, dataset.std) == ((0.5,), (0.25,))
    like = bake(photos, tmp_path / "like", like=tmp_path / "out")
    assert (like.colour, like.mean) == ("gray", (0.5,))


def test_the_contact_sheet_of_a_grey_bake_can_be_drawn(photos: Path, tmp_path: Path) -> None:
    for dtype in ("uint8", "uint16", "float16"):
        bake(photos, tmp_path / dtype, size=(32, 32), colour="gray", dtype=dtype, preview=True)
        with Image.open(tmp_path / dtype / "preview.png") as sheet:
            assert np.asarray(sheet).std() > 20
