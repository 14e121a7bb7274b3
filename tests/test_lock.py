"""Two runs never write into one folder, and a lock that nobody holds any more is no obstacle."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from launch import SMALL, bake, digests, prebake, refused
from pictures import image_folder
from processes import finish, start, wait_for

from convert.errors import PrebakeError
from convert.lock import LOCK, locked
from convert.output import place
from convert.request import Request
from convert.resolve import resolve
from convert.run import carry_out
from convert.stock import Trust
from convert.tasks import Crew


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("lock") / "source", {"cat": 40, "dog": 40})


def test_the_second_run_says_who_is_at_it_and_touches_nothing(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = start("memmap", source, out, "--size", "64", "--shards", "40", "--workers", "1")
    lock = out / ".prebake" / LOCK
    wait_for(lambda: lock.exists() and lock.read_text())
    os.kill(first.pid, signal.SIGSTOP)
    try:
        for more in ((), ("--overwrite",), ("--append",), ("--seed", "1")):
            line = refused(prebake("memmap", source, out, "--size", "64", "--shards", "40", *more))
            assert f"is being written by another prebake (pid {first.pid} on {os.uname().nodename}): wait for its end" in line
        assert "is being written" in refused(prebake("repair", out, "--source", source))
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert finish(first) == (0, [])
    assert not (out / ".prebake").exists()


def test_what_a_dead_process_left_is_no_lock(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / ".prebake").mkdir(parents=True)
    lock = tmp_path / "out" / ".prebake" / LOCK
    for left in (
        "",
        "{",
        "[]",
        "[" * 4000,
        '{"a":' * 800,
        json.dumps({"pid": os.getpid(), "host": os.uname().nodename, "boot": "another", "started": "1"}),
    ):
        lock.write_text(left)
        with place(tmp_path / "out"):
            assert json.loads(lock.read_text())["pid"] == os.getpid()
        assert not lock.exists()
        lock.parent.mkdir(parents=True)
    lock.write_text("{")
    bake("memmap", source, tmp_path / "out")


def test_a_lock_of_another_machine_cannot_be_judged(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / ".prebake").mkdir(parents=True)
    lock = tmp_path / "out" / ".prebake" / LOCK
    lock.write_text(json.dumps({"pid": 12, "host": "elsewhere", "boot": "another", "started": "1"}))
    line = refused(prebake("memmap", source, tmp_path / "out", *SMALL))
    assert f"may be being written by pid 12 on elsewhere: if that run has ended, remove {lock}" in line
    lock.write_text(json.dumps({"pid": "\x1b[2J\0", "host": ["\n"], "boot": {}, "started": 1}))
    assert r"may be being written by pid \x1b[2J\x00 on ['\n']: if" in refused(prebake("memmap", source, tmp_path / "out", *SMALL))
    lock.unlink()
    bake("memmap", source, tmp_path / "out")


def test_a_child_inherits_no_lock(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with locked(tmp_path / "work", tmp_path):
        pid = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "30")
    try:
        again = locked(tmp_path / "work", tmp_path)
        with locked(tmp_path / "work", tmp_path), pytest.raises(PrebakeError, match=f"pid {os.getpid()}"):
            again.__enter__()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_another_run_comes_and_goes_while_this_one_plans(source: Path, tmp_path: Path) -> None:
    """The lock alone does not show it: what the other has finished must not be cleared."""
    out, crew = tmp_path / "out", Crew(1, "serial", quiet=True)
    request = Request(source=source, out=out, format="memmap", recipe={"size": (16, 16)}, crew=crew)
    plan, _ = resolve(request)
    bake("memmap", source, out)
    before = digests(out)
    for trust in (None, Trust()):
        with pytest.raises(PrebakeError, match="was written by another prebake meanwhile: start again"):
            carry_out(plan, out, crew, trust=trust)
    assert digests(out) == before
    carry_out(plan, out, crew, overwrite=True)
