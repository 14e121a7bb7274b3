"""An OUT that holds something else, another bake or half of one is refused in one line and left as it was."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import lmdb
import pytest
from conftest import bake as bake_here
from launch import SMALL, bake, prebake, refused, tree
from pictures import image_folder

from convert.errors import PrebakeError
from readers import open_dataset


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("errors") / "source", {"cat": 3, "dog": 2})


@pytest.fixture(scope="module")
def done(source: Path) -> Path:
    """A finished bake, which no test changes."""
    out = source.parent / "done"
    bake("memmap", source, out)
    return out


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


def test_an_unfinished_bake_without_a_journal_asks_for_overwrite(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / ".prebake").mkdir(parents=True)
    (tmp_path / "out" / "shard-00000.lmdb.123.partial").write_text("half")
    (tmp_path / "out" / "shard-00001.lmdb").write_text("whole")
    before = tree(tmp_path)
    said = refused(prebake("lmdb", source, tmp_path / "out", *SMALL))
    assert "out holds an unfinished bake without a journal, which cannot go on: add --overwrite" in said
    assert tree(tmp_path) == before
    (tmp_path / "out" / "shard-00001.lmdb").unlink()
    bake("lmdb", source, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.partial"))


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
    grown = ", or --append to keep it: it holds these very pictures" if "--shards" in args else ""
    assert line.endswith(f"choose another OUT, or add --overwrite{grown}")
    assert tree(done) == before


def test_the_pictures_have_changed(done: Path, tmp_path: Path) -> None:
    other = image_folder(tmp_path / "source", {"cat": 3, "dog": 2}, seed=1)
    assert "holds another bake (of other pictures): choose another OUT" in refused(prebake("memmap", other, done, *SMALL))


def test_a_users_own_tables_are_no_unfinished_bake(source: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for name in ("samples.csv", "targets.npy", "preview.png"):
        (tmp_path / "mine" / name).write_text("mine")
    before = tree(tmp_path)
    for more in ((), ("--overwrite",)):
        assert "mine holds something else (preview.png): choose" in refused(prebake("memmap", source, tmp_path / "mine", *SMALL, *more))
    assert tree(tmp_path) == before


def test_what_stock_tools_and_file_managers_leave_is_no_obstacle(source: Path, tmp_path: Path) -> None:
    bake("lmdb", source, tmp_path / "out")
    lmdb.open(str(tmp_path / "out" / "shard-00000.lmdb"), subdir=False).close()
    (tmp_path / "out" / ".DS_Store").touch()
    assert (tmp_path / "out" / "shard-00000.lmdb-lock").exists()
    assert "nothing to do" in bake("lmdb", source, tmp_path / "out")
    bake("lmdb", source, tmp_path / "out", "--seed", "1", "--overwrite")
    assert not (tmp_path / "out" / "shard-00000.lmdb-lock").exists()


def test_a_bake_that_lost_a_shard_is_not_whole(source: Path, tmp_path: Path) -> None:
    bake("hdf5", source, tmp_path / "out")
    (tmp_path / "out" / "shard-00000.h5").unlink()
    assert "holds a damaged bake (shard-00000.h5 is missing" in refused(prebake("hdf5", source, tmp_path / "out", *SMALL))
    bake("hdf5", source, tmp_path / "out", "--overwrite")


def test_paths_that_cannot_be_reached(source: Path, done: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    for out in ("loop", "nowhere", "x" * 300, "nowhere/out"):
        refused(prebake("memmap", source, tmp_path / out, *SMALL))
        refused(prebake("memmap", tmp_path / out, tmp_path / "out", *SMALL))
    assert "is a bake already" in refused(prebake("memmap", done, tmp_path / "out", *SMALL))
    assert {path.name for path in tmp_path.iterdir()} == {"loop", "nowhere"}


def test_overwrite_removes_the_bake_alone(source: Path, tmp_path: Path) -> None:
    for name in ("shard-00000.txt", "shard-00001.backup/notes", "targets.npy/notes"):
        bake("memmap", source / "cat", tmp_path / "out")
        mine = tmp_path / "out" / name
        mine.parent.mkdir(exist_ok=True)
        mine.write_text("mine")
        refused(prebake("memmap", source, tmp_path / "out", *SMALL, "--overwrite"))
        with pytest.raises(PrebakeError, match="holds something else"):
            bake_here(source, tmp_path / "out", size=(16, 16))
        assert mine.read_text() == "mine"
        shutil.rmtree(tmp_path / "out")


def test_a_bake_that_lost_its_keys_can_be_made_again(source: Path, tmp_path: Path) -> None:
    bake("memmap", source, tmp_path / "out")
    (tmp_path / "out" / "keys.bin").unlink()
    with pytest.raises(PrebakeError, match=r"keys\.bin is missing: .*--overwrite"):
        open_dataset(tmp_path / "out")
    bake("memmap", source, tmp_path / "out", "--overwrite")


def test_clearing_that_was_cut_off_can_be_taken_up(source: Path, tmp_path: Path) -> None:
    bake("memmap", source, tmp_path / "out", "--shards", "4")
    code = """
import os, pathlib, sys
from convert.__main__ import main
unlink, left = pathlib.Path.unlink, [3]
def cut_off(path, *args, **kwargs):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), 9)
    unlink(path, *args, **kwargs)
pathlib.Path.unlink = cut_off
main()
"""
    killed = prebake("memmap", source, tmp_path / "out", *SMALL, "--overwrite", "--seed", "1", command=(sys.executable, "-c", code))
    assert killed.returncode == -9
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert "unfinished bake without a journal" in refused(prebake("memmap", source, tmp_path / "out", *SMALL))
    bake("memmap", source, tmp_path / "out", "--overwrite")


def test_a_bake_never_replaces_what_it_reads(source: Path, tmp_path: Path) -> None:
    bake("memmap", source, tmp_path / "train")
    (tmp_path / "link").symlink_to("train")
    (tmp_path / "train" / "sub").mkdir()
    before = tree(tmp_path / "train")
    for like, out in (("train", "./train/"), ("link", "train"), ("train", "link"), ("train/sub/..", "train")):
        line = refused(prebake("memmap", source, f"{tmp_path}/{out}", "--like", f"{tmp_path}/{like}", "--overwrite"))
        assert "is what --like" in line
        assert "would be replaced: choose another OUT" in line
    for option in ("--classes", "--labels"):
        line = refused(prebake("memmap", source, tmp_path / "link", option, tmp_path / "train" / "samples.csv", "--overwrite", *SMALL))
        assert f"holds what {option} " in line
    assert tree(tmp_path / "train") == before
    (tmp_path / "train" / "sub").rmdir()
    bake_here(source, tmp_path / "second", like=tmp_path / "link")
