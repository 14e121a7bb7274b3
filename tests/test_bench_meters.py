"""What the bench reads from the kernel, against fincore, the resource module and files of known size."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from launch import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from benching.cold import drop, resident
from benching.feeds import stream
from benching.meters import Meter, Peak
from benching.results import pays_after


def _fincore(path: Path) -> int:
    done = subprocess.run(["fincore", "--bytes", "--noheadings", "--output", "RES", str(path)], check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.skipif(shutil.which("fincore") is None, reason="no fincore here")
def test_residency_is_what_fincore_says(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(64 * 4096 + 1))
    assert resident([path]) == _fincore(path) / (65 * 4096) == 1.0
    drop([path])
    assert resident([path]) == _fincore(path) / (65 * 4096)
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        file.read(1)
    assert resident([path]) == _fincore(path) / (65 * 4096)
    (empty := tmp_path / "empty").touch()
    assert resident([empty, path]) == resident([path])


def test_a_mapped_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "file.npy"
    np.save(path, np.ones(1 << 16))
    mapped = np.load(path, mmap_mode="r")
    assert mapped.sum() == 1 << 16
    drop([path])
    assert resident([path]) > 0.9
    assert mapped[-1] == 1


def _work(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    time.sleep(30)


def test_cpu_time_and_memory_of_workers_count() -> None:
    meter = Meter()
    before, held = meter.spent().cpu, meter.memory()[0]
    own = resource.getrusage(resource.RUSAGE_SELF)
    worker = multiprocessing.get_context("fork").Process(target=_work, args=(0.5,), daemon=True)
    worker.start()
    while meter.spent().cpu - before < 0.4:
        time.sleep(0.02)
    assert meter.workers() == {worker.pid}
    with Peak(meter) as peak:
        block = np.ones(1 << 25)
        time.sleep(0.4)
    assert peak.own - held > 0.9 * block.nbytes
    worker.kill()
    worker.join()
    meter.wait_for_workers()
    assert meter.workers() == set()
    used = resource.getrusage(resource.RUSAGE_SELF)
    assert meter.spent().cpu - before == pytest.approx(used.ru_utime + used.ru_stime - own.ru_utime - own.ru_stime, abs=0.05)


def test_a_short_stream_begins_a_longer_one() -> None:
    long = stream(7, 50)
    assert long[:10].tolist() == stream(7, 10).tolist()
    for start in range(0, 49, 7):
        assert sorted(long[start : start + 7].tolist()) == list(range(7))
    assert long[:7].tolist() != long[7:14].tolist()


@pytest.mark.parametrize(
    ("bake", "folder", "epoch", "epochs"), [(10, 3, 1, 5), (10.1, 3, 1, 6), (0.1, 3, 1, 1), (10, 1, 1, None), (10, 1, 2, None)]
)
def test_when_baking_has_paid(bake: float, folder: float, epoch: float, epochs: int | None) -> None:
    assert pays_after(bake, folder, epoch) == epochs
