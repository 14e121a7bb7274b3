"""`verify` finds whatever was changed in a bake, each with its own message, and `repair` makes bad shards again to the last bit."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import bake
from launch import digests, prebake, refused
from pictures import image_folder

from convert.errors import PrebakeError
from convert.manifest import MANIFEST, SCHEMA, read_manifest
from convert.repair import repair
from convert.tasks import Crew
from convert.verify import told, verify
from readers import open_dataset

CREW = Crew(1, "serial", quiet=True)
Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = image_folder(tmp_path_factory.mktemp("verify") / "source", {"cat": 10, "dog": 10})
    (root / "cat" / "0003.jpg").write_bytes(b"<html>")
    return root


@pytest.fixture(scope="module")
def whole(source: Path, format: str) -> Path:
    out = source.parent / format
    bake(source, out, format, size=(64, 64), shards=4, preview=True, exact=False)
    return out


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def flip(path: Path, place: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * place)] ^= 4
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-512])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def shard(folder: Path, number: int) -> Path:
    return folder / read_manifest(folder).shards[number].name


def test_a_whole_bake(whole: Path) -> None:
    before = digests(whole)
    for deep in (False, True):
        verdict = verify(whole, CREW, deep=deep)
        assert (verdict.wrong, verdict.left) == ({}, [])
        assert "all as they were written" in told(verdict)
    assert digests(whole) == before


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (cut, "is cut short: "),
        (flip, "was changed: its checksum differs"),
        (Path.unlink, "is missing"),
        (empty, "is cut short: "),
    ],
    ids=["cut", "flip", "missing", "empty"],
)
def test_a_bad_shard_is_found_and_made_again(source: Path, whole: Path, copy: Path, *, damage: Damage, says: str) -> None:
    damage(shard(copy, 2))
    damage(shard(copy, 0))
    verdict = verify(copy, CREW)
    assert list(verdict.wrong) == [shard(copy, 0).name, shard(copy, 2).name]
    assert all(says in what for what in verdict.wrong.values())
    assert "prebake repair" in told(verdict)
    untouched = shard(copy, 1).stat().st_mtime_ns
    assert [made.name for made in repair(copy, source, CREW).shards] == list(verdict.wrong)
    assert shard(copy, 1).stat().st_mtime_ns == untouched
    assert digests(copy) == digests(whole)


def test_the_command_line_says_it_in_lines_of_80_columns(source: Path, copy: Path) -> None:
    flip(shard(copy, 1))
    (copy / "shard-00001.npy.77.partial").touch()
    done = prebake("verify", copy.name, "--workers", 1, cwd=copy.parent)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "left over  shard-00001.npy.77.partial: not of this bake, may be removed",
        f"bad        {shard(copy, 1).name} was changed: its checksum differs",
        "copy: 1 of 12 files bad".replace("12", str(len(digests(copy)) - 1)),
        "the bad shards can be made again: prebake repair copy --source SRC",
    ]
    done = prebake("repair", copy, "--source", source)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == f"made again {shard(copy, 1).name}, {read_manifest(copy).shards[1].count} rows"


def test_side_files_too(copy: Path) -> None:
    flip(copy / "targets.npy", 0.99)
    flip(copy / "preview.png")
    verdict = verify(copy, CREW)
    assert sorted(verdict.wrong) == ["preview.png", "targets.npy"]
    assert told(verdict).endswith("repair cannot make targets.npy again: copy the bake again, or bake it again")
    with pytest.raises(PrebakeError, match=r"targets\.npy was changed.*without it nothing can be repaired"):
        repair(copy, copy, CREW)


@pytest.mark.parametrize("damage", [flip, empty, Path.unlink])
def test_the_contact_sheet_is_drawn_again(source: Path, whole: Path, copy: Path, damage: Damage) -> None:
    damage(copy / "preview.png")
    damage(shard(copy, 1))
    verdict = verify(copy, CREW)
    assert set(verdict.wrong) == {"preview.png", shard(copy, 1).name}
    done = repair(copy, source, CREW)
    assert (done.drawn, [made.name for made in done.shards]) == (True, [shard(copy, 1).name])
    assert digests(copy) == digests(whole)
    damage(copy / "preview.png")
    said = prebake("verify", copy.name, cwd=copy.parent).stdout
    assert said.endswith("the preview.png can be made again: prebake repair copy --source SRC\n")
    said = prebake("repair", copy.name, "--source", source, cwd=copy.parent).stdout
    assert said.splitlines()[0] == "drew again preview.png"
    assert digests(copy) == digests(whole)


def test_a_contact_sheet_of_another_pillow(source: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That draws other letters."""
    monkeypatch.setattr("convert.preview.TEXT", 20)
    (copy / "preview.png").unlink()
    assert repair(copy, source, CREW).drawn
    assert not verify(copy, CREW, deep=True).wrong


def test_a_manifest_that_was_changed(copy: Path) -> None:
    """A reader cannot see it: the pixels would be wrong."""
    fields = json.loads((copy / MANIFEST).read_text())
    fields["mean"][0] += 0.25
    (copy / MANIFEST).write_text(json.dumps(fields))
    verdict = verify(copy, CREW)
    assert verdict.wrong == {MANIFEST: "was changed since it was written"}
    assert "cannot be trusted" in told(verdict)


def test_a_manifest_of_another_bake(source: Path, copy: Path, format: str, tmp_path: Path) -> None:
    bake(source, tmp_path / "other", format, size=(64, 64), shards=4, seed=9)
    shutil.copy(tmp_path / "other" / MANIFEST, copy)
    verdict = verify(copy, CREW)
    assert len(verdict.bad_shards) == 4
    assert "is it of another bake?" in told(verdict)


