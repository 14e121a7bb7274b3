"""A call that makes no sense, and a source or an installation that lacks something, end with one line that says what and what to do."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from launch import SMALL, bake, prebake, refused
from pictures import image_folder

WITHOUT_CODE = """
import sys
from importlib.machinery import PathFinder
hidden = sys.argv.pop(1).split(",")
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in hidden else super().find_spec(name, path, target)
sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
from convert.__main__ import main
main()
"""
WITHOUT = (sys.executable, "-c", WITHOUT_CODE)
"""Runs prebake where some packages are not installed: the finder of installed packages does not find them."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("errors") / "source", {"cat": 3, "dog": 2})


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ("bmp SRC OUT", "no command or format 'bmp': there are hdf5, lmdb, memmap, webdataset"),
        ("plan SRC --format bmp", "unknown format 'bmp': there are hdf5, lmdb, memmap, webdataset"),
        ("lmdb SRC", "Missing argument 'OUT'"),
        ("lmdb SRC OUT more", "unexpected extra argument (more)"),
        ("lmdb SRC OUT --sizes 3", "No such option '--sizes'"),
        ("memmap SRC OUT --with-keys", "No such option '--with-keys'"),
        ("lmdb SRC OUT --size banana", "'banana' is not a size: give 256, or 192x256 (height x width)"),
        ("lmdb SRC OUT --size 32x", "'32x' is not a size"),
        ("lmdb SRC OUT --size 0", "from 1 to 16384"),
        ("lmdb SRC OUT --size 16385", "from 1 to 16384"),
        ("lmdb SRC OUT --dtype int8", "'int8' is not one of 'float16', 'float32', 'uint8'"),
        ("lmdb SRC OUT --mean a,b", "'a,b' is not one number or three"),
        ("lmdb SRC OUT --std 0.2,0.2", "'0.2,0.2' is not one number or three"),
        ("lmdb SRC OUT --mean nan", "--mean must be from 0 to 1"),
        ("lmdb SRC OUT --mean=-0.1", "--mean must be from 0 to 1"),
        ("lmdb SRC OUT --std 0", "--std above 0"),
        ("lmdb SRC OUT --mean 123.675,116.28,103.53 --std 58.395,57.12,57.375", "try --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225"),
        ("lmdb SRC OUT --std 1e-6", "use --dtype float32"),
        ("lmdb SRC OUT --shard-size 3X", "'3X' is not a number of bytes: give 256M or 1G"),
        ("lmdb SRC OUT --shard-size 0", "'0' is not a number of bytes"),
        ("lmdb SRC OUT --max-rejects few", "'few' is neither a count nor a share: give 25 or 1%"),
        ("lmdb SRC OUT --workers 0", "0 is not in the range"),
        ("lmdb SRC OUT --classes SRC --like SRC", "leave one out"),
    ],
)
def test_a_call_that_makes_no_sense(source: Path, tmp_path: Path, args: str, says: str) -> None:
    places = {"SRC": str(source), "OUT": str(tmp_path / "out")}
    result = prebake(*(places.get(word, word) for word in args.split()))
    assert (result.returncode, result.stdout) == (2, "")
    *usage, last = result.stderr.splitlines()
    assert says in last
    assert last.startswith("prebake: ") if not usage else usage[0].startswith("Usage: prebake") and last.startswith("Error: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "says"), [("nowhere", "no such folder"), ("file.jpg", "not a folder"), ("empty", r"no pictures in it \(looked for .*\.jpg")]
)
def test_a_source_that_holds_nothing(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "file.jpg").write_bytes(b"\xff\xd8")
    (tmp_path / "empty" / "class").mkdir(parents=True)
    (tmp_path / "empty" / "class" / "readme.txt").write_text("no picture")
    line = refused(prebake("lmdb", tmp_path / name, tmp_path / "out"))
    assert re.search(rf"{re.escape(str(tmp_path / name))}: {says}", line)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("out", ["out", "new/folders/out"])
def test_rejects_beyond_the_limit_are_named_and_a_higher_one_goes_on(tmp_path: Path, out: str) -> None:
    image_folder(tmp_path / "source", {"cat": 5, "dog": 5})
    bad = os.fsdecode(b"caf\xe9\n\x1b[31m.jpg")
    (tmp_path / "source" / "cat" / bad).write_bytes(b"<html>")
    line = refused(prebake("webdataset", tmp_path / "source", tmp_path / out, "--max-rejects", "0", *SMALL))
    assert r"cat/caf\udce9\n\x1b[31m.jpg: not_an_image" in line
    assert "a picture was rejected, and --max-rejects 0 allows none" in line
    kept = "; 1 of 1 shard kept: the next run goes on" in line
    assert (tmp_path / out).exists() == kept
    assert (tmp_path / out.split("/")[0]).exists() == kept
    bake("webdataset", tmp_path / "source", tmp_path / out, "--max-rejects", "1")


def test_no_picture_can_be_read(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / "source" / name).mkdir(parents=True)
        (tmp_path / "source" / name / "1.jpg").touch()
    line = refused(prebake("hdf5", tmp_path / "source", tmp_path / "out", *SMALL))
    assert "no picture could be baked; 2 rejected, such as" in line
    assert "cat/1.jpg: empty (0 bytes)" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("format", "library"), [("lmdb", "lmdb"), ("hdf5", "h5py")])
def test_a_missing_library_says_what_to_install(source: Path, tmp_path: Path, format: str, library: str) -> None:
    for command in ((format, source, tmp_path / "out"), ("plan", source, "--format", format)):
        line = refused(prebake(library, *command, command=WITHOUT))
        assert line == f"the format {format} needs the package {library}, which is not installed: pip install {library}"
    assert f"format {format:<12}missing: pip install {library}" in prebake(library, "doctor", command=WITHOUT).stdout
    assert not (tmp_path / "out").exists()


def test_a_format_needs_no_library_of_another(source: Path, tmp_path: Path) -> None:
    result = prebake("lmdb,h5py,webdataset", "memmap", source, tmp_path / "out", *SMALL, command=WITHOUT)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "window", ["9:9", "9:8", f"0:{'9' * 400}", f"-{'9' * 400}:0", f"-{'9' * 400}:{'9' * 400}", f"-{'9' * 308}:{'9' * 308}"]
)
def test_a_window_is_a_range_of_finite_levels(tmp_path: Path, window: str) -> None:
    done = prebake("memmap", tmp_path, tmp_path / "out", "--window", window)
    assert done.returncode == 2
    assert "is not a range of levels: give 0:4095, or auto" in done.stderr
