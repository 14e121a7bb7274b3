"""Shards that change while a data set is open: one that was cut or is gone is an error, another of its size is told of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import bake
from launch import prebake
from torch.utils.data import DataLoader

from convert.errors import PrebakeError
from convert.manifest import read_manifest
from convert.repair import repair
from convert.tasks import Crew
from readers import BakedDataset, Loader, open_dataset, shards
from readers.streaming import Stream


class _Each:
    """`ds[i]`, for all."""

    def __init__(self, dataset: BakedDataset) -> None:
        self._dataset = dataset

    def __iter__(self) -> Any:
        return ((self._dataset[i][0][None], None) for i in range(len(self._dataset)))


def _looked_at(dataset: BakedDataset) -> Iterable[Any]:
    return ((torch.from_numpy(dataset.image(i))[None], None) for i in range(len(dataset)))


def _torch(dataset: BakedDataset, **options: Any) -> DataLoader[Any]:
    return DataLoader(dataset, 4, multiprocessing_context="fork" if options else None, **options)


WAYS: dict[str, Callable[[BakedDataset], Iterable[Any]]] = {
    "ds[i]": _Each,
    "no workers": _torch,
    "persistent": lambda dataset: _torch(dataset, num_workers=1, persistent_workers=True),
    "Loader": lambda dataset: Loader(dataset, 4),
}


def _pictures(epochs: Iterable[Any]) -> torch.Tensor:
    return torch.cat([images.clone() for images, _ in epochs])


def _put(path: Path, data: bytes) -> None:
    """Another file takes the place; the old one stays whole for who has it mapped or open."""
    other = path.with_name("other")
    other.write_bytes(data)
    other.replace(path)


def _remove(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    _put(path, path.read_bytes()[:-1])


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every use looks again."""
    monkeypatch.setattr(shards, "PAUSE", 0)
    monkeypatch.setattr(shards, "PART", 0)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("way", WAYS)