def test_a_manifest_of_a_newer_version(copy: Path) -> None:
    fields = json.loads((copy / MANIFEST).read_text()) | {"schema": SCHEMA + 1}
    (copy / MANIFEST).write_text(json.dumps(fields))
    for opens in (lambda: verify(copy, CREW), lambda: open_dataset(copy)):
        with pytest.raises(PrebakeError, match=rf"has schema {SCHEMA + 1}; this version of prebake reads up to {SCHEMA}"):
            opens()


def test_shards_that_hold_something_else_than_their_tables(copy: Path, format: str) -> None:
    """Sizes and checksums are right: only `--deep` can tell."""
    manifest = read_manifest(copy)
    targets = np.load(copy / "targets.npy")
    np.save(copy / "targets.npy", 1 - targets)
    sums = {name: hashlib.sha256((copy / name).read_bytes()).hexdigest() for name in ("targets.npy",)}
    files = tuple(dataclasses.replace(file, checksum=sums.get(file.name, file.checksum)) for file in manifest.files)
    (copy / MANIFEST).write_text(dataclasses.replace(manifest, files=files).sealed().to_json())
    assert not verify(copy, CREW).wrong
    wrong = verify(copy, CREW, deep=True).wrong
    assert "samples.csv" in wrong if format == "memmap" else set(wrong.values()) == {"has other labels than targets.npy"}


def test_values_that_are_no_numbers(copy: Path) -> None:
    manifest = read_manifest(copy)
    path = shard(copy, 0)
    data = bytearray(path.read_bytes())
    place = manifest.shards[0].first if manifest.shards[0].stride is not None else int(np.load(copy / "offsets.npy")[0])
    assert place is not None
    data[place : place + 2] = np.float16(np.nan).tobytes()
    path.write_bytes(data)
    changed = dataclasses.replace(manifest.shards[0], checksum=hashlib.sha256(data).hexdigest())
    (copy / MANIFEST).write_text(dataclasses.replace(manifest, shards=(changed, *manifest.shards[1:])).sealed().to_json())
    assert verify(copy, CREW, deep=True).wrong == {path.name: "holds values that are no numbers, in row 0"}


def test_repair_needs_the_very_pictures(source: Path, copy: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(source, tmp_path / "other"))
    keys = open_dataset(copy).keys
    counts = [made.count for made in read_manifest(copy).shards]
    (other / keys[0]).write_bytes((source / keys[1]).read_bytes())
    (other / keys[counts[0]]).unlink()
    damaged = [shard(copy, number) for number in (0, 1, 3)]
    for path in damaged:
        path.unlink()
    done = prebake("repair", copy, "--source", other)
    assert done.returncode == 1
    assert f"{keys[0]} is not the picture that was baked" in done.stdout
    assert f"{keys[counts[0]]}: unreadable (No such file or directory)" in done.stdout
    assert "shards need the very pictures that were baked: put those back, or bake again" in done.stdout
    assert [path.exists() for path in damaged] == [False, False, True]
    assert not (copy / ".prebake").exists()


def test_what_is_no_finished_bake(source: Path, tmp_path: Path) -> None:
    (tmp_path / "half" / ".prebake").mkdir(parents=True)
    assert "this bake is not finished" in refused(prebake("verify", tmp_path / "half"))
    assert "is not a bake: there is no manifest.json in it" in refused(prebake("verify", source))
    assert "no such folder" in refused(prebake("verify", tmp_path / "none"))


def test_repair_does_without_hashes(source: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged ones prove nothing; checksums do, unless another Pillow drew the pixels."""
    before = digests(copy)
    for damage in (flip, empty, Path.unlink):
        damage(copy / "hashes.npy")
        shard(copy, 1).unlink()
        done = repair(copy, source, CREW)
        assert ([made.name for made in done.shards], list(done.before.wrong)) == (
            [shard(copy, 1).name],
            [shard(copy, 1).name, "hashes.npy"],
        )
        assert {name: digest for name, digest in digests(copy).items() if name != "hashes.npy"}.items() <= before.items()
    shard(copy, 1).unlink()
    monkeypatch.setattr("convert.again.pillow_versions", lambda: read_manifest(copy).pillow | {"pillow": "0.1"})
    with pytest.raises(PrebakeError, match=r"without a whole hashes\.npy nobody knows whether these are the pictures"):
        repair(copy, source, CREW, allow_version_change=True)


def test_repair_leaves_alone_what_is_being_appended(source: Path, copy: Path) -> None:
    begun = copy / ".prebake" / "append" / "shard-00004"
    begun.mkdir(parents=True)
    shard(copy, 1).unlink()
    repair(copy, source, CREW)
    assert begun.exists()
    assert [path.name for path in (copy / ".prebake").iterdir()] == ["append"]


def test_a_pipe_in_the_place_of_an_empty_file(copy: Path) -> None:
    """Its size is 0, too; to read it is to wait for ever."""
    manifest = read_manifest(copy)
    (copy / "rejects.csv").unlink()
    os.mkfifo(copy / "rejects.csv")
    files = tuple(dataclasses.replace(file, bytes=0) if file.name == "rejects.csv" else file for file in manifest.files)
    (copy / MANIFEST).write_text(dataclasses.replace(manifest, files=files).sealed().to_json())
    assert verify(copy, CREW).wrong == {"rejects.csv": "is no file"}
