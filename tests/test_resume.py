"""A bake that was ended goes on where it stopped, with the same bytes in the end; what was changed meanwhile is noticed."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from launch import SMALL, digests, prebake, refused, tree
from pictures import image_folder, jpeg, photo

from convert import journal
from convert.manifest import MANIFEST, read_manifest
from convert.plan import WORK, Plan
from convert.tasks import Crew
from convert.verify import verify

KILLED_CODE = """
import os, sys
from convert import run
from convert.executors import local, serial
from convert.__main__ import main
pack, number = run.pack, int(sys.argv.pop(1))
def killed(out, shard, **more):
    if shard == number:
        os.kill(os.getpid(), 9)
    return pack(out, shard, **more)
run.pack, local.EXECUTOR = killed, serial.EXECUTOR
main()
"""
RUN = (*SMALL, "--shards", "6")
HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Thirty pictures, and one that is rejected."""
    root = image_folder(tmp_path / "source", {"cat": 15, "dog": 15})
    (root / "cat" / "bad.jpg").write_bytes(HEIC)
    return root


def killed(format: str, source: Path, out: Path, *more: object, before: int = 3) -> None:
    """A bake that is killed before its fourth shard."""
    done = prebake(before, format, source, out, *RUN, *more, command=(sys.executable, "-c", KILLED_CODE))
    assert done.returncode == -9
    assert not (out / MANIFEST).exists()


def whole(format: str, source: Path, out: Path, *more: object) -> str:
    done = prebake(format, source, out, *RUN, *more)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def lines(out: Path) -> dict[int, journal.Fields]:
    """What the journal says of each shard."""
    found = journal.read(out / WORK)
    assert found is not None
    return found[1]


def test_the_same_bytes_and_no_shard_twice(source: Path, tmp_path: Path, format: str) -> None:
    whole(format, source, tmp_path / "undisturbed")
    killed(format, source, tmp_path / "out")
    (tmp_path / "out" / "shard-00003.npy.1.partial").touch()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("shard-0000[0-2]*")}
    assert len(times) == 3
    assert "goes on   with 3 of 6 shards" in whole(format, source, tmp_path / "out")
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert digests(tmp_path / "out") == digests(tmp_path / "undisturbed")


def test_ended_again_and_again(source: Path, tmp_path: Path) -> None:
    whole("lmdb", source, tmp_path / "undisturbed")
    for number in range(6):
        killed("lmdb", source, tmp_path / "out", before=number)
    with (tmp_path / "out" / ".prebake" / "journal.jsonl").open("a") as file:
        file.write('{"number": 5, "shard": {"na')  # cut off
    whole("lmdb", source, tmp_path / "out")
    assert digests(tmp_path / "out") == digests(tmp_path / "undisturbed")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ("memmap --size 17", "its size differs: 16x16, not 17x17"),
        ("memmap --alpha black", "its alpha differs: white, not black"),
        ("memmap --mean 0.5", "its mean differs"),
        ("memmap --seed 1", "its seed differs: 0, not 1"),
        ("memmap --dedupe off", "its dedupe differs: report, not off"),
        ("lmdb", "its format differs: memmap, not lmdb"),
    ],
)
def test_another_plan_is_named_by_its_option(source: Path, tmp_path: Path, args: str, says: str) -> None:
    killed("memmap", source, tmp_path / "out", before=1)
    before = tree(tmp_path / "out")
    line = refused(prebake(args.split()[0], source, tmp_path / "out", *RUN, *args.split()[1:]))
    assert f"holds another bake, unfinished ({says}" in line
    assert line.endswith("choose another OUT, or add --overwrite to start it again")
    assert tree(tmp_path / "out") == before
    whole(args.split()[0], source, tmp_path / "out", *args.split()[1:], "--overwrite")


def test_pictures_that_came_and_went(source: Path, tmp_path: Path) -> None:
    killed("memmap", source, tmp_path / "out", before=1)
    (source / "cat" / "0001.jpg").rename(source / "cat" / "new.jpg")
    line = refused(prebake("memmap", source, tmp_path / "out", *RUN))
    assert "of other pictures: 1 new, such as cat/new.jpg, 1 gone, such as cat/0001.jpg" in line
    (source / "cat" / "new.jpg").unlink()
    line = refused(prebake("memmap", source, tmp_path / "out", *SMALL))  # whose shards would be one, too
    assert "of other pictures: 1 gone, such as cat/0001.jpg" in line


def test_changed_pictures_are_baked_again(source: Path, tmp_path: Path) -> None:
    killed("memmap", source, tmp_path / "out")
    number, line = next(iter(lines(tmp_path / "out").items()))
    key = sorted(path.relative_to(source).as_posix() for path in source.rglob("*.jpg"))[line["items"][0]]
    (source / key).write_bytes(jpeg(photo(99, 50, 60)))
    assert f"again     shard-0000{number}.npy: {key} was changed since" in whole("memmap", source, tmp_path / "out")
    whole("memmap", source, tmp_path / "undisturbed")
    assert digests(tmp_path / "out") == digests(tmp_path / "undisturbed")


def test_times_without_meaning_and_contents_of_the_same_size(source: Path, tmp_path: Path) -> None:
    """As on a file system that keeps no times."""
    killed("memmap", source, tmp_path / "out")
    shutil.copytree(tmp_path / "out", tmp_path / "second")
    for path in source.rglob("*.jpg"):
        os.utime(path, (1, 1))
    assert "goes on   with 0 of 6 shards" in whole("memmap", source, tmp_path / "second")
    path = source / "dog" / "0004.jpg"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    said = whole("memmap", source, tmp_path / "out", "--check-source")
    assert "goes on   with 3 of 6 shards" in said or "dog/0004.jpg has another content now" in said
    whole("memmap", source, tmp_path / "undisturbed")
    assert digests(tmp_path / "out") == digests(tmp_path / "undisturbed")


