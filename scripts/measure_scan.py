"""Measures how fast a folder of a million files is scanned, and how much memory that takes, in fresh processes."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ENTRIES = 1_000_000
SCAN = """
import sys, time
from pathlib import Path
from convert.source import scan
began = time.perf_counter()
assert len(scan(Path(sys.argv[1])).keys) == int(sys.argv[2])
print(time.perf_counter() - began)
"""
PEAK = """
import sys, tracemalloc
from pathlib import Path
from convert.source import scan
tracemalloc.start()
source = scan(Path(sys.argv[1]))
print(tracemalloc.get_traced_memory()[1])
"""


def make_entries(folder: Path) -> Path:
    """A flat folder of a million empty files, with names as in ImageNet's validation part, made in no order."""
    folder.mkdir()
    for number in range(ENTRIES):
        name = f"ILSVRC2012_val_{number * 7919 % ENTRIES:08d}.JPEG"
        os.close(os.open(folder / name, os.O_CREAT | os.O_WRONLY))
    return folder


def _fresh(code: str, *args: object) -> float:
    """The number that a program prints in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code, *map(str, args)], check=True, capture_output=True, text=True)
    return float(done.stdout)


def measure(work: Path, rounds: int) -> dict[str, object]:
    """Files per second, median; and bytes for each file at the peak, as Python and NumPy count them."""
    folder = make_entries(work / "entries")
    try:
        seconds = statistics.median(_fresh(SCAN, folder, ENTRIES) for _ in range(rounds))
        return {"scan_files_per_s": ENTRIES / seconds, "scan_bytes_per_file": _fresh(PEAK, folder) / ENTRIES}
    finally:
        shutil.rmtree(folder)
