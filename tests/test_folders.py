"""Any tree of pictures is taken as torchvision's ImageFolder takes it, whatever names, links and junk are in it."""

from __future__ import annotations

import io
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from launch import bake, labels, rows
from pictures import image_folder, jpeg, photo
from torchvision.datasets import ImageFolder

from convert.contracts import RejectError
from convert.manifest import read_manifest
from convert.reading import read_item
from convert.source import scan


def image_folder_samples(root: Path) -> list[tuple[str, int]]:
    """The oracle: torchvision's keys and labels, in its order."""
    return [(Path(path).relative_to(root).as_posix(), label) for path, label in ImageFolder(str(root)).samples]


def test_order_and_labels_are_those_of_image_folder(tmp_path: Path) -> None:
    source = image_folder(
        tmp_path / "source", {"1": 2, "10": 2, "2": 2, "A": 1, "a": 1, "é": 1, "2/deep/er": 2, "2/Deep": 1, "1/0000.jpg.d": 1}
    )
    (source / "10" / "UPPER.JPG").write_bytes(jpeg(photo(0, 20, 20)))
    (source / "10" / "Mixed.JpEg").write_bytes(jpeg(photo(1, 20, 20)))
    bake("memmap", source, tmp_path / "ordered", "--order", "source")
    bake("memmap", source, tmp_path / "shuffled")
    expected = image_folder_samples(source)
    assert list(labels(tmp_path / "ordered").items()) == expected
    shuffled = list(labels(tmp_path / "shuffled").items())
    assert shuffled != expected
    assert sorted(shuffled) == sorted(expected)
    assert read_manifest(tmp_path / "ordered").classes == ("1", "10", "2", "A", "a", "é")


def test_hidden_and_empty_folders_shift_no_label(tmp_path: Path) -> None:
    clean = image_folder(tmp_path / "clean", {"cat": 2, "dog": 2})
    source = shutil.copytree(clean, tmp_path / "source")
    for folder in (".ipynb_checkpoints", "__MACOSX", "@eaDir", "0 empty", "bear"):
        (source / folder).mkdir()
    for junk in (
        ".ipynb_checkpoints/a.jpg",
        "__MACOSX/._a.jpg",
        "@eaDir/a.jpg",
        "cat/._0000.jpg",
        "cat/Thumbs.db",
        "bear/notes.txt",
        ".DS_Store",
    ):
        (source / junk).write_bytes(jpeg(photo(0, 20, 20)))
    printed = bake("memmap", source, tmp_path / "out", "--order", "source")
    assert list(labels(tmp_path / "out").items()) == image_folder_samples(clean)
    assert "folders without pictures: 2" in printed


def test_hostile_names_survive(tmp_path: Path) -> None:
    names = [
        "a\nb.jpg",
        "a\tb.jpg",
        "a\rb.jpg",
        "a'b\".jpg",
        "a,b.jpg",
        "🦊.jpg",
        "-rf.jpg",
        "{000..003}.jpg",
        "*[?].jpg",
        "a\\b.jpg",
        "$(x).jpg",
        "a.b.c.jpg",
    ]
    names += [os.fsdecode(b"caf\xe9.jpg"), "é.jpg", "e\u0301.jpg", "x" * 251 + ".jpg", " .jpg"]
    source = tmp_path / os.fsdecode(b"so\xffurce\n")
    for number, folder in enumerate(("__background__", os.fsdecode(b"\xe9t\xe9"), "v1.5 class")):
        (source / folder).mkdir(parents=True)
        for name in names:
            (source / folder / name).write_bytes(jpeg(photo(number, 20, 24)))
    printed = bake("webdataset", source, tmp_path / "out", "--with-keys")
    expected = image_folder_samples(source)
    assert len(expected) == 3 * len(names)
    assert labels(tmp_path / "out") == dict(expected)
    assert rf"{tmp_path}/so\udcffurce\n -> " in printed
    assert printed.isascii()


