"""Each bad input ends with one line that says what and what to do, exit code 1 or 2, and leaves OUT as it was."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pictures import image_folder

ROOT = Path(__file__).parent.parent
SMALL = ("--size", "16")
WITHOUT = """
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
"""Runs prebake where some packages are not installed: the finder of installed packages does not find them."""


def prebake(*args: object, launch: tuple[str, ...] = ("-m", "convert")) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *launch, *map(str, args)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="surrogateescape", timeout=60, check=False)


def refused(result: subprocess.CompletedProcess[str], code: int = 1) -> str:
    """The one line that an error is, without its first word."""
    assert result.returncode == code, result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("prebake: ")
    return result.stderr.removeprefix("prebake: ").strip()


def tree(root: Path) -> dict[str, tuple[int, bytes | None]]:
    """All names below a folder, with times and contents: equal only if nothing was touched."""
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None) for path in (root, *root.rglob("*"))}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("errors") / "source", {"cat": 3, "dog": 2})


@pytest.fixture(scope="module")
def done(source: Path) -> Path:
    """A finished bake, which no test changes."""
    out = source.parent / "done"
    assert prebake("memmap", source, out, *SMALL).returncode == 0
    return out


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "prebake", str(disk)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


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
def test_rejects_beyond_the_limit_are_named_and_nothing_is_left(tmp_path: Path, out: str) -> None:
    image_folder(tmp_path / "source", {"cat": 5, "dog": 5})
    bad = os.fsdecode(b"caf\xe9\n\x1b[31m.jpg")
    (tmp_path / "source" / "cat" / bad).write_bytes(b"<html>")
    line = refused(prebake("webdataset", tmp_path / "source", tmp_path / out, "--max-rejects", "0", *SMALL))
    assert r"cat/caf\udce9\n\x1b[31m.jpg: not_an_image" in line
    assert "more than 0 pictures were rejected (--max-rejects allows more)" in line
    assert list(tmp_path.iterdir()) == [tmp_path / "source"]


def test_no_picture_can_be_read(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / "source" / name).mkdir(parents=True)
        (tmp_path / "source" / name / "1.jpg").touch()
    line = refused(prebake("hdf5", tmp_path / "source", tmp_path / "out", *SMALL))
    assert "no picture could be baked; 2 rejected, such as" in line
    assert "cat/1.jpg: empty (0 bytes)" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("more", [(), ("--overwrite",)])
def test_out_that_is_not_ours_is_left_alone(source: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("years of work")
    (tmp_path / "other" / "manifest.json").write_text("{}")
    (tmp_path / "file").write_text("a file")
    before = tree(tmp_path)
    assert "other holds something else (thesis.tex): choose" in refused(prebake("lmdb", source, tmp_path / "other", *more))
    assert "file is a file: choose another name" in refused(prebake("lmdb", source, tmp_path / "file", *more))
    assert "cannot be written: Not a directory" in refused(prebake("lmdb", source, tmp_path / "file" / "out", *more))
    assert "holds something else" in refused(prebake("lmdb", source, source.parent, *more))
    assert tree(tmp_path) == before


def test_out_inside_of_the_source(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"cat": 1, "dog": 1})
    (tmp_path / "link").symlink_to(source)
    before = tree(tmp_path)
    for out in (source, source / "baked", source / "cat" / "deep" / "baked", tmp_path / "link" / "baked"):
        assert re.search(r"OUT .* is inside the source .*: choose a folder outside of it", refused(prebake("lmdb", source, out)))
    assert tree(tmp_path) == before


def test_an_unfinished_bake_asks_for_overwrite(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / ".prebake").mkdir(parents=True)
    (tmp_path / "out" / "shard-00000.lmdb.123.partial").write_text("half")
    before = tree(tmp_path)
    assert "out holds an unfinished bake: add --overwrite" in refused(prebake("lmdb", source, tmp_path / "out", *SMALL))
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ("memmap --size 16x17", "size differs: 16x16, not 16x17"),
        ("memmap --resize pad", "resize differs: center-crop, not pad"),
        ("memmap --filter lanczos", "filter differs: bilinear, not lanczos"),
        ("memmap --dtype uint8", "dtype differs: float16, not uint8"),
        ("memmap --mean 0.5", "mean differs"),
        ("memmap --std 0.5", "std differs"),
        ("memmap --order source", "order differs: shuffled, not source"),
        ("memmap --seed 1", "seed differs: 0, not 1"),
        ("memmap --shards 2", "shards differ: 1, not 2"),
        ("lmdb", "format differs: memmap, not lmdb"),
    ],
)
def test_another_bake_is_there(source: Path, done: Path, args: str, says: str) -> None:
    before = tree(done)
    format, *more = args.split()
    line = refused(prebake(format, source, done, *SMALL, *more))
    assert says in line
    assert line.endswith("choose another OUT, or add --overwrite")
    assert tree(done) == before


def test_the_pictures_have_changed(done: Path, tmp_path: Path) -> None:
    other = image_folder(tmp_path / "source", {"cat": 3, "dog": 2}, seed=1)
    assert "holds another bake (of other pictures): choose another OUT" in refused(prebake("memmap", other, done, *SMALL))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read: No such file"),
        ("\n\n", "no names in it"),
        ("cat\ndog\ncat\n", "cat stands there twice"),
        ("cat\ncow\n", "1 classes that .* does not know: dog"),
    ],
)
def test_a_class_list_that_does_not_fit(source: Path, tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / "classes.txt").write_text(text)
    assert re.search(says, refused(prebake("lmdb", source, tmp_path / "out", "--classes", tmp_path / "classes.txt")))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("format", "library"), [("lmdb", "lmdb"), ("hdf5", "h5py")])
def test_a_missing_library_says_what_to_install(source: Path, tmp_path: Path, format: str, library: str) -> None:
    for command in ((format, source, tmp_path / "out"), ("plan", source, "--format", format)):
        line = refused(prebake(library, *command, launch=("-c", WITHOUT)))
        assert line == f"the format {format} needs the package {library}, which is not installed: pip install {library}"
    assert f"format {format:<12}missing: pip install {library}" in prebake(library, "doctor", launch=("-c", WITHOUT)).stdout
    assert not (tmp_path / "out").exists()


def test_a_format_needs_no_library_of_another(source: Path, tmp_path: Path) -> None:
    result = prebake("lmdb,h5py,webdataset", "memmap", source, tmp_path / "out", *SMALL, launch=("-c", WITHOUT))
    assert (result.returncode, result.stderr) == (0, "")


def test_too_little_room_is_said_before_the_first_byte_with_what_fits(source: Path, small_disk: Path) -> None:
    for command in (("memmap", source, small_disk / "out"), ("plan", source, small_disk / "out")):
        result = prebake(*command)
        assert result.returncode == 1
        first, *fits = result.stderr.splitlines()
        assert re.fullmatch(r"prebake: .*/out: disk has [\d.]+ MB free, and this bake needs [\d.]+ MB\. What fits:", first)
        assert not list(small_disk.iterdir())
    options = fits[0].split()[:4]
    assert options[::2] == ["--dtype", "--size"]
    assert prebake("memmap", source, small_disk / "out", *options).returncode == 0


def test_overwrite_counts_the_room_that_the_old_bake_leaves(source: Path, small_disk: Path) -> None:
    for more in ((), ("--overwrite", "--seed", "1")):
        result = prebake("memmap", source, small_disk / "out", "--size", "160", *more)
        assert (result.returncode, result.stderr) == (0, "")
