"""Converting takes no more memory and no more descriptors for more pictures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from launch import ROOT
from pictures import jpeg, photo

PROGRAM = """
import resource, sys
from pathlib import Path
from convert.executors import local, serial
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[3]), int(sys.argv[3])))
import convert.cli, convert.commands
if sys.argv[4] == "serial":
    local.EXECUTOR = serial.EXECUTOR
sys.argv[1:] = ["memmap", sys.argv[1], sys.argv[2], "--size", "16", "--shards", sys.argv[5], "--workers", "2", "--no-preview"]
convert.cli.run_command()
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
MANY = int(os.environ.get("PREBAKE_PICTURES", "3000"))


def pictures(folder: Path, count: int) -> Path:
    """So many files, all different behind the end of their pictures."""
    (folder / "all").mkdir(parents=True)
    data = [jpeg(photo(number, 40, 40)) for number in range(20)]
    for number in range(count):
        (folder / "all" / f"{number:06d}.jpg").write_bytes(data[number % 20] + number.to_bytes(4, "big"))
    return folder


def peak(source: Path, out: Path, *, files: int = 1024, executor: str = "serial", shards: int = 4) -> int:
    """Kilobytes of resident memory, at most."""
    command = [sys.executable, "-c", PROGRAM, *map(str, (source, out, files, executor, shards))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("executor", ["serial", "local"])
def test_ten_times_the_pictures_take_the_same_memory(tmp_path: Path, executor: str) -> None:
    """Of the process that bakes, and of the one that only directs."""
    few, many = (
        peak(pictures(tmp_path / str(count), count), tmp_path / f"out{count}", executor=executor, shards=max(4, count // 100))
        for count in (MANY // 10, MANY)
    )
    assert many < 1.05 * few


def test_256_descriptors_suffice_for_more_shards(tmp_path: Path) -> None:
    peak(pictures(tmp_path / "source", 400), tmp_path / "out", files=256, executor="local", shards=400)
    assert len(list((tmp_path / "out").glob("shard-*.npy"))) == 400
