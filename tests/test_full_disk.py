"""A disk without room is said before the first byte, or as soon as it is full, and nothing is left on it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import bake
from launch import prebake, refused
from pictures import image_folder

from convert.manifest import read_manifest
from convert.registry import format_names
from readers import open_dataset

PAGE = 4096
UNCHECKED_CODE = """
import sys
import convert.room
from convert.__main__ import main
from convert.executors import local, serial
convert.room.check_room = lambda *_: None
if sys.argv.pop(1) == "serial":
    local.EXECUTOR = serial.EXECUTOR
main()
"""
UNCHECKED = (sys.executable, "-c", UNCHECKED_CODE)
"""The command line without its look at the free space: the disk fills up later than it foresees. Serial: a crash is the run's own."""
Disk = Callable[[int], Path]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("few") / "source", {"cat": 3, "dog": 2})


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("many") / "source", {"cat": 60, "dog": 60})


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """Makes a file system of so many bytes."""
    made: list[Path] = []

    def make(nbytes: int) -> Path:
        folder = tmp_path / f"disk{len(made)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={nbytes}", "prebake", str(folder)]
        if os.geteuid() or not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("mounting a small file system needs root")
        made.append(folder)
        return folder

    yield make
    for folder in made:
        subprocess.run(["umount", str(folder)], check=True)


def test_room_is_looked_at_before_the_pictures(few: Path, disk: Disk, tmp_path: Path) -> None:
    """With --strict, a pass over the pictures would fail at the broken one."""
    shutil.copytree(few, tmp_path / "source")
    (tmp_path / "source" / "cat" / "broken.png").write_bytes(b"<html>")
    small_disk = disk(2 << 20)
    for command in (("memmap", "--mean-std"), ("plan", "--window")):
        result = prebake(command[0], tmp_path / "source", small_disk / "out", command[1], "auto", "--strict")
        assert result.returncode == 1
        assert "MB free, and this bake needs" in result.stderr.splitlines()[0]


def test_too_little_room_is_said_before_the_first_byte_with_what_fits(few: Path, disk: Disk) -> None:
    small_disk = disk(2 << 20)
    for command in (("memmap", few, small_disk / "out"), ("plan", few, small_disk / "out")):
        result = prebake(*command)
        assert result.returncode == 1
        first, *fits = result.stderr.splitlines()
        assert re.fullmatch(r"prebake: .*/out: disk has [\d.]+ MB free, and this bake needs [\d.]+ MB\. What fits:", first)
        assert not list(small_disk.iterdir())
    options = fits[0].split()[:4]
    assert options[::2] == ["--dtype", "--size"]
    assert prebake("memmap", few, small_disk / "out", *options).returncode == 0


def test_overwrite_counts_the_room_that_the_old_bake_leaves(few: Path, disk: Disk) -> None:
    out = disk(2 << 20) / "out"
    for more in ((), ("--overwrite", "--seed", "1")):
        result = prebake("memmap", few, out, "--size", "160", *more)
        assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("options", ["--size 128", "--size 400 --encoding jpeg --quality 100 --subsampling 444"])
@pytest.mark.parametrize("format", format_names())
def test_a_disk_that_fills_up_with_rows_of_any_length(many: Path, disk: Disk, format: str, options: str) -> None:
    folder, enlarged = disk(7 << 20), ("--resize", "long", "--upscale")
    done = prebake("serial", format, many, folder / "out", "--shards", "6", *enlarged, *options.split(), command=UNCHECKED)
    assert "disk full; make room" in refused(done)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("executor", ["serial", "local"])
@pytest.mark.parametrize("format", format_names())
def test_a_disk_that_fills_up_in_the_middle(many: Path, disk: Disk, format: str, executor: str) -> None:
    folder = disk(7 << 20)
    done = prebake(executor, format, many, folder / "out", "--size", "128", "--shards", "6", "--workers", "2", command=UNCHECKED)
    assert "disk full; make room" in refused(done)
    assert not list(folder.iterdir())


def test_a_disk_that_is_full_before_or_after_the_shards(many: Path, tmp_path: Path, disk: Disk) -> None:
    bake(many, tmp_path / "out", size=(16, 16), shards=2, preview=True)
    pages = sum(-(-path.stat().st_size // PAGE) for path in (tmp_path / "out").iterdir())
    for room in (2, pages - 12, pages - 6, pages - 1):
        folder = disk(room * PAGE)
        done = prebake("serial", "memmap", many, folder / "out", "--size", "16", "--shards", "2", command=UNCHECKED)
        if done.returncode == 0:  # only the contact sheet had no room: the bake is whole, and says so
            assert re.fullmatch(r"no contact sheet: OSError: .*No space left on device\n", done.stderr)
            assert len(open_dataset(folder / "out")) == read_manifest(folder / "out").count
            assert not (folder / "out" / "preview.png").exists()
        else:
            assert "disk full" in refused(done)
            assert not list(folder.iterdir())
