"""`--append` adds to what is whole: a bake that was damaged is refused, and what an ended run left is used only if it is still right."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import bake
from damage import listed
from launch import SMALL, digests, prebake, refused
from pictures import encoded, image_folder, jpeg, photo

from convert.cli import cli
from convert.errors import PrebakeError
from convert.manifest import MANIFEST, read_manifest
from convert.tasks import Crew
from convert.verify import verify
from readers import open_dataset

RUN = (*SMALL, "--shards", "2")
CREW = Crew(1, "serial", quiet=True)
Damage = Callable[[Path], object]

ENDED_CODE = """
import os, pathlib, signal, sys
from convert import appending
from convert.executors import local, serial
from convert.__main__ import main
local.EXECUTOR, moment = serial.EXECUTOR, sys.argv.pop(1)
unlink, fsync, grow, settle = pathlib.Path.unlink, os.fsync, appending.grown.grow, appending.grown.settle_growth
def noted_unlink(path, *args, **kwargs):
    print("unlink", path)
    if path.name == "manifest.json" and path.parent.name == "out":
        {"ctrl-c within": lambda: os.kill(os.getpid(), signal.SIGINT), "killed within": lambda: os._exit(9)}.get(moment, int)()
    return unlink(path, *args, **kwargs)
def noted_fsync(fd):
    print("fsync", os.readlink(f"/proc/self/fd/{fd}"))
    return fsync(fd)
def ended_grow(*args, **kwargs):
    return os._exit(9) if moment == "killed before grow" else grow(*args, **kwargs)
def ended_settle(out):
    if moment == "ctrl-c before":
        os.kill(os.getpid(), signal.SIGINT)
    return settle(out)
pathlib.Path.unlink, os.fsync, appending.grown.grow, appending.grown.settle_growth = noted_unlink, noted_fsync, ended_grow, ended_settle
main()
"""
"""Runs prebake, which tells of each sync and removal, and ends at some moment."""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source with a picture that is none and two with the same bytes, and its bake in LMDB, where rows lie anywhere."""
    root = tmp_path_factory.mktemp("first")
    source = image_folder(root / "source", {"cat": 5, "dog": 4})
    shutil.copy(source / "cat" / "0001.jpg", source / "dog" / "same.jpg")
    (source / "cat" / "bad.jpg").write_bytes(b"<html>")
    bake(source, root / "out", "lmdb", shards=2, size=(16, 16), exact=False, icc="srgb", preview=True, max_rejects="50%")
    (source / "dog" / "zebra.bmp").write_bytes(encoded(photo(8, 60, 70), "BMP"))
    (source / "dog" / "zorse.jpg").write_bytes(jpeg(photo(9, 60, 70)))
    return root


@pytest.fixture
def root(first: Path, tmp_path: Path) -> Path:
    """The same, to be changed; times stay."""
    return shutil.copytree(first, tmp_path / "root")


def append(root: Path, *more: object, moment: str = "") -> tuple[int, str, str]:
    """Exit code, and what was printed. An append that is ended at some moment."""
    words = (moment, "lmdb", root / "source", root / "out", *RUN, "--append", *more)
    done = prebake(*words, command=(sys.executable, "-c", ENDED_CODE))
    return done.returncode, done.stdout, done.stderr.lstrip("\n")


