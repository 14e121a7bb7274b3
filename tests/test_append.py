"""`--append` makes new pictures new shards: what was there stays, what is refused is told, and it can be ended at any step."""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import bake as bake_here
from launch import SMALL, digests, labels, prebake, refused, rows
from pictures import image_folder, jpeg, photo

from convert.manifest import MANIFEST, read_manifest
from convert.tasks import Crew
from convert.verify import verify
from readers import open_dataset

RUN = (*SMALL, "--shards", "3")
CREW = Crew(1, "serial", quiet=True)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return image_folder(tmp_path / "source", {"cat": 9, "dog": 9})


def whole(*args: object) -> str:
    done = prebake(*args, *RUN)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def grow(source: Path) -> list[str]:
    """Three new pictures, one of a new class and one with the bytes of an old one; and one that is none."""
    (source / "eel").mkdir()
    shutil.copy(source / "cat" / "0001.jpg", source / "eel" / "same.jpg")
    (source / "dog" / "\udce9,\n.jpg").write_bytes(jpeg(photo(7, 60, 70)))
    (source / "dog" / "zebra.jpg").write_bytes(jpeg(photo(8, 60, 70)))
    (source / "dog" / "bad.jpg").write_bytes(b"<html>")
    return ["dog/zebra.jpg", "dog/\udce9,\n.jpg", "eel/same.jpg"]


def test_old_shards_and_indices_stay(source: Path, tmp_path: Path, format: str) -> None:
    out = tmp_path / "out"
    whole(format, source, out, "--with-keys") if format != "memmap" else whole(format, source, out)
    before, old = digests(out), labels(out)
    keys = list(open_dataset(out).keys)
    new = grow(source)
    with_keys = ("--with-keys",) if format != "memmap" else ()
    assert "--append to add new pictures alone" in refused(prebake(format, source, out, *RUN, *with_keys))
    assert digests(out) == before
    assert "3 pictures appended" in whole(format, source, out, "--append", *with_keys)
    after = digests(out)
    assert all(after[name] == digest for name, digest in before.items() if name.startswith("shard-"))
    dataset = open_dataset(out)
    assert list(dataset.keys)[: len(keys)] == keys
    assert sorted(list(dataset.keys)[len(keys) :]) == sorted(new)
    assert dataset.classes == ["cat", "dog", "eel"]
    assert labels(out) == old | {"dog/zebra.jpg": 1, "dog/\udce9,\n.jpg": 1, "eel/same.jpg": 2}
    assert not verify(out, CREW, deep=True).wrong
    assert [row["key"] for row in rows(out / "rejects.csv")] == ["dog/bad.jpg"]
    pair = [row for row in rows(out / "duplicates.csv") if row["key"] == "eel/same.jpg"]
    assert [(row["other_key"], row["other_class"]) for row in pair] == [("cat/0001.jpg", "cat")]
    alone = tmp_path / "alone"
    bake_here(source, alone, format, size=(16, 16), exact=False, icc="srgb")
    there = dict(zip(open_dataset(alone).keys, range(99), strict=False))
    for index, key in enumerate(dataset.keys):
        np.testing.assert_array_equal(dataset.image(index), open_dataset(alone).image(there[key]))
    assert "or --append to keep it: it holds these very pictures" in refused(prebake(format, source, out, *RUN, *with_keys))
    assert "nothing to append" in whole(format, source, out, "--append", *with_keys)
    assert digests(out) == after
    shards = [out / shard.name for shard in read_manifest(out).shards if shard.count]
    shards[-1].unlink()
    shards[0].write_bytes(b"")
    assert prebake("repair", out, "--source", source).returncode == 0
    assert digests(out) == after