def test_each_change_is_seen_by_each_path(baked: Path, tmp_path: Path, way: str, io: str) -> None:
    copy = shutil.copytree(baked, tmp_path / "copy")
    dataset = open_dataset(copy, io=io)
    epochs = WAYS[way](dataset)
    right = _pictures(epochs)
    second = read_manifest(copy).shards[1]
    first = read_manifest(copy).shards[0].count
    lost, path = slice(first, first + second.count), copy / second.name
    data = path.read_bytes()
    for content, pictures in ((bytes(len(data)), torch.zeros_like(right[lost])), (data, right[lost])):
        _put(path, content)
        with pytest.raises(UserWarning, match=rf"{second.name} is another file.*prebake verify .*copy"):  # warnings are errors in tests
            _pictures(epochs)
        found = _pictures(epochs)  # told once
        assert torch.equal(found[lost], pictures)
        found[lost] = right[lost]
        assert torch.equal(found, right)
    for change in (_cut, _remove):
        change(path)
        with pytest.raises(PrebakeError, match=rf"{second.name}.*key .*index {first}\)"):
            _pictures(epochs)


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_workers_that_start_anew_look_at_once(baked: Path, tmp_path: Path, io: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also at what they have from the process that forked them, however short ago that looked."""
    monkeypatch.setattr(shards, "PAUSE", 1e9)
    copy = shutil.copytree(baked, tmp_path / "copy")
    dataset = open_dataset(copy, io=io)
    _ = [dataset[i] for i in range(len(dataset))]
    path = copy / read_manifest(copy).shards[1].name
    data = path.read_bytes()
    _put(path, bytes(len(data)))
    with pytest.raises(UserWarning, match=path.name):
        _pictures(_torch(dataset, num_workers=1))
    for change in (_cut, _remove):
        change(path)
        with pytest.raises(PrebakeError, match=path.name):
            _pictures(_torch(dataset, num_workers=1))


ASK = """
import sys, time
from readers import open_dataset
dataset = open_dataset(sys.argv[1])
before = dataset[0][0].sum()
print("read", flush=True)
sys.stdin.readline()
end = time.monotonic() + 60
while dataset[0][0].sum() == before and time.monotonic() < end:
    time.sleep(0.01)
print(float(dataset[0][0].sum()))
"""


def test_a_data_set_looks_again_after_a_while(photos: Path, tmp_path: Path) -> None:
    """In a process of its own, with Python's own filter: one line on stderr, and it goes on."""
    path = tmp_path / "out" / bake(photos, tmp_path / "out", size=(16, 16), shards=2).shards[0].name
    words = [sys.executable, "-c", ASK, str(tmp_path / "out")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "read\n"
        _put(path, bytes(path.stat().st_size))
        out, err = run.communicate("\n", timeout=100)
    assert out == "0.0\n"
    assert err.count("UserWarning") == err.count(path.name) == 1


def test_one_warning_for_many_shards(baked: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(baked, tmp_path / "copy")
    loader = Loader(open_dataset(copy), 4)
    right = _pictures(loader)
    for shard in read_manifest(copy).shards:
        os.utime(copy / shard.name)
    with pytest.warns(UserWarning, match=r"\(and 2 more\)") as told:
        assert torch.equal(_pictures(loader), right)
    assert len(told) == 1
    assert told[0].filename == __file__


@pytest.mark.usefixtures("always")
def test_an_image_to_look_at_is_of_the_new_shard(baked: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(baked, tmp_path / "copy")
    dataset = open_dataset(copy)
    _ = _pictures(_looked_at(dataset))
    (copy / read_manifest(copy).shards[2].name).unlink()
    with pytest.raises(PrebakeError, match="cannot be opened"):
        _pictures(_looked_at(dataset))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_repair_and_append_under_an_open_data_set(photos: Path, tmp_path: Path, format: str, io: str) -> None:
    """A shard made again is told of and right; one that `--append` keeps is not."""
    source, out = Path(shutil.copytree(photos, tmp_path / "source")), tmp_path / "out"
    bake(source, out, format, size=(16, 16), shards=3)
    dataset = open_dataset(out, io=io)
    right = _pictures(_Each(dataset))
    path = out / read_manifest(out).shards[0].name
    _put(path, bytes(path.stat().st_size))
    repair(out, source, Crew(1, "serial", quiet=True))
    with pytest.warns(UserWarning, match="unless prebake repair made it again"):
        assert torch.equal(_pictures(_Each(dataset)), right)
    folder = next(each for each in sorted(source.iterdir()) if each.is_dir())
    shutil.copy(next(folder.glob("*.jpg")), folder / "new.jpg")
    run = prebake(format, source, out, "--append", "--size", 16, "--exact", "--icc", "ignore", "--shards", 3)
    assert run.returncode == 0, run.stderr
    assert read_manifest(out).count == len(right) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(_pictures(_Each(dataset)), right)


def test_a_stream_says_what_was_cut(photos: Path, tmp_path: Path) -> None:
    manifest = bake(photos, tmp_path / "out", "webdataset", size=(16, 16), shards=3)
    stream = Stream(tmp_path / "out")
    assert len(list(stream)) == manifest.count
    path = tmp_path / "out" / manifest.shards[1].name
    _put(path, path.read_bytes()[:-512])
    with pytest.raises(PrebakeError, match=f"{path.name} has .* bytes, its manifest says"):
        list(stream)


def test_looking_is_rare_where_it_is_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shard").write_bytes(b"x")
    files = shards.Shards([(tmp_path / "shard", 1)])
    os.close(files.open(0))
    monkeypatch.setattr(shards, "PAUSE", 0)
    for part, due in ((1 << 40, False), (0, True)):
        monkeypatch.setattr(shards, "PART", part)
        assert files.changed() == {}
        assert files.due == due