def flip(path: Path, at: int = -1) -> None:
    """Change one bit."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def blank_line(path: Path) -> None:
    with path.open("a") as file:
        file.write("\n")


def reworded(old: str, new: str) -> Damage:
    return lambda path: path.write_text(path.read_text().replace(old, new, 1))


def empty(path: Path) -> None:
    path.write_bytes(b"")


DAMAGES: dict[str, tuple[str, Damage, str]] = {
    "another label": ("targets.npy", lambda path: flip(path, -8), "was changed: its checksum differs"),
    "cut labels": ("targets.npy", cut, "is cut short"),
    "another hash": ("hashes.npy", flip, "was changed: its checksum differs"),
    "cut hashes": ("hashes.npy", cut, "is cut short"),
    "another cell": ("samples.csv", reworded("cat", "cow"), "was changed: its checksum differs"),
    "cut table": ("samples.csv", cut, "is cut short"),
    "empty table": ("samples.csv", empty, "is cut short"),
    "blank line": ("rejects.csv", blank_line, "is too long"),
    "no duplicates": ("duplicates.csv", empty, "is cut short"),
    "no offsets": ("offsets.npy", Path.unlink, "is missing"),
    "no keys": ("keys.bin", Path.unlink, "is missing"),
    "another mean": (MANIFEST, reworded("0.485", "0.486"), "was changed since it was written"),
    "another seed": (MANIFEST, reworded('"seed": 0', '"seed": 1'), "was changed since it was written"),
    "no shard": ("shard-00001.lmdb", Path.unlink, "is missing"),
    "cut shard": ("shard-00000.lmdb", cut, "is cut short"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_was_damaged_is_not_sealed(root: Path, damage: str) -> None:
    name, harm, says = DAMAGES[damage]
    harm(root / "out" / name)
    before = digests(root / "out")
    with pytest.raises(PrebakeError) as caught:
        cli.main(["lmdb", str(root / "source"), str(root / "out"), *RUN, "--append"], standalone_mode=False)
    line = str(caught.value)
    assert line.startswith(f"{root / 'out' / name} {says}")
    assert line.endswith("--append adds to what is whole: see prebake verify and repair")
    assert caught.value.__notes__ == [f"{root / 'out'} is as it was before"]
    assert digests(root / "out") == before
    assert name in verify(root / "out", CREW).wrong


@pytest.mark.parametrize(
    "damage", [name for name in DAMAGES if "label" in name or "hash" in name or "table" in name or name == "blank line"]
)
def test_what_was_damaged_and_sealed_again(root: Path, damage: str) -> None:
    """Checksums are right then: tables that cannot be of this bake are refused all the same, others are taken as they are."""
    name, harm, _ = DAMAGES[damage]
    harm(root / "out" / name)
    (root / "out" / MANIFEST).write_text(listed(root / "out", read_manifest(root / "out"), name).sealed().to_json())
    done = prebake("lmdb", root / "source", root / "out", *RUN, "--append")
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert re.search(rf"{name}|samples\.csv says something else", refused(done))
    else:
        assert damage in ("another hash", "blank line")
        assert not verify(root / "out", CREW, deep=True).wrong


def test_a_table_of_duplicates_that_is_empty(root: Path) -> None:
    empty(root / "out" / "duplicates.csv")
    (root / "out" / MANIFEST).write_text(listed(root / "out", read_manifest(root / "out"), "duplicates.csv").sealed().to_json())
    assert prebake("lmdb", root / "source", root / "out", *RUN, "--append").returncode == 0


def test_a_manifest_without_shards(root: Path) -> None:
    manifest = dataclasses.replace(read_manifest(root / "out"), count=0, shards=())
    (root / "out" / MANIFEST).write_text(manifest.to_json())
    line = refused(prebake("lmdb", root / "source", root / "out", *RUN, "--append"))
    assert line.startswith(f"{root / 'out' / MANIFEST} is not a manifest of a bake, or is damaged")


@pytest.mark.parametrize("harm", [Path.unlink, cut])
def test_the_contact_sheet_is_drawn_anew(root: Path, harm: Damage) -> None:
    harm(root / "out" / "preview.png")
    code, said, error = append(root)
    assert (code, error) == (0, "")
    assert "2 pictures appended" in said
    assert not verify(root / "out", CREW, deep=True).wrong


def stamp(path: Path) -> tuple[int, int]:
    return path.stat().st_ino, path.stat().st_mtime_ns


def new_shards(folder: Path) -> dict[str, tuple[int, int]]:
    return {path.name: stamp(path) for path in folder.glob("shard-0000[2-9].lmdb")}


@pytest.fixture(scope="module")
def made(first: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An append whose shards were all finished when it ended; with and without --check-source."""
    found = {}
    for more in ("", "--check-source"):
        found[more] = shutil.copytree(first, tmp_path_factory.mktemp("made") / "root")
        assert append(found[more], *filter(None, [more]), moment="killed before grow")[0] == 9
    return found


def appended(folder: Path, root: Path, harm: Damage, *more: str) -> bool:
    """Let the append in a copy go on, once harm was done to that. Whether it kept the shards that were finished."""
    shutil.copytree(folder, root)
    harm(root)
    before = new_shards(root / "out" / ".prebake" / "append")
    assert len(before) == 2
    assert append(root, *more)[::2] == (0, "")
    assert not verify(root / "out", CREW, deep=True).wrong
    kept = before.items() & new_shards(root / "out").items()
    assert len(kept) in (0, 2)
    return bool(kept)


def touch(root: Path) -> None:
    """Another time alone."""
    os.utime(root / "source" / "dog" / "zebra.bmp", (1e9, 1e9))


def change(root: Path) -> None:
    """Another picture in a file of the same size."""
    path = root / "source" / "dog" / "zebra.bmp"
    info = path.stat()
    path.write_bytes(encoded(photo(10, 60, 70), "BMP"))
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns + 1))


def nothing(root: Path) -> None:
    """As it was."""


