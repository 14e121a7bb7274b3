"""Copies on a fast disk: whole or not there, made once, found again, and nothing else touched."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from launch import ROOT, tree
from torchvision import datasets

from convert.errors import PrebakeError
from convert.manifest import MANIFEST, read_manifest
from readers import open_dataset
from readers.staging import stage


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _inodes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_ino for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def source(baked: Path, tmp_path: Path) -> Path:
    return shutil.copytree(baked, tmp_path / "some where" / "train")


def test_a_bake_is_copied_once(source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = tree(source)
    copy = stage(source, tmp_path / "new" / "cache")
    assert copy.is_relative_to(tmp_path / "new" / "cache")
    assert copy.name.startswith("train-")
    assert _files(copy) == _files(source)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(open_dataset(copy), open_dataset(source), strict=True))
    inodes = _inodes(copy)
    assert stage(source, tmp_path / "new" / "cache") == copy
    assert _inodes(copy) == inodes
    assert tree(source) == before
    assert capfd.readouterr() == ("", "")


def test_any_folder(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "view").mkdir()
    for folder in photos.iterdir():
        (tmp_path / "view" / folder.name).symlink_to(folder)
    copy = stage(tmp_path / "view", tmp_path / "cache")
    assert _files(copy) == _files(photos)
    assert datasets.ImageFolder(str(copy)).targets == datasets.ImageFolder(str(photos)).targets
    (tmp_path / "view" / "again").symlink_to(tmp_path / "view")
    with pytest.raises(PrebakeError, match="a link to a folder that it is in"):
        stage(tmp_path / "view", tmp_path / "cache")


def test_only_what_changed_is_copied_again(photos: Path, tmp_path: Path) -> None:
    source = shutil.copytree(photos, tmp_path / "source")
    copy = stage(source, tmp_path / "cache")
    first, second, *_ = sorted(source.rglob("*.jpg"))
    (copy / "mine.txt").write_text("a user's own")
    (tmp_path / "cache" / "other").mkdir()
    inodes = _inodes(copy)
    first.write_bytes(first.read_bytes()[::-1])  # as long as before
    second.unlink()
    (source / "new").mkdir()
    (source / "new" / "file").write_text("new")
    assert stage(source, tmp_path / "cache") == copy
    assert _files(copy) == _files(source) | {"mine.txt": b"a user's own"}
    kept = {name for name, inode in _inodes(copy).items() if inodes.get(name) == inode}
    assert set(inodes) - kept == {str(first.relative_to(source)), str(second.relative_to(source))} - kept
    assert len(kept) >= len(inodes) - 2
    inodes = _inodes(copy)
    stage(source, tmp_path / "cache")
    assert _inodes(copy) == inodes
    assert (tmp_path / "cache" / "other").is_dir()


def test_nothing_of_a_users_own_is_replaced(source: Path, tmp_path: Path) -> None:
    copy = stage(source, tmp_path / "cache")
    shutil.rmtree(tmp_path / "cache")
    copy.mkdir(parents=True)
    for content in (b"mine", (source / MANIFEST).read_bytes()):  # even one like ours: it would make half a copy look whole
        (copy / MANIFEST).write_bytes(content)
        shutil.copystat(source / MANIFEST, copy / MANIFEST)
        with pytest.raises(PrebakeError, match="in the way"):
            stage(source, tmp_path / "cache")
        assert _files(copy) == {MANIFEST: content}


def test_deep_sees_what_size_and_time_do_not(source: Path, tmp_path: Path) -> None:
    copy = stage(source, tmp_path / "cache")
    path = copy / read_manifest(source).shards[1].name
    state, data = path.stat(), bytearray(path.read_bytes())
    data[-1] ^= 255
    path.write_bytes(data)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    stage(source, tmp_path / "cache")
    assert path.read_bytes() == data
    stage(source, tmp_path / "cache", deep=True)
    assert _files(copy) == _files(source)


def test_a_damaged_source_makes_no_bake(source: Path, tmp_path: Path) -> None:
    path = source / read_manifest(source).shards[1].name
    data = bytearray(path.read_bytes())
    data[-1] ^= 255
    path.write_bytes(data)
    with pytest.raises(PrebakeError, match=path.name):
        stage(source, tmp_path / "cache")
    (copy,) = (folder for folder in (tmp_path / "cache").iterdir() if folder.is_dir())
    assert not (copy / MANIFEST).exists()
    assert not (copy / path.name).exists()
    assert not list(copy.glob("*.partial"))


def test_a_bake_made_anew_replaces_the_copy(source: Path, tmp_path: Path) -> None:
    copy = stage(source, tmp_path / "cache")
    manifest = read_manifest(source)
    (source / "preview.png").write_bytes(b"to be removed")
    stage(source, tmp_path / "cache")
    (source / "preview.png").unlink()
    (source / MANIFEST).write_text(dataclasses.replace(manifest, order="source").to_json())
    assert stage(source, tmp_path / "cache") == copy
    assert read_manifest(copy).order == "source"
    assert _files(copy) == _files(source)
    inodes = _inodes(copy)
    stage(source, tmp_path / "cache")
    assert _inodes(copy) == inodes


def test_room_is_looked_at_first(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(PrebakeError, match="room for 1,000 bytes"):
        stage(source, tmp_path / "cache")
    assert not [name for name in _files(tmp_path / "cache") if not name.startswith(".")]
    monkeypatch.undo()
    copy = stage(source, tmp_path / "cache")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    assert stage(source, tmp_path / "cache") == copy


KILLED = """
import os, sys
from readers import staging
real = os.utime
def die(path, **times):
    if "00001" in str(path):
        os._exit(9)
    real(path, **times)
os.utime = die
staging.stage(sys.argv[1], sys.argv[2])
"""
STAGE = "import sys; from readers.staging import stage; print(stage(sys.argv[1], sys.argv[2]))"


def _run(script: str, *args: Any) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", script, *map(str, args)], stdout=subprocess.PIPE, text=True, env=environment)


def test_a_killed_copy_is_finished_by_the_next(source: Path, tmp_path: Path) -> None:
    run = _run(KILLED, source, tmp_path / "cache")
    run.communicate(timeout=60)
    assert run.returncode == 9
    (folder,) = (folder for folder in (tmp_path / "cache").iterdir() if folder.is_dir())
    assert list(folder.glob("*.partial"))
    assert not (folder / MANIFEST).exists()
    copy = stage(source, tmp_path / "cache")
    assert copy == folder
    assert _files(copy) == _files(source)


def test_several_processes_at_once(photos: Path, tmp_path: Path) -> None:
    runs = [_run(STAGE, photos, tmp_path / "cache") for _ in range(3)]
    found = {run.communicate(timeout=100)[0].strip() for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0]
    (copy,) = found
    assert _files(Path(copy)) == _files(photos)


def test_refusals(source: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for path, cache, words in (
        (tmp_path / "none", tmp_path, "no such folder"),
        (tmp_path / "empty", tmp_path / "cache", "no file is in it"),
        (source, source / "cache", "is inside of"),
        (source, tmp_path / "file", "cannot be copied"),
    ):
        with pytest.raises(PrebakeError, match=words):
            stage(path, cache)