def test_pipes_dead_links_and_loops_are_survived(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"cat": 2, "dog": 2})
    os.mkfifo(source / "cat" / "pipe.jpg")
    (source / "cat" / "dead.jpg").symlink_to("nowhere")
    (source / "cat" / "zero.jpg").symlink_to("/dev/zero")
    (source / "dog" / "up").symlink_to("..")
    (source / "dog" / "more").symlink_to(image_folder(tmp_path / "more", {"": 1}))
    bake("lmdb", source, tmp_path / "out")
    rejects = {row["key"]: row["reason"] for row in rows(tmp_path / "out" / "rejects.csv")}
    assert rejects == {"cat/pipe.jpg": "not_regular_file", "cat/dead.jpg": "broken_symlink", "cat/zero.jpg": "not_regular_file"}
    assert set(labels(tmp_path / "out")) == {"cat/0000.jpg", "cat/0001.jpg", "dog/0000.jpg", "dog/0001.jpg", "dog/more/0000.jpg"}


def test_a_link_to_itself_costs_one_picture_only(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"cat": 1, "dog": 1})
    (source / "cat" / "self.jpg").symlink_to("self.jpg")
    bake("lmdb", source, tmp_path / "out")
    assert [(row["key"], row["reason"]) for row in rows(tmp_path / "out" / "rejects.csv")] == [("cat/self.jpg", "broken_symlink")]


def test_folders_that_all_link_to_each_other_are_listed_once_in_each_class(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(7)]
    source = image_folder(tmp_path / "source", dict.fromkeys(names, 1))
    for name in names:
        for other in names:
            (source / name / f"to {other}").symlink_to(Path("..") / other)
    found = scan(source)
    assert found.counts == [7] * 7  # its own, and through one link each those of the six others
    for name in names:
        reached = {(source / key).resolve() for key in found.keys if key.startswith(f"{name}/")}
        assert reached == {source.resolve() / other / "0000.jpg" for other in names}
    assert found.ignored["links to folders already listed"] == 7 * (7 * 7 - 6)


def test_a_chain_of_folders_with_two_links_each_is_listed_once(tmp_path: Path) -> None:
    chain = image_folder(tmp_path / "chain", {f"{i:02d}": 1 for i in range(20)})
    for number in range(19):
        for name in ("left", "right"):
            (chain / f"{number:02d}" / name).symlink_to(chain / f"{number + 1:02d}")
    (tmp_path / "source").mkdir()
    for name in ("one", "two"):  # two classes may lead to the same pictures: ImageFolder lists both
        (tmp_path / "source" / name).symlink_to(chain / "00")
    found = scan(tmp_path / "source")
    assert (found.folders, found.counts) == (["one", "two"], [20, 20])
    assert found.ignored["links to folders already listed"] == 2 * 19


def test_a_picture_is_named_by_its_own_folder_and_not_by_a_link(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"cat": 1, "cat/z/deep": 2})
    (source / "cat" / "a").symlink_to("z")
    (source / "cat" / "b").symlink_to("z/deep")
    assert list(scan(source).keys) == ["cat/0000.jpg", "cat/z/deep/0000.jpg", "cat/z/deep/0001.jpg"]
    assert set(scan(source, by_folder=False).keys) == set(scan(source).keys)


def reason(root: Path, key: str) -> str:
    with pytest.raises(RejectError) as caught:
        read_item(root, key)
    return caught.value.reason


def test_sockets_and_terminals_are_no_regular_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.jpg")
        (tmp_path / "tty.jpg").symlink_to("/dev/tty")
        (tmp_path / "dead.jpg").symlink_to("nowhere")
        found = {name: reason(tmp_path, f"{name}.jpg") for name in ("socket", "tty", "dead", "gone")}
    assert found == {"socket": "not_regular_file", "tty": "not_regular_file", "dead": "broken_symlink", "gone": "unreadable"}


def test_a_regular_file_that_has_nothing_to_read_yet_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Waiting(io.FileIO):
        """What /proc/kmsg does, which only root may open, and which loses what is read from it."""

        def read(self, _size: int | None = -1, /) -> Any:
            return None

    (tmp_path / "kmsg.jpg").write_bytes(b"x")
    monkeypatch.setattr("convert.reading.FileIO", Waiting)
    assert reason(tmp_path, "kmsg.jpg") == "unreadable"