def test_finished_shards_stay_while_their_pictures_do(made: dict[str, Path], tmp_path: Path) -> None:
    assert appended(made[""], tmp_path / "same", nothing)
    assert not appended(made[""], tmp_path / "touched", touch)
    assert digests(tmp_path / "same" / "out") == digests(tmp_path / "touched" / "out")  # no time is in a bake
    assert not appended(made[""], tmp_path / "changed", change)
    holds_what_lies_there(tmp_path / "changed")


def test_finished_shards_by_what_the_pictures_hold(made: dict[str, Path], tmp_path: Path) -> None:
    assert appended(made["--check-source"], tmp_path / "touched", touch, "--check-source")
    assert not appended(made["--check-source"], tmp_path / "changed", change, "--check-source")
    holds_what_lies_there(tmp_path / "changed")


def holds_what_lies_there(root: Path) -> None:
    """The row is that of a bake of this picture alone."""
    (root / "alone" / "dog").mkdir(parents=True)
    shutil.copy(root / "source" / "dog" / "zebra.bmp", root / "alone" / "dog")
    bake(root / "alone", root / "other", size=(16, 16), exact=False, icc="srgb")
    dataset = open_dataset(root / "out")
    np.testing.assert_array_equal(dataset.image(list(dataset.keys).index("dog/zebra.bmp")), open_dataset(root / "other").image(0))


def test_finished_shards_beside_damaged_tables(made: dict[str, Path], tmp_path: Path) -> None:
    bench = Path("out", ".prebake", "append")
    assert not appended(made[""], tmp_path / "labels", lambda root: flip(root / bench / "targets.npy", -8))
    assert not appended(made[""], tmp_path / "deep", lambda root: flip(root / bench / "shard-00002.lmdb", -100), "--deep")


def test_ctrl_c_while_all_is_put_in_its_place(root: Path) -> None:
    code, _, error = append(root, moment="ctrl-c within")
    assert (code, error) == (130, f"prebake: interrupted; {root / 'out'} is complete, with 12 rows\n")
    assert not verify(root / "out", CREW, deep=True).wrong
    assert not (root / "out" / ".prebake").exists()


def test_ctrl_c_before_all_is_put_in_its_place(root: Path) -> None:
    before = digests_of_files(root / "out")
    code, _, error = append(root, moment="ctrl-c before")
    says = f"{root / 'out'} has all that it needs to grow: run the same command again, and it is completed"
    assert (code, error) == (130, f"prebake: interrupted; {says}\n")
    assert digests_of_files(root / "out") == before
    code, said, error = append(root)
    assert (code, error) == (0, "")
    assert "has 12 rows now: what was ended before is complete" in said
    assert not verify(root / "out", CREW, deep=True).wrong


def test_a_failure_after_what_was_ended_is_complete(root: Path) -> None:
    assert append(root, moment="killed within")[0] == 9
    done = prebake("lmdb", root / "source", root / "out", "--size", "17", "--append")
    assert done.returncode == 2
    assert "has 12 rows now: what was ended before is complete" in done.stdout
    assert "as it was before" not in done.stderr
    assert done.stderr.endswith(f"{root / 'out'} is complete, with 12 rows\n")
    assert not verify(root / "out", CREW, deep=True).wrong


def test_names_are_on_the_disk_before_the_old_manifest_goes(root: Path) -> None:
    """What is to be there must outlive a power cut, with all folders on the way to it."""
    out = root / "out"
    code, said, _ = append(root)
    assert code == 0
    lines = said.splitlines()
    gone = lines.index(f"unlink {out / MANIFEST}")
    ready = max(number for number, line in enumerate(lines[:gone]) if line.startswith("fsync") and f".prebake/next/{MANIFEST}" in line)
    assert {f"fsync {folder}" for folder in (out / ".prebake" / "next", out / ".prebake", out)} <= set(lines[ready:gone])


@pytest.mark.parametrize("name", ["append", "next"])
def test_links_are_not_followed(root: Path, name: str) -> None:
    """To another bake, whose files are ours by their names."""
    other = shutil.copytree(root / "out", root / "other")
    (root / "out" / ".prebake").mkdir()
    (root / "out" / ".prebake" / name).symlink_to(other)
    before = digests(other)
    line = refused(prebake("lmdb", root / "source", root / "out", *RUN, "--append"))
    assert f"{root / 'out' / '.prebake' / name} is a symbolic link, where prebake keeps files of its own: move it away" in line
    assert digests(other) == before


def digests_of_files(out: Path) -> dict[str, tuple[int, int]]:
    return {path.name: stamp(path) for path in out.iterdir() if path.is_file()}
