"""`kill -9` at random moments, of the run or of a worker: no manifest or a whole bake, no orphans, and the same bytes in the end.

PREBAKE_MOMENTS says how many moments of each kind are tried for each format.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest
from launch import digests
from pictures import image_folder
from processes import finish, processes, start, wait_for, workers

from convert.manifest import MANIFEST
from convert.tasks import Crew
from convert.verify import verify

MOMENTS = int(os.environ.get("PREBAKE_MOMENTS", "1"))
ORPHANS = 5.0
"""Seconds after which no process may be left; two are promised, the rest is for a busy machine."""
RUN = ("--size", "96", "--shards", "8", "--workers", "2")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("killed") / "source", {"cat": 120, "dog": 120})


def test_at_any_moment(source: Path, format: str, tmp_path: Path) -> None:
    began = time.monotonic()
    assert finish(start(format, source, tmp_path / "undisturbed", *RUN)) == (0, [])
    lasts = time.monotonic() - began
    undisturbed = digests(tmp_path / "undisturbed")
    chance = random.Random(format)
    for moment in range(MOMENTS):
        for whom in ("run", "worker"):
            out = tmp_path / f"{whom}{moment}"
            run = start(format, source, out, *RUN)
            if whom == "worker":
                wait_for(lambda: workers(run) or run.poll() is not None)  # noqa: B023 - called at once
            time.sleep(chance.uniform(0, lasts if whom == "run" else lasts / 2))
            victims = [run.pid] if whom == "run" else workers(run)[:1]
            for pid in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            code, lines = finish(run)
            wait_for(lambda: not processes(run.pid), ORPHANS)  # noqa: B023 - called at once
            assert code == -9 or (code, lines) == (0, []), (whom, moment, lines)
            if code == 0 or (out / MANIFEST).exists():
                assert not verify(out, Crew(1, "serial", quiet=True)).wrong
            if code:
                assert finish(start(format, source, out, *RUN)) == (0, [])
            assert digests(out) == undisturbed, (whom, moment)
