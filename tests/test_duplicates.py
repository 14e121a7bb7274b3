"""Pictures whose bytes were baked twice are listed: in one bake, in two classes, and in the bake of `--like`."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import bake as bake_here
from hypothesis import given
from hypothesis import strategies as st
from launch import SMALL, bake, prebake, refused, rows, tree
from pictures import image_folder

from convert.hashes import first_places
from convert.manifest import read_manifest

ODD = os.fsdecode(b"dog/caf\xe9, \xc3\xa9.jpg")


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train: one picture three times, in two classes, and one twice; val: two of train's, one of them twice. Rejects with equal bytes."""
    root = tmp_path_factory.mktemp("splits")
    train = image_folder(root / "train", {"cat": 9, "dog": 8})
    val = image_folder(root / "val", {"cat": 4, "dog": 3}, seed=1)
    for name in ("cat/again.jpg", ODD):
        shutil.copy(train / "cat" / "0003.jpg", train / name)
    shutil.copy(train / "dog" / "0001.jpg", train / "dog" / "copy.jpg")
    for old, new in (("cat/0003.jpg", "dog/a.jpg"), ("cat/0003.jpg", "dog/b.jpg"), ("dog/0005.jpg", "dog/c.jpg")):
        shutil.copy(train / old, val / new)
    for folder in (train, val):
        for name in ("cat/empty1.jpg", "cat/empty2.jpg"):
            (folder / name).touch()
        for name in ("dog/page1.jpg", "dog/page2.jpg"):
            (folder / name).write_text("<html>")
    return root


def expected(source: Path, out: Path, other: Path | None = None, like: Path | None = None) -> list[list[str]]:
    """What duplicates.csv must hold, by hashlib on the files in the order of samples.csv."""

    def listed(folder: Path, baked: Path) -> list[tuple[str, list[str]]]:
        table = rows(baked / "samples.csv")
        return [(hashlib.sha256((folder / r["key"]).read_bytes()).hexdigest(), [r["key"], r["class"], r["index"]]) for r in table]

    there: dict[str, list[str]] = {}
    for digest, line in listed(other, like) if other and like else []:
        there.setdefault(digest, line)
    seen: dict[str, list[str]] = {}
    lines = []
    for digest, line in listed(source, out):
        lines += [[*line, "here", *seen[digest]]] if digest in seen else []
        lines += [[*line, "like", *there[digest]]] if digest in there else []
        seen.setdefault(digest, line)
    return lines


def found(out: Path) -> list[list[str]]:
    with (out / "duplicates.csv").open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["key", "class", "index", "same_as", "other_key", "other_class", "other_index"]
    return lines


def test_duplicates_and_leakage_are_listed(splits: Path, tmp_path: Path) -> None:
    train, val = tmp_path / "train", tmp_path / "val"
    printed = bake("lmdb", splits / "train", train)
    assert found(train) == expected(splits / "train", train)
    astray = sum(line[1] != line[5] for line in found(train))
    assert astray
    assert f"3 pictures have the bytes of another, {astray} of them in another class: see duplicates.csv" in " ".join(printed.split())
    done = prebake("memmap", splits / "val", val, "--like", train)
    assert (done.returncode, done.stderr) == (0, "")
    assert found(val) == expected(splits / "val", val, splits / "train", train)
    assert {(line[0], line[4]) for line in found(val) if line[3] == "like" if line[0] == "dog/c.jpg"} == {("dog/c.jpg", "dog/0005.jpg")}
    says = f"duplicates: 1 picture has the bytes of another; 3 pictures are also in {train}: see duplicates.csv"
    assert says in " ".join(done.stdout.split())
    keys = [row["key"] for row in rows(val / "samples.csv")]
    digests = [hashlib.sha256((splits / "val" / key).read_bytes()).digest()[:16] for key in keys]
    assert np.load(val / "hashes.npy").tobytes() == b"".join(digests)
    assert {"hashes.npy", "duplicates.csv"} <= {file.name for file in read_manifest(val).files}


