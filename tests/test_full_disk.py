"""A disk without room is said before the first byte, or as soon as it is full; what was finished stays, and the bake can go on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import bake
from launch import digests, prebake, refused
from pictures import image_folder

from convert.contracts import Pixels, Sample, ShardSpec
from convert.manifest import MANIFEST, Target, read_manifest
from convert.registry import format_names, load_format
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


def test_a_temporary_folder_without_place_for_a_socket(few: Path, disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file fits, and so does the folder of the socket, but then no socket."""
    small_disk = disk(1 << 20)
    subprocess.run(["mount", "-o", "remount,nr_inodes=2", str(small_disk)], check=True)
    with tempfile.TemporaryDirectory() as folder:  # its path is short, as sockets want it
        (short := Path(folder) / "disk").symlink_to(small_disk)
        monkeypatch.setenv("TMPDIR", str(short))
        line = refused(prebake("memmap", few, tmp_path / "out", "--size", "16"))
    assert f"TMPDIR {short} has no place for the socket of the workers (No space left on device): make room there" in line
    assert not (tmp_path / "out").exists()


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
    assert not [path for path in folder.rglob("*") if path.suffix == ".partial" or path.name in (MANIFEST, "lock")]


@pytest.mark.parametrize("executor", ["serial", "local"])
@pytest.mark.parametrize("format", format_names())
def test_a_disk_that_fills_up_in_the_middle(many: Path, disk: Disk, tmp_path: Path, *, format: str, executor: str) -> None:
    folder = disk(7 << 20)
    options = ("--size", "128", "--shards", "6", "--workers", "2")
    said = refused(prebake(executor, format, many, folder / "out", *options, command=UNCHECKED))
    assert "disk full; make room" in said
    kept = sorted((folder / "out").glob("shard-*")) if (folder / "out").exists() else []
    assert (f"{len(kept)} of 6 shards kept: the next run goes on" in said) == bool(kept)
    assert not [path for path in folder.rglob("*") if path.suffix == ".partial" or path.name in (MANIFEST, "lock")]
    if executor == "serial":
        assert len(kept) > 2
        before = {path: path.stat().st_mtime_ns for path in kept}
        subprocess.run(["mount", "-o", "remount,size=20m", str(folder)], check=True)
        result = prebake(format, many, folder / "out", *options)
        assert (result.returncode, result.stderr) == (0, "")
        assert f"goes on   with {len(kept)} of 6 shards" in result.stdout
        assert {path: path.stat().st_mtime_ns for path in kept} == before
        bake(many, tmp_path / "again", format, size=(128, 128), shards=6, preview=True, exact=False, icc="srgb")
        assert digests(folder / "out") == digests(tmp_path / "again")


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
            assert not (folder / "out" / MANIFEST).exists()
            assert (folder / "out").exists() == ("kept: the same" in done.stderr)


def test_a_disk_that_may_only_be_read(few: Path, disk: Disk) -> None:
    """As OUT it is refused; as the source it is good enough, also where it is full of nothing."""
    folder = disk(1 << 20)
    shutil.copytree(few, folder / "source")
    (folder / "out").mkdir()
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    assert "out cannot be written: Read-only file system" in refused(prebake("memmap", few, folder / "out", "--size", "16"))
    assert "cannot be written: Read-only file system" in refused(prebake("memmap", few, folder / "new" / "out", "--size", "16"))
    result = prebake("memmap", folder / "source", folder.parent / "baked", "--size", "16")
    assert (result.returncode, result.stderr) == (0, "")


def test_what_a_disk_keeps_for_root_is_no_room(few: Path, tmp_path: Path) -> None:
    """ext4 reserves 5 % and says so; here it is half of it, so that only what is left of the rest may be promised."""
    image, folder = tmp_path / "image", tmp_path / "mounted"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    folder.mkdir()
    commands = (["mkfs.ext4", "-q", "-F", "-m", "50", str(image)], ["mount", "-o", "loop", str(image), str(folder)])
    for command in commands:
        if os.geteuid() or not shutil.which(command[0]) or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("mounting an ext4 image needs root, a loop device and mkfs.ext4")
    try:
        left = os.statvfs(folder)
        assert left.f_bavail < left.f_bfree
        nbytes = (left.f_bavail + left.f_bfree) // 2 * left.f_frsize  # fits into what is free, not into what is left
        side = int((nbytes / 5 / 3 / 2) ** 0.5)
        said = prebake("memmap", few, folder / "out", "--size", side)
        assert said.returncode == 1
        assert "free, and this bake needs" in said.stderr
        assert not (folder / "out").exists()
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_shared_memory_as_out(few: Path) -> None:
    out = Path("/dev/shm") / f"prebake-test-{os.getpid()}"
    try:
        assert prebake("lmdb", few, out, "--size", "16").returncode == 0
        assert prebake("verify", out).returncode == 0
    finally:
        shutil.rmtree(out, ignore_errors=True)


def test_not_even_a_shard_can_be_begun(format: str, disk: Disk) -> None:
    """LMDB writes its first pages when it is opened."""
    folder = disk(PAGE * 2)
    (folder / "all").write_bytes(b"x" * (PAGE * 2 - 1))
    spec = ShardSpec(0, 1, Pixels(64, 64, 3, "uint8"), Target("none", 0))
    with pytest.raises(OSError, match="No space left on device"), load_format(format).write_shard(folder / "shard", spec, {}) as add:
        add(Sample("a.jpg", np.zeros((64, 64, 3), np.uint8), None))