def test_ended_at_any_step(source: Path, tmp_path: Path) -> None:
    """A kill before each rename and each removal, one after the other."""
    out = tmp_path / "first"
    whole("lmdb", source, out)
    before = digests(out)
    grow(source)
    shutil.copytree(out, tmp_path / "undisturbed")
    whole("lmdb", source, tmp_path / "undisturbed", "--append")
    code = """
import os, pathlib, sys
from convert.executors import local, serial
from convert.__main__ import main
local.EXECUTOR, left = serial.EXECUTOR, [int(sys.argv.pop(1))]
def counted(function):
    def call(path, *args, **kwargs):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), 9)
        return function(path, *args, **kwargs)
    return call
pathlib.Path.rename, pathlib.Path.unlink = counted(pathlib.Path.rename), counted(pathlib.Path.unlink)
main()
"""
    for step in (1, 9, 17, 25, 31, 33, 35, 37, 39, 41, 44, 50):
        out = shutil.copytree(tmp_path / "first", tmp_path / f"step{step}")
        done = prebake(step, "lmdb", source, out, *RUN, "--append", command=(sys.executable, "-c", code))
        assert done.returncode in (0, -9)
        if (out / MANIFEST).exists():
            assert not verify(out, CREW).wrong
            assert len(open_dataset(out)) in (18, 21)
        else:
            assert "run the same command again" in refused(prebake("verify", out))
            assert "was being appended to" in refused(prebake("lmdb", source, out, *RUN))
        whole("lmdb", source, out, "--append")
        assert digests(out) == digests(tmp_path / "undisturbed")
    assert digests(tmp_path / "first") == before


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--size", "17"), "its size differs: 16x16, not 17x17"),
        (("--dtype", "uint8"), "its dtype differs: float16, not uint8"),
        (("--seed", "1"), "its seed differs: 0, not 1"),
        (("--overwrite",), "--append adds to a bake, and --overwrite replaces it"),
    ],
)
def test_what_contradicts_the_bake(source: Path, tmp_path: Path, more: tuple[str, ...], says: str) -> None:
    bake_here(source, tmp_path / "out", size=(16, 16), exact=False, icc="srgb")
    before = digests(tmp_path / "out")
    grow(source)
    done = prebake("memmap", source, tmp_path / "out", "--append", *more)
    assert done.returncode == 2
    assert says in done.stderr
    assert digests(tmp_path / "out") == before


def test_a_class_that_would_move_others(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole("memmap", source, out)
    (source / "ant").mkdir()
    (source / "ant" / "1.jpg").write_bytes(jpeg(photo(3, 50, 50)))
    before = digests(out)
    done = prebake("memmap", source, out, "--append", *RUN)
    assert done.returncode == 2
    assert "the new class ant does not come behind those of" in done.stderr
    (tmp_path / "classes.txt").write_text("ant\ncat\ndog\n")
    assert "has other classes" in prebake("memmap", source, out, "--append", "--classes", tmp_path / "classes.txt", *RUN).stderr
    assert digests(out) == before
    (tmp_path / "classes.txt").write_text("cat\ndog\nant\n")
    whole("memmap", source, out, "--append", "--classes", tmp_path / "classes.txt")
    assert labels(out)["ant/1.jpg"] == 2


def test_a_table_that_has_grown(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"all": 6})
    table = tmp_path / "labels.csv"

    def write(count: int, first: str = "a") -> None:
        with table.open("w", newline="") as file:
            lines = [(f"all/{i:04d}.jpg", first if i == 0 else "ab"[i % 2], f"n{i}") for i in range(count)]
            csv.writer(file).writerows([("path", "label", "note"), *lines])

    write(4)
    whole("memmap", source, tmp_path / "out", "--labels", table)
    write(6)
    whole("memmap", source, tmp_path / "out", "--labels", table, "--append")
    assert labels(tmp_path / "out") == {f"all/{i:04d}.jpg": i % 2 for i in range(6)}
    notes = {row["key"]: row["note"] for row in rows(tmp_path / "out" / "samples.csv")}
    assert notes == {f"all/{i:04d}.jpg": f"n{i}" for i in range(6)}
    write(6, "b")
    done = prebake("memmap", source, tmp_path / "out", "--labels", table, "--append", *RUN)
    assert "all/0000.jpg is labelled otherwise than in" in done.stderr


def test_there_is_nothing_to_append_to(source: Path, tmp_path: Path) -> None:
    assert "no such folder; --append adds to a finished bake: leave it out" in refused(
        prebake("memmap", source, tmp_path / "out", "--append", *RUN)
    )
    assert not (tmp_path / "out").exists()


def test_what_another_bake_has_too_stays_told(source: Path, tmp_path: Path) -> None:
    """With `--like` named again, which also looks at what is new, and without."""
    whole("memmap", source, tmp_path / "train")
    (source / "cat" / "0001.jpg").unlink()
    whole("memmap", source, tmp_path / "val", "--like", tmp_path / "train")
    shutil.copy(source / "cat" / "0002.jpg", source / "dog" / "new.jpg")
    for more, known in (((), 17), (("--like", tmp_path / "train"), 18)):
        val = shutil.copytree(tmp_path / "val", tmp_path / f"val{known}")
        whole("memmap", source, val, "--append", *more)
        found = rows(val / "duplicates.csv")
        assert [int(row["index"]) for row in found if row["same_as"] == "like"] == list(range(known))
        assert [row["key"] for row in found if row["same_as"] == "here"] == ["dog/new.jpg"]
        assert not verify(val, CREW, deep=True).wrong
