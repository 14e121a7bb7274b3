"""What lies in OUT's work folder and is not ours is never written, truncated, emptied or waited for: it is named, and left as it is."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from launch import SMALL, bake, prebake, refused, tree
from pictures import image_folder

from convert.cli import cli
from convert.errors import PrebakeError
from convert.plan import WORK
from convert.replace import replaced

PLACES = (
    "",
    "lock",
    "journal.jsonl",
    "plan.json",
    "keys.bin",
    "progress",
    "rejects.jsonl",
    "123.partial",
    "append",
    "append/.prebake",
    "append/.prebake/lock",
    "append/shard-00001.npy",
    "next",
    "next/manifest.json",
    "repair",
    "repair/.prebake",
    "view",
)
KEPT = "move it away, and run this again"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("work") / "source", {"cat": 3, "dog": 3})


@pytest.fixture(scope="module")
def done(source: Path) -> Path:
    """A finished bake, which no test changes."""
    bake("memmap", source, source.parent / "done", "--shards", "3")
    return source.parent / "done"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Somebody's own folder."""
    (tmp_path / "victim" / "deep").mkdir(parents=True)
    for name in ("thesis.tex", "deep/notes.txt", "shard-00000.npy.1.partial"):
        (tmp_path / "victim" / name).write_text("years of work")
    return tmp_path / "victim"


def damaged(done: Path, out: Path) -> Path:
    """A bake that `repair` has something to do with."""
    shutil.copytree(done, out)
    shard = out / "shard-00000.npy"
    shard.write_bytes(shard.read_bytes()[:-1] + b"?")
    return out


def commands(source: Path, out: Path) -> list[list[str]]:
    """All that writes into OUT, and what says what would be written."""
    plain = ["memmap", str(source), str(out), *SMALL, "--shards", "3"]
    repair = ["repair", str(out), "--source", str(source)]
    return [plain, [*plain, "--overwrite"], [*plain, "--append"], ["plan", *plain[1:]], repair]


def all_refuse(source: Path, out: Path, says: str) -> None:
    """In one line; and nothing is touched, wherever it lies."""
    before = tree(out.parent)
    for words in commands(source, out):
        with pytest.raises(PrebakeError) as caught:
            cli.main(words, prog_name="prebake", standalone_mode=False)
        assert str(caught.value).startswith(says), words
        assert str(caught.value).endswith(KEPT)
        assert "\n" not in str(caught.value)
        assert tree(out.parent) == before


@pytest.mark.parametrize("place", PLACES)
def test_a_link_is_not_followed(source: Path, done: Path, victim: Path, tmp_path: Path, *, place: str) -> None:
    for name in ("whole", "bare"):
        out = damaged(done, tmp_path / name) if name == "whole" else tmp_path / name
        link = out / WORK / place
        link.parent.mkdir(parents=True, exist_ok=True)
        for target in (victim, victim / "thesis.tex"):
            link.symlink_to(target)
            all_refuse(source, out, f"{link} is a symbolic link, where prebake keeps ")
            link.unlink()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize(("make", "kind"), [(pipe, "named pipe"), (bound, "socket")])
@pytest.mark.parametrize("place", ["", "lock", "journal.jsonl", "progress", "append/.prebake/lock"])
def test_nothing_waits_for_a_special_file(
    source: Path, done: Path, tmp_path: Path, *, place: str, make: Callable[[Path], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    special = damaged(done, tmp_path / "out") / WORK / place
    special.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(special.parent)  # the path of a socket must be short
    make(Path(special.name))
    all_refuse(source, tmp_path / "out", f"{special} is a {kind}, where prebake keeps ")


def test_a_work_folder_that_is_a_file(source: Path, done: Path, tmp_path: Path) -> None:
    (damaged(done, tmp_path / "out") / WORK).write_text("mine")
    all_refuse(source, tmp_path / "out", f"{tmp_path / 'out' / WORK} is a file, where prebake keeps a folder of its own")


def test_a_lock_that_is_a_folder(source: Path, done: Path, tmp_path: Path) -> None:
    lock = damaged(done, tmp_path / "out") / WORK / "lock"
    lock.mkdir(parents=True)
    all_refuse(source, tmp_path / "out", f"{lock} is a folder, where prebake keeps a file")


def test_a_link_that_leads_nowhere_makes_no_file(source: Path, tmp_path: Path) -> None:
    for place in ("", "lock"):
        link = tmp_path / f"out{place}" / WORK / place
        link.parent.mkdir(parents=True)
        link.symlink_to(tmp_path / "new")
        for more in ((), ("--overwrite",)):
            line = refused(prebake("memmap", source, tmp_path / f"out{place}", *SMALL, *more))
            assert line.startswith(f"{link} is a symbolic link")
        assert not (tmp_path / "new").exists()
        link.unlink()
        bake("memmap", source, tmp_path / f"out{place}")


def test_links_of_a_contact_sheet_that_was_cut_off_are_ours(source: Path, done: Path, victim: Path, tmp_path: Path) -> None:
    """Only there, and what they lead to stays."""
    before = tree(victim)
    out = Path(shutil.copytree(done, tmp_path / "out"))
    (out / WORK / "view").mkdir(parents=True)
    (out / WORK / "view" / "shard-00000.npy").symlink_to(victim / "thesis.tex")
    (out / WORK / "view" / "deep").symlink_to(victim)
    assert "nothing to do" in bake("memmap", source, out, "--shards", "3")
    assert not (out / WORK).exists()
    assert tree(victim) == before


def test_what_a_killed_repair_left_goes(source: Path, done: Path, tmp_path: Path) -> None:
    out = damaged(done, tmp_path / "out")
    left = out / WORK / "repair"
    for name in ("shard-00000.npy", ".prebake/rejects.jsonl", ".prebake/progress"):
        (left / name).mkdir(parents=True)
    assert prebake("repair", out, "--source", source).returncode == 0
    assert tree(out).keys() == {name.replace(str(done), str(out), 1) for name in tree(done)}
    assert (out / "shard-00000.npy").read_bytes() == (done / "shard-00000.npy").read_bytes()


def test_a_file_that_is_replaced_is_not_written_through_a_link(victim: Path, tmp_path: Path) -> None:
    before = tree(victim)
    (tmp_path / f"table.{os.getpid()}.partial").symlink_to(victim / "thesis.tex")
    with replaced(tmp_path / "table") as file:
        file.write(b"ours")
    assert (tmp_path / "table").read_bytes() == b"ours"
    assert tree(victim) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table", "victim"]
