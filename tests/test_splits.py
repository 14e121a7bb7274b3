"""The parts of a data set are baked one by one, with the same recipe, classes and labels."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from launch import PREBAKE, bake, labels, prebake, refused
from pictures import image_folder

from convert.manifest import read_manifest


def test_a_second_split_is_like_the_first(tmp_path: Path) -> None:
    train = image_folder(tmp_path / "train", {"ape": 2, "cat": 2, "dog": 2})
    val = image_folder(tmp_path / "val", {"dog": 2, "cat": 1}, seed=1)
    options = ("--resize", "pad", "--filter", "lanczos", "--dtype", "uint8", "--mean", "0.5", "--std", "0.25,0.25,0.5")
    bake("lmdb", train, tmp_path / "baked", *options)
    assert prebake("memmap", val, tmp_path / "second", "--like", tmp_path / "baked").returncode == 0
    assert labels(tmp_path / "second") == {"cat/0000.jpg": 1, "dog/0000.jpg": 2, "dog/0001.jpg": 2}
    first, second = read_manifest(tmp_path / "baked"), read_manifest(tmp_path / "second")
    for name in ("shape", "resize", "filter", "dtype", "mean", "std", "classes"):
        assert getattr(first, name) == getattr(second, name)
    contradiction = prebake("lmdb", val, tmp_path / "third", "--like", tmp_path / "baked", "--size", 17)
    assert contradiction.returncode == 2
    assert re.fullmatch(r"prebake: --size contradicts --like .*/baked, whose size is .*16.*16.*: leave --size out\n", contradiction.stderr)
    unknown = prebake("lmdb", image_folder(tmp_path / "other", {"cat": 1, "cow": 1}), tmp_path / "third", "--like", tmp_path / "baked")
    assert unknown.returncode == 1
    assert re.fullmatch(r"prebake: .*/other has 1 class.* that .*/baked does not know: cow\n", unknown.stderr)
    assert not (tmp_path / "third").exists()


def test_a_class_file_gives_the_order(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"cat": 1, "dog": 1})
    (tmp_path / "classes.txt").write_bytes(b"\xef\xbb\xbfdog\r\nan ape\r\ncat\r\n")
    bake("memmap", source, tmp_path / "out", "--classes", tmp_path / "classes.txt")
    assert read_manifest(tmp_path / "out").classes == ("dog", "an ape", "cat")
    assert labels(tmp_path / "out") == {"dog/0000.jpg": 0, "cat/0000.jpg": 2}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read: No such file"),
        ("\n\n", "no names in it"),
        ("cat\ndog\ncat\n", "cat stands there twice"),
        ("cat\ncow\n", "1 class that .* does not know: dog"),
    ],
)
def test_a_class_list_that_does_not_fit(tmp_path: Path, text: str | None, says: str) -> None:
    source = image_folder(tmp_path / "source", {"cat": 1, "dog": 1})
    if text is not None:
        (tmp_path / "classes.txt").write_text(text)
    assert re.search(says, refused(prebake("lmdb", source, tmp_path / "out", "--classes", tmp_path / "classes.txt")))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("parts", "baked"),
    [
        (["train", "val"], ["train", "val"]),
        (["test", "train2017", "val_64"], ["train2017", "test", "val_64"]),
        (["images", "labels"], [""]),
    ],
)
def test_parts_are_no_classes_and_the_commands_in_the_refusal_work(tmp_path: Path, parts: list[str], baked: list[str]) -> None:
    root, out = tmp_path / 'my $photos "1"', tmp_path / "it's baked"
    for part in parts:
        image_folder(root / part, {"cat": 2, "dog": 1} if part != "labels" else {})
    (root / parts[-1]).mkdir(exist_ok=True)
    (root / parts[-1] / "boxes.txt").write_text("0 0 1 1")
    done = prebake("memmap", root, out)
    assert done.returncode == 2
    assert not out.exists()
    commands = [line for line in done.stderr.splitlines() if line.startswith("  prebake ")]
    assert len(commands) == len(baked)
    script = "\n".join(["set -e", f'prebake() {{ {shlex.join(PREBAKE)} "$@"; }}', *commands])
    typed = prebake("-c", script, command=("sh",))
    assert (typed.returncode, typed.stderr) == (0, "")
    for name in baked:
        assert read_manifest(out / name).classes == ("cat", "dog")


def test_folders_that_are_classes_all_the_same(tmp_path: Path) -> None:
    bake("memmap", image_folder(tmp_path / "vehicles", {"bus": 1, "car": 1, "train": 1}), tmp_path / "one")
    bake("memmap", image_folder(tmp_path / "words", {"train": 1, "val": 1}), tmp_path / "two", "--classes-are-folders")
    assert set(labels(tmp_path / "one")) == {"bus/0000.jpg", "car/0000.jpg", "train/0000.jpg"}
    assert labels(tmp_path / "two") == {"train/0000.jpg": 0, "val/0000.jpg": 1}
