"""`prebake stats`: NumPy's mean and std over the rows that stock libraries read, of a source as of its bake; writes nothing."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import bake as bake_here
from hypothesis import given
from hypothesis import strategies as st
from launch import prebake, refused, tree
from pictures import image_folder, jpeg, photo, png
from PIL import Image
from processes import finish, processes, start, wait_for, workers
from stock import READ

from convert.manifest import read_manifest
from convert.registry import load_format
from convert.request import Request
from convert.resolve import resolve
from convert.survey import count_rows
from convert.tally import Tally
from convert.tasks import Crew


def stats(*args: object) -> dict[str, Any]:
    done = prebake("stats", *args, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty pictures, and three that are none."""
    root = image_folder(tmp_path_factory.mktemp("stats") / "source", {"cat": 22, "dog": 18})
    (root / "cat" / "empty.jpg").touch()
    (root / "dog" / "page.jpg").write_text("<html>")
    (root / "dog" / "half.jpg").write_bytes(jpeg(photo(1, 60, 60))[:900])
    return root


def test_the_numbers_are_those_of_the_stored_rows(source: Path, tmp_path: Path, format: str) -> None:
    recipe: dict[str, Any] = {"size": (24, 40), "resize": "pad", "filter": "bicubic"}
    bake_here(source, tmp_path / "levels", format, dtype="uint8", shards=3, **recipe)
    bake_here(source, tmp_path / "floats", format, dtype="float16", shards=2, mean=(0.1,) * 3, std=(0.3, 0.9, 0.5), **recipe)
    shards = sorted((tmp_path / "levels").glob(f"shard-*{load_format(format).suffix}"))
    rows = np.concatenate([READ[format](path, "uint8", (24, 40, 3))[0] for path in shards]).astype(np.float64) / 255
    before = tree(tmp_path)
    found = stats(tmp_path / "levels")
    assert found["count"] == len(rows) == 40
    np.testing.assert_allclose(found["mean"], rows.mean(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(found["std"], rows.std(axis=(0, 1, 2)), rtol=1e-12)
    assert stats(tmp_path / "floats") == found
    rejected = {"empty": 1, "not_an_image": 1, "truncated": 1}
    assert stats(source, "--size", "24x40", "--resize", "pad", "--filter", "bicubic", "--exact", "--icc", "ignore") == found | {
        "rejected": rejected
    }
    assert stats(source, "--like", tmp_path / "floats") == found | {"rejected": rejected}
    assert tree(tmp_path) == before


def test_what_is_printed_can_be_pasted(source: Path, tmp_path: Path) -> None:
    done = prebake("stats", source, "--size", 24)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("40 pictures at 24x24 (height x width)\nleft out  3 rejected: empty 1, not_an_image 1, truncated 1\n")
    assert max(map(len, done.stdout.splitlines())) <= 80
    words = done.stdout.splitlines()[-1].split()
    assert prebake("memmap", source, tmp_path / "out", "--size", 24, *words).returncode == 0
    found, manifest = stats(tmp_path / "out"), read_manifest(tmp_path / "out")
    for name in ("mean", "std"):
        assert [round(value, 6) for value in found[name]] == list(getattr(manifest, name))


def test_the_count_depends_on_nobody(source: Path) -> None:
    tallies = []
    for workers_, executor, seed, shards in [(1, "serial", 0, 1), (1, "local", 0, 7), (3, "local", 1, 5)]:
        crew = Crew(workers_, executor, quiet=True)
        plan, _ = resolve(Request(source, None, "memmap", recipe={"size": (20, 20)}, seed=seed, shards=shards))
        tallies.append(count_rows(plan, crew))
    assert all(np.array_equal(tally.levels, tallies[0].levels) for tally in tallies)  # type: ignore[arg-type]
    assert [tally.rejected for tally in tallies] == [{"empty": 1, "not_an_image": 1, "truncated": 1}] * 3
    assert [tally.pictures for tally in tallies] == [40] * 3


def test_too_many_rejects_and_nothing_but_rejects(source: Path, tmp_path: Path) -> None:
    line = refused(prebake("stats", source, "--size", 16, "--max-rejects", 2))
    assert "more than 2 pictures were rejected (--max-rejects allows more): 3 rejected, such as cat/empty.jpg: empty (0 bytes)" in line
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.jpg").touch()
    assert "no picture could be baked; 1 rejected, such as cat/1.jpg: empty" in refused(prebake("stats", tmp_path))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (("shard-00001.lmdb", None), "cannot be read: No such file or directory"),
        (("shard-00001.lmdb", 10_000), "is shorter than the manifest says: damaged"),
        (("offsets.npy", None), "cannot be read"),
        (("offsets.npy", 100), "cannot be read"),
        (("manifest.json", 100), "is not a manifest of a bake, or is damaged"),
        (("manifest.json", None), "this bake is not finished"),
    ],
)
def test_a_damaged_bake_is_named(source: Path, tmp_path: Path, damage: tuple[str, int | None], says: str) -> None:
    name, size = damage
    bake_here(source, tmp_path / "out", "lmdb", size=(10, 10), shards=3)
    assert (tmp_path / "out" / "offsets.npy").exists()
    if size is None:
        (tmp_path / "out" / name).unlink()
        (tmp_path / "out" / ".prebake").mkdir()
    else:
        os.truncate(tmp_path / "out" / name, size)
    line = refused(prebake("stats", tmp_path / "out"))
    assert says in line
    assert str(tmp_path / "out") in line


