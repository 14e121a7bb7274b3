"""Pictures that were changed after a bake was finished are told of: by their time, or by what they hold."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from launch import SMALL, digests, prebake, refused
from pictures import image_folder, jpeg, photo

from convert.manifest import MANIFEST


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Eighty pictures, more than are looked at in one go, and one that is rejected."""
    root = image_folder(tmp_path / "source", {"cat": 40, "dog": 40})
    (root / "cat" / "bad.jpg").write_bytes(b"<html>")
    return root


@pytest.fixture
def out(source: Path, tmp_path: Path) -> Path:
    done = prebake("lmdb", source, tmp_path / "out", *SMALL)
    assert (done.returncode, done.stderr) == (0, "")
    return tmp_path / "out"


def change(path: Path) -> None:
    """Another byte, behind the picture; a size and a time as before."""
    info = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def test_newer_pictures_are_a_hint(source: Path, out: Path) -> None:
    again = ("lmdb", source, out, *SMALL)
    assert prebake(*again).stderr == ""
    for number in (3, 5):
        os.utime(source / "dog" / f"{number:04d}.jpg", (time.time(), (out / MANIFEST).stat().st_mtime + 10))
    for command in (again, ("plan", source, out, "--format", "lmdb", *SMALL)):
        done = prebake(*command)
        assert done.returncode == 0
        hint = "2 pictures newer than the bake, such as dog/0003.jpg: --check-source compares what they hold\n"
        assert done.stderr == hint
        assert "holds this very bake already" in done.stdout
    done = prebake(*again, "--check-source")
    assert (done.returncode, done.stderr) == (0, "")
    assert "holds this very bake already" in done.stdout


def test_other_contents_of_the_same_size_and_time(source: Path, out: Path) -> None:
    before, again = digests(out), ("lmdb", source, out, *SMALL, "--check-source")
    change(source / "dog" / "0033.jpg")
    assert prebake(*again[:-1]).stderr == ""
    line = refused(prebake(*again))
    assert line == f"{out}: something else than was baked is now in 1 picture, such as dog/0033.jpg: bake anew, with --overwrite"
    change(source / "cat" / "bad.jpg")  # of it no row tells
    assert "in 1 picture, such as dog" in refused(prebake(*again))
    assert digests(out) == before
    assert prebake(*again, "--overwrite").returncode == 0
    assert prebake(*again).stderr == ""


def test_before_pictures_are_appended(source: Path, out: Path) -> None:
    (source / "dog" / "new.jpg").write_bytes(jpeg(photo(7, 50, 60)))
    os.utime(source / "cat" / "0000.jpg", (time.time(), (out / MANIFEST).stat().st_mtime + 10))
    change(source / "cat" / "0001.jpg")
    (source / "cat" / "0002.jpg").unlink()
    line = refused(prebake("lmdb", source, out, *SMALL, "--append", "--check-source"))
    assert "in 1 picture, such as cat/0001.jpg: --append leaves it as it is; bake anew" in line
    assert line.endswith("is as it was before")
    done = prebake("lmdb", source, out, *SMALL, "--append")
    assert done.stderr.startswith("1 picture newer than the bake, such as cat/0000.jpg: ")
    assert "1 picture appended" in done.stdout


def test_without_hashes_there_is_nothing_to_compare(source: Path, tmp_path: Path) -> None:
    assert prebake("lmdb", source, tmp_path / "out", *SMALL, "--dedupe", "off").returncode == 0
    done = prebake("lmdb", source, tmp_path / "out", *SMALL, "--dedupe", "off", "--check-source")
    assert done.returncode == 2
    assert "--check-source compares hashes, which --dedupe off leaves out" in done.stderr