def test_nothing_is_said_of_pictures_that_all_differ(tmp_path: Path) -> None:
    assert "duplicates" not in bake("memmap", image_folder(tmp_path / "source", {"cat": 3, "dog": 2}), tmp_path / "out")
    assert found(tmp_path / "out") == []


def test_a_folder_without_classes(tmp_path: Path) -> None:
    image_folder(tmp_path / "source", {".": 4})
    shutil.copy(tmp_path / "source" / "0002.jpg", tmp_path / "source" / "same.jpg")
    assert "duplicates: 1 picture has the bytes of another: see duplicates.csv\n" in bake("hdf5", tmp_path / "source", tmp_path / "out")
    assert found(tmp_path / "out") == expected(tmp_path / "source", tmp_path / "out")
    assert len(found(tmp_path / "out")) == 1


def test_the_lists_depend_on_nobody_and_on_no_place(splits: Path, tmp_path: Path) -> None:
    bake_here(splits / "train", tmp_path / "train", size=(16, 16), shards=5)
    for place in ("a", "much/deeper"):
        shutil.copytree(tmp_path / "train", tmp_path / place / "train")
    runs = [("one", 1, "serial", "a"), ("two", 2, "local", "a"), ("three", 3, "local", "much/deeper")]
    for name, workers, executor, place in runs:
        like = tmp_path / place / "train"
        bake_here(splits / "val", tmp_path / name / "out", workers=workers, executor=executor, like=like, shards=4)
    first, *others = [{p.name: p.read_bytes() for p in (tmp_path / name / "out").iterdir()} for name, *_ in runs]
    assert len(first["duplicates.csv"].splitlines()) == 5
    assert all(other == first for other in others)


def test_off_leaves_both_files_out_and_is_another_bake(splits: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "duplicates" not in bake("memmap", splits / "train", out, "--dedupe", "off")
    assert not {"hashes.npy", "duplicates.csv"} & {path.name for path in out.iterdir()}
    before = tree(out)
    assert "nothing to do" in bake("memmap", splits / "train", out, "--dedupe", "off")
    assert "its dedupe differs: off, not report" in refused(prebake("memmap", splits / "train", out, *SMALL))
    assert tree(out) == before
    done = prebake("memmap", splits / "val", tmp_path / "val", "--like", out)
    assert done.returncode == 0
    assert f"leakage   cannot be looked for: {out} was baked with --dedupe off\n" in done.stdout
    assert found(tmp_path / "val") == expected(splits / "val", tmp_path / "val")
    bake("memmap", splits / "train", out, "--overwrite")
    assert "compared with another --like" in refused(prebake("memmap", splits / "val", tmp_path / "val", "--like", out))
    assert prebake("memmap", splits / "val", tmp_path / "val", "--like", out, "--overwrite").returncode == 0
    assert found(tmp_path / "val") == expected(splits / "val", tmp_path / "val", splits / "train", out)


@pytest.mark.parametrize("name", ["hashes.npy", "targets.npy", "keys.bin"])
@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "changed"])
def test_a_damaged_bake_to_compare_with_is_named_before_anything_is_made(splits: Path, tmp_path: Path, name: str, damage: str) -> None:
    bake_here(splits / "train", tmp_path / "like", size=(16, 16))
    path = tmp_path / "like" / name
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "changed":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    else:
        path.write_bytes(data[: len(data) - 9] if damage == "cut" else b"")
    line = refused(prebake("memmap", splits / "val", tmp_path / "val", "--like", tmp_path / "like"))
    says = f"{path} is missing, damaged or of another bake: bake {tmp_path / 'like'} again, or add --dedupe off"
    assert line == says
    assert not (tmp_path / "val").exists()
    assert prebake("memmap", splits / "val", tmp_path / "val", "--like", tmp_path / "like", "--dedupe", "off").returncode == 0


@given(st.lists(st.integers(0, 12), max_size=40), st.integers(0, 14))
def test_first_places(numbers: list[int], zeros: int) -> None:
    hashes = np.zeros((len(numbers), 16), np.uint8)
    hashes[:, zeros], hashes[:, 15] = np.array(numbers, int) // 4, np.array(numbers, int) % 4
    assert first_places(hashes).tolist() == [numbers.index(number) for number in numbers]
