"""Bad pictures are named, counted and limited, while the run goes on; a run never ends by them without saying so."""

from __future__ import annotations

import csv
import re
import time
from contextlib import closing
from pathlib import Path

import pytest
from conftest import bake
from launch import prebake, refused, rows
from pictures import image_folder, jpeg, photo

from convert import progress
from convert.errors import PrebakeError
from convert.manifest import MANIFEST


def broken(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"broken-{number:04d}.jpg").write_bytes(jpeg(photo(number, 32, 32))[:300])


@pytest.mark.parametrize(
    ("limit", "bad", "good"), [("2", 2, True), ("2", 3, False), ("1%", 10, True), ("1%", 11, False), ("50%", 25, True)]
)
def test_the_limit_is_a_count_or_a_share_of_at_least_ten(limit: str, bad: int, good: bool, tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"a": 25, "b": 25 if bad < 25 else 0})
    broken(source / "a", bad)
    done = prebake("memmap", source, tmp_path / "out", "--size", "16", "--max-rejects", limit, "--no-preview")
    assert (done.returncode == 0) == good, done.stderr
    if good:
        assert len(rows(tmp_path / "out" / "rejects.csv")) == bad
        assert f"truncated {bad}" in done.stdout
    else:
        assert "--max-rejects" in done.stderr
        assert re.search(r"such as a/broken-\d{4}.jpg: truncated", done.stderr)
        assert not (tmp_path / "out" / MANIFEST).exists()


def test_strict_allows_none(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"a": 5})
    assert prebake("memmap", source, tmp_path / "good", "--size", "16", "--strict").returncode == 0
    broken(source / "a", 1)
    done = prebake("memmap", source, tmp_path / "out", "--size", "16", "--strict")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "a/broken-0000.jpg: truncated" in done.stderr
    assert "a picture was rejected, and --strict allows none" in done.stderr
    assert "--max-rejects" not in done.stderr
    assert "--strict allows none" in refused(prebake("stats", source, "--size", "16", "--strict"))
    none = refused(prebake("memmap", source, tmp_path / "out", "--size", "16", "--max-rejects", "0"))
    assert "a picture was rejected, and --max-rejects 0 allows none" in none
    assert not (tmp_path / "out" / MANIFEST).exists()


def test_too_many_are_noticed_in_the_middle_of_a_shard(tmp_path: Path) -> None:
    """One shard of which the first pictures are broken, and good ones for minutes follow: the run ends in seconds."""
    source = tmp_path / "source"
    (source / "b").mkdir(parents=True)
    (source / "a").mkdir()
    broken(source / "a", 20)
    large = jpeg(photo(0, 2000, 2000))
    (source / "b" / "0.jpg").write_bytes(large)
    for number in range(1, 3000):
        (source / "b" / f"{number}.jpg").hardlink_to(source / "b" / "0.jpg")
    began = time.monotonic()
    with pytest.raises(PrebakeError, match=r"more than 5 pictures were rejected.*a/broken-0000.jpg: truncated"):
        bake(source, tmp_path / "out", executor="local", workers=1, size=(16, 16), shards=1, order="source", max_rejects="5")
    assert time.monotonic() - began < 30  # not a speed: all of it would take minutes
    assert not (tmp_path / "out").exists()


def test_the_table_of_rejects_has_every_reason_by_name(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"a": 3})
    files = {
        "empty.jpg": b"",
        "page.jpg": b"<html>404</html>",
        "phone.jpg": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic",
        "cut.jpg": jpeg(photo(0, 64, 64))[:800],
        "rot.png": b"\x89PNG\r\n\x1a\n" + bytes(2000),
    }
    for name, data in files.items():
        (source / "a" / name).write_bytes(data)
    (source / "a" / "dangling.jpg").symlink_to("nowhere")
    bake(source, tmp_path / "out", size=(16, 16), max_rejects="10")
    with (tmp_path / "out" / "rejects.csv").open(newline="") as file:
        found = {row["key"]: (row["reason"], row["detail"]) for row in csv.DictReader(file)}
    assert {key: reason for key, (reason, _) in found.items()} == {
        "a/empty.jpg": "empty",
        "a/page.jpg": "not_an_image",
        "a/phone.jpg": "unsupported_format",
        "a/cut.jpg": "truncated",
        "a/rot.png": "corrupt",
        "a/dangling.jpg": "broken_symlink",
    }
    assert all(detail for _, detail in found.values())
    assert "HEIC" in found["a/phone.jpg"][1]


def test_a_shard_that_is_tried_again_says_no_reject_twice(tmp_path: Path) -> None:
    progress.create(tmp_path, 2)
    for _ in range(2):  # as when a worker dies, and another begins its shard again
        for shard, keys in enumerate([["a", "b"], ["c", "d"]]):
            with closing(progress.Meter(tmp_path, shard)) as meter:
                for key in keys:
                    meter.reject((key, "empty", "0 bytes"))
    for count in range(6):
        assert [key for key, _, _ in progress.first_rejects(tmp_path, count)] == ["a", "b", "c", "d"][:count]