@pytest.mark.parametrize(
    ("damage", "more", "why"), [("cut", (), "bytes, not"), ("flip", ("--deep",), "its checksum differs"), ("gone", (), "No such")]
)
def test_a_finished_shard_that_was_damaged(source: Path, tmp_path: Path, *, damage: str, more: tuple[str, ...], why: str) -> None:
    whole("memmap", source, tmp_path / "undisturbed")
    killed("memmap", source, tmp_path / "out")
    path = tmp_path / "out" / "shard-00001.npy"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data[:-7] if damage == "cut" else data)
    if damage == "gone":
        path.unlink()
    said = whole("memmap", source, tmp_path / "out", *more)
    assert "goes on   with 2 of 6 shards" in said
    assert f"again     shard-00001.npy: {'it has' if damage == 'cut' else ''}" in said
    assert why in said
    assert digests(tmp_path / "out") == digests(tmp_path / "undisturbed")


def test_a_bit_that_flips_in_the_journal(source: Path, tmp_path: Path) -> None:
    """Were a place or a checksum in it believed, the manifest would have it."""
    killed("memmap", source, tmp_path / "out")
    line = journal.to_line(lines(tmp_path / "out")[1])
    path = tmp_path / "out" / WORK / journal.JOURNAL
    for bit in range(8 * len(line) - 8):
        changed = bytearray(line)
        changed[bit // 8] ^= 1 << bit % 8
        assert journal.from_line(bytes(changed)) is None
    path.write_bytes(path.read_bytes().replace(b'"first": 128', b'"first": 129', 1))
    assert "goes on   with 2 of 6 shards" in whole("memmap", source, tmp_path / "out")
    whole("memmap", source, tmp_path / "undisturbed")
    assert digests(tmp_path / "out") == digests(tmp_path / "undisturbed")


def test_another_pillow(source: Path, tmp_path: Path) -> None:
    killed("memmap", source, tmp_path / "out")
    plan = tmp_path / "out" / ".prebake" / "plan.json"
    here = json.loads(plan.read_text())["pillow"]
    plan.write_text(plan.read_text().replace(json.dumps(here["libjpeg"]), '"1.2.3"'))
    made = [fields | {"pillow": here | {"libjpeg": "1.2.3"}} for fields in lines(tmp_path / "out").values()]
    journal.begin(plan.parent, "", "", made)
    line = refused(prebake("memmap", source, tmp_path / "out", *RUN))
    assert f"was begun with libjpeg 1.2.3, not libjpeg {here['libjpeg']}, whose pixels may differ" in line
    assert "--allow-version-change to go on" in line
    whole("memmap", source, tmp_path / "out", "--allow-version-change")
    assert read_manifest(tmp_path / "out").pillow == here | {"libjpeg": f"1.2.3 + {here['libjpeg']}"}
    assert "it was made with" in refused(prebake("memmap", source, tmp_path / "out", *RUN))
    assert "nothing to do" in whole("memmap", source, tmp_path / "out", "--allow-version-change")


def test_numbers_that_were_found_are_not_looked_for_again(source: Path, tmp_path: Path) -> None:
    whole("memmap", source, tmp_path / "undisturbed", "--mean-std", "auto")
    killed("memmap", source, tmp_path / "out", "--mean-std", "auto")
    said = whole("memmap", source, tmp_path / "out", "--mean-std", "auto")
    assert "(auto, " not in said
    assert digests(tmp_path / "out") == digests(tmp_path / "undisturbed")


def test_a_picture_that_is_written_to_while_it_is_read(source: Path, tmp_path: Path) -> None:
    code = """
import sys
from convert import pack
from convert.executors import local, serial
from convert.__main__ import main
read, local.EXECUTOR = pack.read_item, serial.EXECUTOR
def changing(root, key, stamp, **more):
    if key == "dog/0003.jpg":
        with (root / key).open("ab") as file:
            file.write(b"more")
    return read(root, key, stamp, **more)
pack.read_item = changing
main()
"""
    line = refused(prebake("memmap", source, tmp_path / "out", *RUN, command=(sys.executable, "-c", code)))
    assert "dog/0003.jpg was changed while prebake ran; start again when nobody writes there" in line
    whole("memmap", source, tmp_path / "out")
    whole("memmap", source, tmp_path / "undisturbed")
    assert digests(tmp_path / "out") == digests(tmp_path / "undisturbed")


def test_too_many_rejects_keep_what_is_finished(source: Path, tmp_path: Path) -> None:
    done = prebake("memmap", source, tmp_path / "out", *RUN, "--max-rejects", "0", "--order", "source", "--workers", "1")
    assert done.returncode == 1
    whole("memmap", source, tmp_path / "out", "--order", "source")
    whole("memmap", source, tmp_path / "undisturbed", "--order", "source")
    assert digests(tmp_path / "out") == digests(tmp_path / "undisturbed")


def test_nothing_stays_of_what_is_no_more(source: Path, tmp_path: Path) -> None:
    """A shard whose pictures are all bad by now, and a contact sheet that nobody wants any longer."""
    out = tmp_path / "out"
    killed("memmap", source, out)
    plan = Plan.load(out / WORK)
    for item in plan.items(0).tolist():
        (source / plan.keys[item]).write_bytes(HEIC)
    (out / "preview.png").write_bytes(b"half")
    whole("memmap", source, out, "--no-preview")
    assert read_manifest(out).shards[0].count == 0
    assert not (out / "shard-00000.npy").exists()
    verdict = verify(out, Crew(1, "serial", quiet=True))
    assert (verdict.wrong, verdict.left) == ({}, [])
