"""A bake that is interrupted or loses a process ends soon, says so in one line, keeps its finished shards, and can go on."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launch import digests
from pictures import jpeg, photo
from PIL import Image
from processes import LATE, Run, finish, imports_numpy, processes, start, wait_for, workers

from convert.errors import PrebakeError
from convert.manifest import MANIFEST, read_manifest

SOON = 5.0
"""Seconds within which everything must have ended: two are promised, the rest is for a busy machine."""
TURNS = (Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.FLIP_TOP_BOTTOM, Image.Transpose.ROTATE_180)
RUN = ("--size", "128", "--shards", "6", "--workers", "2", "--order", "source")
KEPT = r"(nothing unfinished was kept|[1-6] of 6 shards kept: the next run goes on)"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of one megapixel, so many that two workers are busy for more than a second."""
    root = tmp_path_factory.mktemp("large") / "source"
    picture = photo(0, 900, 1200)
    data = [jpeg(picture), *(jpeg(picture.transpose(turn)) for turn in TURNS)]
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True)
        for number in range(60):
            (root / name / f"{number:02d}.jpg").write_bytes(data[number % 4])
    return root


@pytest.fixture(scope="module")
def undisturbed(source: Path) -> dict[str, str]:
    out = source.parent / "undisturbed"
    assert finish(start("memmap", source, out, *RUN)) == (0, [])
    return digests(out)


def check_ended(run: Run, out: Path, code: int, word: str) -> bool:
    """All processes are gone, one line says what happened, and OUT holds what that promises. Returns whether shards were kept."""
    said, lines = finish(run, SOON)
    wait_for(lambda: not processes(run.pid), SOON)
    assert (said, len(lines)) == (code, 1), lines
    assert re.fullmatch(rf"prebake: {word}; {KEPT}", lines[0])
    kept = "goes on" in lines[0]
    assert kept == out.exists()
    if kept:
        assert len(list(out.glob("shard-*"))) >= int(lines[0].split()[2])
        assert not [path for path in out.rglob("*") if path.name.endswith(".partial") or path.name in (MANIFEST, "lock")]
    return kept


@pytest.mark.parametrize("moment", ["importing", "first helper", "second helper", "helper importing", "writing"])
def test_ctrl_c_ends_all(source: Path, tmp_path: Path, moment: str, undisturbed: dict[str, str]) -> None:
    out = tmp_path / "new" / "out"
    run = start("memmap", source, out, *RUN)
    moments: dict[str, Callable[[], object]] = {
        "importing": lambda: imports_numpy(run.pid),
        "first helper": lambda: len(processes(run.pid)) > 1,
        "second helper": lambda: len(processes(run.pid)) > 2,
        "helper importing": lambda: any(imports_numpy(pid) for pid in processes(run.pid) if pid != run.pid),
        "writing": lambda: list(out.glob("shard-*.npy")),
    }
    wait_for(moments[moment])
    os.killpg(run.pid, signal.SIGINT)
    if check_ended(run, out, 130, "interrupted"):
        assert finish(start("memmap", source, out, *RUN)) == (0, [])
        assert digests(out) == undisturbed
    else:
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_ended_from_outside(source: Path, tmp_path: Path, number: signal.Signals) -> None:
    run = start("memmap", source, tmp_path / "out", *RUN)
    wait_for(lambda: list((tmp_path / "out").glob("shard-*")))
    run.send_signal(number)
    check_ended(run, tmp_path / "out", 128 + number, "ended from outside")


def test_ctrl_c_pressed_by_an_impatient_user(source: Path, tmp_path: Path) -> None:
    run = start("memmap", source, tmp_path / "out", *RUN)
    wait_for(lambda: list((tmp_path / "out").glob("shard-*")))
    for _ in range(5):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGINT)
        time.sleep(0.002)
    check_ended(run, tmp_path / "out", 130, "interrupted")


def test_a_neighbour_in_a_new_folder_stays(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    run = start("memmap", source, out, *RUN)
    wait_for(out.exists)
    (tmp_path / "new" / "neighbour").mkdir()
    os.killpg(run.pid, signal.SIGINT)
    if not check_ended(run, out, 130, "interrupted"):
        assert list(tmp_path.rglob("*")) == [tmp_path / "new", tmp_path / "new" / "neighbour"]


def test_a_killed_parent_takes_its_workers_along(source: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    out = tmp_path / "out"
    run = start("memmap", source, out, *RUN)
    wait_for(lambda: list(out.glob("shard-*")))
    run.kill()
    finish(run, SOON)
    wait_for(lambda: not processes(run.pid), SOON)
    assert not (out / MANIFEST).exists()
    with pytest.raises(PrebakeError, match=r"not finished.*run the same command again, and it goes on"):
        read_manifest(out)
    for more in ((), ("--overwrite",)):
        assert finish(start("memmap", source, out, *RUN, *more)) == (0, [])
        assert digests(out) == undisturbed


def test_a_killed_worker_changes_nothing(source: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    out = tmp_path / "out"
    run = start("memmap", source, out, *RUN)
    wait_for(lambda: list(out.glob("shard-*")) and workers(run))
    os.kill(workers(run)[0], signal.SIGKILL)
    assert finish(run) == (0, [])
    assert digests(out) == undisturbed


def test_workers_that_are_always_killed_end_the_run(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = start("lmdb", source, out, *RUN)
    end = time.monotonic() + LATE
    while run.poll() is None and time.monotonic() < end:
        for pid in workers(run):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    code, lines = finish(run, SOON)
    assert (code, len(lines)) == (1, 1)
    assert "failed 3 times: a worker process died" in lines[0]
    assert "fewer --workers" in lines[0]
    assert not out.exists()
