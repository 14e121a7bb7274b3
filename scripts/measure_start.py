"""Measures how soon things begin: the command line's help, and opening a data set of a million rows, in fresh processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from convert.manifest import MANIFEST, Decoding, Keys, Manifest, Shard, SideFile, Target

ROWS, SHARDS, SIDE = 1_000_000, 250, 2
OPEN = """
import sys, time
import readers
began = time.perf_counter()
dataset = readers.open_dataset(sys.argv[1])
assert len(dataset) == 1_000_000
print(time.perf_counter() - began)
"""


def make_million(folder: Path) -> Path:
    """A memmap bake of a million made-up pictures of 2 x 2."""
    folder.mkdir()
    count = ROWS // SHARDS
    shards = []
    for number in range(SHARDS):
        path = folder / f"shard-{number:05d}.npy"
        np.save(path, np.full((count, SIDE, SIDE, 3), number % 256, np.uint8))
        shards.append(Shard(path.name, count, path.stat().st_size, "", 128, SIDE * SIDE * 3))
    np.save(folder / "targets.npy", np.arange(ROWS, dtype=np.int64) % 1000)
    Keys.make(f"n{label % 1000:08d}/n{label % 1000:08d}_{label}.JPEG" for label in range(ROWS)).save(folder)
    files = tuple(SideFile(name, (folder / name).stat().st_size, "") for name in ("keys.bin", "keys.npy", "targets.npy"))
    manifest = Manifest(
        schema=1,
        format="memmap",
        options={},
        encoding="raw",
        jpeg=None,
        count=ROWS,
        shape=(SIDE, SIDE, 3),
        dtype="uint8",
        layout="HWC",
        colour="RGB",
        decoding=Decoding(),
        mean=(0.5, 0.5, 0.5),
        std=(0.5, 0.5, 0.5),
        normalized=False,
        resize="stretch",
        side=None,
        upscale=False,
        filter="bilinear",
        target=Target("class", 1),
        classes=tuple(f"n{label:08d}" for label in range(1000)),
        order="source",
        seed=0,
        source="",
        pillow={},
        plan="",
        shards=tuple(shards),
        files=files,
    )
    (folder / MANIFEST).write_text(manifest.to_json(), "utf-8")
    return folder


def measure(work: Path, rounds: int) -> dict[str, object]:
    """Seconds, medians over fresh processes."""
    help_s, open_s = [], []
    million = make_million(work / "million")
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "convert", "--help"], check=True, capture_output=True)
        help_s.append(time.perf_counter() - began)
        done = subprocess.run([sys.executable, "-c", OPEN, str(million)], check=True, capture_output=True, text=True)
        open_s.append(float(done.stdout))
    return {"help_s": statistics.median(help_s), "open_million_s": statistics.median(open_s)}
