"""Folders as large, classes as many and names as long as they come."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import bake
from launch import labels, prebake, refused
from pictures import image_folder, jpeg, photo
from PIL import Image
from stock import READ
from torchvision.datasets import ImageFolder

from convert.manifest import read_manifest
from convert.tasks import Crew
from convert.verify import verify
from readers import open_dataset

LONGEST = 255
"""Bytes of a name, on almost every file system."""
SIDE = 8


def _fill(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    data = [jpeg(photo(number, SIDE, SIDE)) for number in range(10)]
    for number in range(count):
        (folder / f"{number:06d}.jpg").write_bytes(data[number % 10] + number.to_bytes(4, "big"))


def test_a_hundred_thousand_pictures_in_one_folder(tmp_path: Path) -> None:
    _fill(tmp_path / "source" / "all", 100_000)
    bake(tmp_path / "source", tmp_path / "out", workers=2, executor="local", size=(SIDE, SIDE), dtype="uint8", order="source")
    dataset = open_dataset(tmp_path / "out")
    assert [dataset.keys[index] for index in (0, 99_999)] == ["all/000000.jpg", "all/099999.jpg"]
    for index in (0, 7, 50_003, 99_999):
        with Image.open(tmp_path / "source" / dataset.keys[index]) as picture:
            assert np.array_equal(dataset.image(index), np.asarray(picture))
    assert not verify(tmp_path / "out", Crew(2), deep=True).wrong


def test_three_thousand_classes(tmp_path: Path, format: str) -> None:
    names = [f"n{number:08d}" for number in range(3000)]
    data = [jpeg(photo(number, SIDE, SIDE)) for number in range(10)]
    for number, name in enumerate(names):
        (tmp_path / "source" / name).mkdir(parents=True)
        (tmp_path / "source" / name / "a.jpg").write_bytes(data[number % 10] + number.to_bytes(4, "big"))
    done = prebake(format, "source", "out", "--size", SIDE, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3,000 classes" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    folder = ImageFolder(tmp_path / "source")
    assert list(open_dataset(tmp_path / "out").classes) == folder.classes
    assert labels(tmp_path / "out") == {str(Path(path).relative_to(tmp_path / "source")): label for path, label in folder.samples}


def test_names_as_long_as_a_disk_takes_them(tmp_path: Path, format: str) -> None:
    """Keys of 255 bytes, of more than LMDB's keys and tar's names may have, and of 2,000."""
    source = image_folder(tmp_path / "source", {"a" * LONGEST: 2, "ä" * (LONGEST // 2): 2, "b": 2})
    picture = source / "b" / "0000.jpg"
    for name in ("x" * (LONGEST - 4) + ".jpg", "名" * ((LONGEST - 4) // 3) + ".JPG"):
        shutil.copy(picture, source / "b" / name)
    deep = source / "b"
    for depth in range(8):
        deep = deep / (f"{depth}" * (LONGEST - 2))
        deep.mkdir()
        shutil.copy(picture, deep / ("y" * (LONGEST - 4) + ".jpg"))
    every = {"with_keys": True} if format in ("hdf5", "webdataset") else {}
    manifest = bake(source, tmp_path / "out", format, size=(SIDE, SIDE), dtype="uint8", options=every)
    folder = ImageFolder(source)
    assert labels(tmp_path / "out") == {str(Path(path).relative_to(source)): label for path, label in folder.samples}
    dataset, rows = open_dataset(tmp_path / "out"), []
    for shard in read_manifest(tmp_path / "out").shards:
        rows += READ[format](tmp_path / "out" / shard.name, "uint8", (SIDE, SIDE, 3))[0] if not every else []
    assert max(map(len, map(os.fsencode, dataset.keys))) > 2000
    assert all(np.array_equal(row, dataset.image(index)) for index, row in enumerate(rows))
    assert len(rows) in ((0,) if every else (manifest.count,))
    assert not verify(tmp_path / "out", Crew(), deep=True).wrong


@pytest.mark.parametrize("command", ["memmap", "verify", "stats", "plan"])
def test_names_longer_than_a_disk_takes_them(tmp_path: Path, command: str) -> None:
    image_folder(tmp_path / "source", {"a": 2})
    long = tmp_path / ("x" * (LONGEST + 1))
    words = {"memmap": ("memmap", tmp_path / "source", long), "plan": ("plan", tmp_path / "source", long)}
    assert "File name too long" in refused(prebake(*words.get(command, (command, long))))
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_a_path_that_no_call_takes(tmp_path: Path) -> None:
    """Of 4,096 bytes and more: its folders can be entered one by one, its files not opened by name."""
    source = image_folder(tmp_path / "source", {"a": 20})
    here = Path.cwd()
    try:
        os.chdir(source / "a")
        for _ in range(17):
            Path("d" * 250).mkdir()
            os.chdir("d" * 250)
        Path("deep.jpg").write_bytes(jpeg(photo(1, SIDE, SIDE)))
    finally:
        os.chdir(here)
    assert refused(prebake("memmap", source, tmp_path / "out", "--size", SIDE)).endswith(f"{'d' * 250}: File name too long")
    assert not (tmp_path / "out").exists()
