"""What is left to the pictures, `--window auto` and `--mean-std auto`, is as if the numbers had been typed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import bake as bake_here
from hypothesis import given
from hypothesis import strategies as st
from launch import SMALL, bake, prebake, refused
from pictures import image_folder
from PIL import Image
from stock import READ

from convert.manifest import read_manifest
from convert.request import Request
from convert.resolve import resolve
from convert.survey import count_wide
from convert.tally import Tally
from convert.tasks import Crew

USUAL: dict[str, Any] = {"exact": None, "icc": None}
"""As the command line does."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("auto") / "source", {"cat": 12, "dog": 9})


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven 16-bit pictures, PNG and TIFF, that use a part of the range but for a few hot and dead pixels; two others; a broken one."""
    root = image_folder(tmp_path_factory.mktemp("auto") / "scans", {"ill": 1, "well": 1})
    random = np.random.default_rng(0)
    for number in range(7):
        levels = random.normal(1500 + 100 * number, 200, (90, 60 + number)).clip(900, 4095).astype(np.uint16)
        levels[0, :2] = (0, 65535) if number < 2 else levels[0, :2]
        name = root / ("ill" if number % 2 else "well") / f"scan{number}.{'png' if number % 3 else 'tif'}"
        Image.fromarray(levels).save(name)
    (root / "ill" / "broken.png").write_bytes((root / "ill" / "scan1.png").read_bytes()[:3000])
    return root


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def window_of(root: Path) -> tuple[float, float]:
    """By sorting all pixels of all 16-bit pictures that Pillow reads."""
    pixels = []
    for path in sorted([*root.rglob("scan*.png"), *root.rglob("scan*.tif")]):
        with Image.open(path) as picture:
            pixels.append(np.asarray(picture).ravel())
    ordered = np.sort(np.concatenate(pixels))
    spare = len(ordered) // 10_000
    return float(ordered[spare]), float(ordered[-1 - spare])


def test_mean_and_std_of_the_pictures(source: Path, tmp_path: Path) -> None:
    printed = bake("lmdb", source, tmp_path / "auto", "--mean-std", "auto")
    bake_here(source, tmp_path / "levels", size=(16, 16), dtype="uint8", **USUAL)
    (shard,) = (tmp_path / "levels").glob("shard-*")
    rows = np.stack(READ["memmap"](shard, "uint8", (16, 16, 3))[0]).astype(np.float64) / 255
    mean, std = (",".join(f"{value:.6f}" for value in values) for values in (rows.mean((0, 1, 2)), rows.std((0, 1, 2))))
    bake("lmdb", source, tmp_path / "typed", "--mean", mean, "--std", std)
    assert contents(tmp_path / "auto") == contents(tmp_path / "typed")
    assert f"  mean      {mean} (auto, 21 pictures, 6 decimals)\n  std       {std}\n" in printed
    assert "holds this very bake already" in bake("lmdb", source, tmp_path / "auto", "--mean-std", "auto", "--workers", 1)
    assert "holds this very bake already" in bake("lmdb", source, tmp_path / "auto", "--mean", mean, "--std", std)
    assert "its mean differs" in refused(prebake("lmdb", source, tmp_path / "auto", *SMALL))
    assert prebake("lmdb", source, tmp_path / "like", "--like", tmp_path / "auto", "--dedupe", "off").returncode == 0
    assert read_manifest(tmp_path / "like").mean == read_manifest(tmp_path / "auto").mean


def test_a_window_and_what_follows_from_it(scans: Path, tmp_path: Path) -> None:
    low, high = window_of(scans)
    assert 0 < low < high < 65535
    printed = bake("memmap", scans, tmp_path / "auto", "--window", "auto", "--mean-std", "auto")
    manifest = read_manifest(tmp_path / "auto")
    assert manifest.decoding.window == (low, high)
    assert f"  window    {low:.0f}:{high:.0f} (auto, 7 16-bit pictures; 1 in 10,000 pixels beyond either)\n  mean " in printed
    bake("memmap", scans, tmp_path / "typed", "--window", f"{low:.0f}:{high:.0f}", "--mean-std", "auto")
    assert contents(tmp_path / "auto") == contents(tmp_path / "typed")
    bake_here(scans, tmp_path / "levels", size=(16, 16), dtype="uint8", window=(low, high), **USUAL)
    (shard,) = (tmp_path / "levels").glob("shard-*")
    rows = np.stack(READ["memmap"](shard, "uint8", (16, 16, 3))[0]).astype(np.float64) / 255
    np.testing.assert_allclose(manifest.mean, rows.mean((0, 1, 2)), atol=5.0001e-7)
    np.testing.assert_allclose(manifest.std, rows.std((0, 1, 2)), atol=5.0001e-7)
    again = bake("memmap", scans, tmp_path / "auto", "--window", "auto", "--mean-std", "auto")
    assert "holds this very bake already" in again


def test_plan_says_what_was_found_and_stats_uses_it(scans: Path) -> None:
    low, high = window_of(scans)
    for command in ("plan", "stats"):
        done = prebake(command, scans, "--window", "auto", *SMALL)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"window    {low:.0f}:{high:.0f} (auto, 7 16-bit pictures;" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80 or command == "plan"  # whose first line is a path
    typed = prebake("stats", scans, "--window", f"{low:.0f}:{high:.0f}", *SMALL)
    assert typed.stdout.splitlines()[-1] == done.stdout.splitlines()[-1]


def test_no_picture_that_a_window_is_for(source: Path, tmp_path: Path) -> None:
    printed = bake("memmap", source, tmp_path / "out", "--window", "auto")
    assert "  window    auto: no 16-bit grey pictures, so there is none\n" in printed
    assert read_manifest(tmp_path / "out").decoding.window is None


def test_no_jpeg_is_read_for_a_window(scans: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(scans, source)
    with (source / "ill" / "endless.jpg").open("wb") as file:
        file.write(b"\xff\xd8")
        file.truncate(1 << 40)  # a hole: whoever reads it runs out of memory
    os.mkfifo(source / "ill" / "pipe.jpg")
    (source / "ill" / "gone.jpg").symlink_to("nowhere")
    plan, _ = resolve(Request(source, None, "memmap"))
    tally = count_wide(plan, Crew(1, "serial", quiet=True))
    assert tally.pictures == 7
    assert tally.rejected == {"truncated": 1, "not_regular_file": 1, "broken_symlink": 1}


def test_a_limit_holds_in_the_first_pass(scans: Path, tmp_path: Path) -> None:
    for option in ("--window", "--mean-std"):
        line = refused(prebake("memmap", scans, tmp_path / "out", option, "auto", "--max-rejects", 0, *SMALL))
        assert "and --max-rejects 0 allows none (a higher one goes on without it): 1 rejected, such as ill/broken.png: truncated" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--window", "--mean-std"])
def test_out_is_looked_at_before_the_pictures(scans: Path, tmp_path: Path, option: str) -> None:
    """With --strict, a pass over the pictures would fail at the broken one, and name it."""
    out = tmp_path / "out"
    words = ("memmap", scans, out, option, "auto", "--strict", *SMALL)
    assert "ill/broken.png" in refused(prebake(*words))
    bake("memmap", scans, out, "--seed", "1")
    for other in ("--seed=2", "--exact", "--std=0.5" if option == "--window" else "--window=0:9"):
        assert "holds another bake" in refused(prebake(*words, "--seed", 1, other))
    assert "holds another bake (its seed differs: 1, not 2)" in refused(prebake("plan", *words[1:], "--seed", 2))
    assert "ill/broken.png" in refused(prebake(*words, "--seed", 1))  # which may be the one that is there
    assert "ill/broken.png" in refused(prebake(*words, "--overwrite"))
    (out / "shard-00000.npy").unlink()
    assert "holds a damaged bake" in refused(prebake(*words, "--seed", 1))
    (out / ".prebake").mkdir()
    (out / "manifest.json").unlink()
    assert "holds an unfinished bake" in refused(prebake(*words))
    (out / "thesis.tex").touch()
    assert "holds something else (thesis.tex)" in refused(prebake(*words, "--overwrite"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--mean-std auto --mean 0.5", "--mean-std auto finds mean and std: leave --mean and --std out, or it"),
        ("--mean-std auto --std 0.5", "--mean-std auto finds mean and std: leave --mean and --std out, or it"),
        ("--mean-std auto --like LIKE", "--mean-std auto finds mean and std: leave --like out, or it"),
        ("--window auto --like LIKE", "--window contradicts --like"),
        ("--window auto --dtype uint16", "--dtype uint16 keeps 16-bit grey as it is: leave --window out"),
        ("--mean-std 0.5", "'0.5' is not 'auto'"),
        ("--mean-std auto", "a channel has one level in all pictures, so std is 0 (0.000000,0.000000,0.000000): give --mean and --std"),
        ("--window auto", "nearly all 16-bit pixels have the level 700, which is no range: give --window LO:HI"),
    ],
)
def test_what_makes_no_sense(source: Path, tmp_path: Path, options: str, says: str) -> None:
    (tmp_path / "flat" / "cat").mkdir(parents=True)
    Image.fromarray(np.full((20, 20), 700, np.uint16)).save(tmp_path / "flat" / "cat" / "even.png")
    if "LIKE" in options:
        bake_here(source, tmp_path / "like", size=(16, 16))
    words = [str(tmp_path / "like") if word == "LIKE" else word for word in options.split()]
    done = prebake("memmap", tmp_path / "flat", tmp_path / "out", *words)
    assert done.returncode == 2
    assert says in done.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@given(st.lists(st.tuples(st.integers(0, 65_535), st.integers(1, 40_000)), min_size=1, max_size=5))
def test_a_window_leaves_out_as_many_pixels_as_it_may(counts: list[tuple[int, int]]) -> None:
    levels = np.zeros((1, 65_536), np.int64)
    for level, count in counts:
        levels[0, level] += count
    ordered = np.repeat(np.arange(65_536), levels[0])
    spare = len(ordered) // 10_000
    assert Tally(levels, 1).window() == (ordered[spare], ordered[-1 - spare])


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_one_channel_has_one_mean(scans: Path, tmp_path: Path, dtype: str) -> None:
    bake("hdf5", scans, tmp_path / "out", "--color", "gray", "--dtype", dtype, "--mean-std", "auto")
    (shard,) = (tmp_path / "out").glob("shard-*")
    rows = np.stack(READ["hdf5"](shard, dtype, (16, 16, 1))[0]).astype(np.float64) / np.iinfo(dtype).max
    manifest = read_manifest(tmp_path / "out")
    assert (manifest.mean, manifest.std) == ((round(float(rows.mean()), 6),), (round(float(rows.std()), 6),))
    from_source = prebake("stats", scans, "--color", "gray", "--dtype", dtype, "--size", 16).stdout.splitlines()
    from_bake = prebake("stats", tmp_path / "out").stdout.splitlines()
    assert from_source[-4:] == from_bake[-4:]
    assert from_bake[-1].split() == ["--mean", f"{manifest.mean[0]:.6f}", "--std", f"{manifest.std[0]:.6f}"]