def test_a_bake_takes_no_options_of_a_source(source: Path, tmp_path: Path) -> None:
    bake_here(source, tmp_path / "out", size=(10, 10))
    done = prebake("stats", tmp_path / "out", "--size", 10, "--color", "RGB", "--classes-are-folders", "--workers", 1)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("is a bake, whose rows are as they are: leave --size, --color, --classes-are-folders out\n")


@pytest.mark.parametrize("command", [("stats",), ("memmap", "OUT", "--mean-std", "auto"), ("plan", "--window", "auto")])
def test_ctrl_c_leaves_nothing_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    data = jpeg(photo(0, 900, 1200))
    (tmp_path / "source" / "cat").mkdir(parents=True)
    (tmp_path / "source" / "cat" / "first.jpg").write_bytes(data)
    for number in range(5000):  # more than can be done before the signal
        (tmp_path / "source" / "cat" / f"{number}.jpg").hardlink_to(tmp_path / "source" / "cat" / "first.jpg")
    deep = Image.fromarray((np.arange(900 * 1200) % 65536).astype(np.uint16).reshape(900, 1200))  # only such have a window
    (tmp_path / "source" / "cat" / "deep.png").write_bytes(png(deep))
    for number in range(2000):
        (tmp_path / "source" / "cat" / f"{number}.png").hardlink_to(tmp_path / "source" / "cat" / "deep.png")
    before = tree(tmp_path / "source")
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:  # a socket's path must be short
        monkeypatch.setenv("TMPDIR", temporary)
        _interrupt(tmp_path, Path(temporary), command)
    assert tree(tmp_path / "source") == before


def _interrupt(tmp_path: Path, temporary: Path, command: tuple[str, ...]) -> None:
    word, *options = command
    run = start(word, tmp_path / "source", *(str(tmp_path / "out") if option == "OUT" else option for option in options), "--workers", 2)
    wait_for(lambda: list(temporary.glob("prebake-*/progress")) and workers(run))
    os.killpg(run.pid, signal.SIGINT)
    assert finish(run, 5) == (130, ["prebake: interrupted"])
    wait_for(lambda: not processes(run.pid), 5)
    assert not list(temporary.glob("prebake-*"))
    assert not (tmp_path / "out").exists()


def test_too_long_a_temporary_folder_is_named(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 90)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    done = prebake("memmap", source, tmp_path / "out", "--size", 16)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "set TMPDIR=/tmp" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_killed_worker_changes_no_number(tmp_path: Path) -> None:
    picture = photo(0, 600, 800)
    (tmp_path / "source" / "cat").mkdir(parents=True)
    for number in range(160):
        (tmp_path / "source" / "cat" / f"{number}.jpg").write_bytes(jpeg(picture, quality=50 + number % 40))
    calm = stats(tmp_path / "source", "--size", 32, "--shards", 8)
    run = start("stats", tmp_path / "source", "--size", 32, "--shards", 8, "--workers", 2, "--json")
    wait_for(lambda: workers(run))
    os.kill(workers(run)[0], signal.SIGKILL)
    stdout, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert json.loads(stdout) == calm


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 77, 255, 256, 40_000, 65_535]), st.integers(1, 10**12)), min_size=1, max_size=9),
    st.booleans(),
)
def test_sums_are_exact_for_any_count(counts: list[tuple[int, int]], wide: bool) -> None:
    levels = np.zeros((2, 65536 if wide else 256), np.int64)
    for level, count in counts:
        levels[:, level % levels.shape[1]] += count
    levels[1] = levels[1, ::-1]
    mean, std = Tally(levels, 1).mean_std()
    for channel in range(2):
        n = int(levels[channel].sum())
        values = [(Fraction(int(level), levels.shape[1] - 1), int(levels[channel, level])) for level in np.flatnonzero(levels[channel])]
        exact = sum(value * count for value, count in values) / n
        assert mean[channel] == float(exact)
        variance = sum((value - exact) ** 2 * count for value, count in values) / n
        assert std[channel] == pytest.approx(float(variance) ** 0.5, rel=1e-15 * 4)
