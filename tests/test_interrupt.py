"""A bake that is interrupted or loses a process ends soon, says so in one line, and leaves nothing that looks complete."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pictures import jpeg, photo
from PIL import Image
from processes import LATE, finish, imports_numpy, processes, start, wait_for, workers

from convert.errors import PrebakeError
from convert.manifest import MANIFEST, read_manifest

SOON = 5.0
"""Seconds within which everything must have ended: two are promised, the rest is for a busy machine."""
TURNS = (Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.FLIP_TOP_BOTTOM, Image.Transpose.ROTATE_180)
RUN = ("--size", "128", "--shards", "6", "--workers", "2", "--order", "source")
INTERRUPTED = 130, ["prebake: interrupted; nothing unfinished was kept"]


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


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def undisturbed(source: Path) -> dict[str, str]:
    out = source.parent / "undisturbed"
    assert finish(start("memmap", source, out, *RUN)) == (0, [])
    return digests(out)


@pytest.mark.parametrize("moment", ["importing", "first helper", "second helper", "helper importing", "writing"])
def test_ctrl_c_ends_all_and_leaves_nothing(source: Path, tmp_path: Path, moment: str) -> None:
    out = tmp_path / "new" / "out"
    run = start("memmap", source, out, *RUN)
    moments: dict[str, Callable[[], object]] = {
        "importing": lambda: imports_numpy(run.pid),
        "first helper": lambda: len(processes(run.pid)) > 1,
        "second helper": lambda: len(processes(run.pid)) > 2,
        "helper importing": lambda: any(imports_numpy(pid) for pid in processes(run.pid) if pid != run.pid),
        "writing": lambda: list(out.glob("shard-*")),
    }
    wait_for(moments[moment])
    os.killpg(run.pid, signal.SIGINT)
    assert finish(run, SOON) == INTERRUPTED
    wait_for(lambda: not processes(run.pid), SOON)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_ended_from_outside_leaves_nothing(source: Path, tmp_path: Path, number: signal.Signals) -> None:
    run = start("memmap", source, tmp_path / "out", *RUN)
    wait_for(lambda: list((tmp_path / "out").glob("shard-*")))
    run.send_signal(number)
    assert finish(run, SOON) == (128 + number, ["prebake: ended from outside; nothing unfinished was kept"])
    wait_for(lambda: not processes(run.pid), SOON)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_pressed_by_an_impatient_user(source: Path, tmp_path: Path) -> None:
    run = start("memmap", source, tmp_path / "out", *RUN)
    wait_for(lambda: list((tmp_path / "out").glob("shard-*")))
    for _ in range(5):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGINT)
        time.sleep(0.002)
    assert finish(run, SOON) == INTERRUPTED
    assert not list(tmp_path.iterdir())


def test_a_neighbour_in_a_new_folder_stays(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    run = start("memmap", source, out, *RUN)
    wait_for(lambda: list(out.glob("shard-*")))
    (tmp_path / "new" / "neighbour").mkdir()
    os.killpg(run.pid, signal.SIGINT)
    assert finish(run, SOON) == INTERRUPTED
    assert list(tmp_path.rglob("*")) == [tmp_path / "new", tmp_path / "new" / "neighbour"]


def test_a_killed_parent_takes_its_workers_along(source: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    out = tmp_path / "out"
    run = start("memmap", source, out, *RUN)
    wait_for(lambda: list(out.glob("shard-*")))
    run.kill()
    finish(run, SOON)
    wait_for(lambda: not processes(run.pid), SOON)
    assert not (out / MANIFEST).exists()
    with pytest.raises(PrebakeError, match=r"not finished.*--overwrite"):
        read_manifest(out)
    code, lines = finish(start("memmap", source, out, *RUN))
    assert (code, len(lines)) == (1, 1)
    assert "holds an unfinished bake: add --overwrite" in lines[0]
    assert finish(start("memmap", source, out, *RUN, "--overwrite")) == (0, [])
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
