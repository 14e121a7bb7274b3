"""What the plan block says of other dtypes, JPEG and sizes is what bakes of them take."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from conftest import bake
from launch import prebake, tree
from pictures import image_folder, photo

from convert.compare import BUFFER, compare, copies_per_s
from convert.request import Request
from convert.resolve import resolve

ALTERNATIVES: dict[str, dict[str, Any]] = {
    "float16 40x40": {},
    "uint8 40x40": {"dtype": "uint8"},
    "JPEG 90 40x40": {"encoding": "jpeg"},
    "float16 short 40": {"resize": "short"},
    "uint8 short 40": {"resize": "short", "dtype": "uint8"},
    "JPEG 90 short 40": {"resize": "short", "encoding": "jpeg"},
    "JPEG 90 short 60": {"resize": "short", "encoding": "jpeg", "size": (60, 60)},
}
UNITS = {"bytes": 1, "kB": 1e3, "MB": 1e6}


def lines(*args: object) -> dict[str, tuple[float, str]]:
    """Bytes, and the rest of the line, of each kind of rows."""
    done = prebake("plan", *args)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    found = re.findall(r"^ {12}((?:float\d+|uint\d+|JPEG \d+) \S+(?: \d+)?) +([\d.]+) (bytes|[kM]B) +(.*)$", done.stdout, re.MULTILINE)
    return {kind: (float(number) * UNITS[unit], rest) for kind, number, unit, rest in found}


@pytest.mark.parametrize("format", ["memmap", "hdf5"])
def test_bytes_are_those_of_bakes(photos: Path, format: str, tmp_path: Path) -> None:
    before = tree(photos)
    said = lines(photos, "--size", "40", "--format", format, "--exact")
    assert tree(photos) == before
    assert next(iter(said)) == "float16 40x40"
    for name, options in ALTERNATIVES.items():
        made = bake(photos, tmp_path / name, format, shards=1, **{"size": (40, 40)} | options)
        stored = sum(shard.bytes for shard in made.shards)
        assert abs(stored - said[name][0]) < 0.02 * stored + 5000, name
        assert re.fullmatch(r"yes +yes +[\d,]+", said[name][1])


def test_the_plan_itself_comes_first_and_nothing_twice(photos: Path) -> None:
    said = lines(photos, "--size", "40", "--resize", "short", "--encoding", "jpeg", "--quality", "50")
    assert next(iter(said)) == "JPEG 50 short 40"
    assert len(said) == 6
    grey = lines(photos, "--size", "40", "--dtype", "uint16")
    assert list(grey) == ["uint16 40x40", "uint16 short 40", "uint16 short 60"]


def test_a_look_ends_in_time_and_needs_no_good_picture(tmp_path: Path) -> None:
    many = image_folder(tmp_path / "many", {"one": 120})
    plan, _ = resolve(Request(source=many, out=None, format="memmap"))
    assert compare(plan, 0.0).looked == 1
    assert compare(plan, 60.0).looked == 120
    for path in many.rglob("*.jpg"):
        path.write_bytes(b"no picture")
    nothing = compare(plan, 60.0)
    assert nothing.looked == 0
    assert [choice.rate for choice in nothing.choices if choice.recipe.jpeg] == [None] * 3
    assert all(choice.row > 0 for choice in nothing.choices)


def test_what_is_rejected_takes_no_bytes(tmp_path: Path) -> None:
    folder = image_folder(tmp_path / "some", {"one": 3})
    photo(0, 1, 9000).save(folder / "one" / "strip.png")  # 48 x 432,000 pixels once enlarged
    asked: dict[str, Any] = {"size": (48, 48), "dtype": "uint8", "resize": "short", "upscale": True}
    made = bake(folder, tmp_path / "out", "memmap", max_rejects="50%", max_pixels=10_000_000, **asked)
    assert (made.count, len(made.shards)) == (3, 1)
    said = lines(folder, "--size", "48", "--dtype", "uint8", "--resize", "short", "--upscale", "--max-pixels", "10000000")
    assert said["uint8 short 48"][0] <= 4 / 3 * sum(shard.bytes for shard in made.shards) + 500  # there are four files


def test_copies_of_huge_rows_need_little_memory() -> None:
    tracemalloc.start()
    rates = [copies_per_s(row) for row in (BUFFER, 100 * BUFFER)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * BUFFER
    assert min(rates) > 0


def test_lossy_is_said(photos: Path) -> None:
    done = prebake("plan", photos, "--encoding", "jpeg", "--subsampling", "444", "--quality", "77")
    assert "lossy JPEG 444 of quality 77" in done.stdout
