"""10,000 mutated pictures: each is baked or has a reason, within seconds, in less than 1 GiB, and the interpreter lives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from launch import ROOT
from PIL import features

REASONS = {"empty", "not_an_image", "unsupported_format", "truncated", "corrupt", "too_large"}
PROGRAM = """
import sys, time
sys.path.insert(0, "tests")
import numpy as np
from collections import Counter
from pictures import encoded, photo
from convert.contracts import RejectError
from convert.image.bake import Bake
from convert.image.code import decode_row
from convert.recipe import make_recipe

kind, count = sys.argv[1], int(sys.argv[2])
grey = photo(1, 40, 56).convert("L")
seeds = {
    "JPEG": [encoded(photo(0, 48, 64), "JPEG", **options) for options in
             ({}, {"progressive": True}, {"subsampling": 0}, {"restart_marker_rows": 1}, {"optimize": True})]
            + [encoded(grey, "JPEG"), encoded(photo(2, 40, 40).convert("CMYK"), "JPEG")],
    "PNG": [encoded(photo(0, 48, 64), "PNG"), encoded(grey, "PNG"), encoded(photo(1, 40, 40).quantize(16), "PNG", transparency=3),
            encoded(photo(3, 40, 40).convert("RGBA"), "PNG"),
            encoded(photo(4, 40, 40), "PNG", save_all=True, append_images=[photo(5, 40, 40)])],
    "WEBP": lambda: [encoded(photo(0, 48, 64), "WEBP"), encoded(photo(0, 48, 64), "WEBP", lossless=True),
                     encoded(photo(3, 40, 40).convert("RGBA"), "WEBP")],
    "TIFF": [encoded(photo(0, 48, 64), "TIFF"), encoded(grey, "TIFF")],
    "GIF": [encoded(photo(0, 48, 64).quantize(32), "GIF")],
    "BMP": [encoded(photo(0, 48, 64), "BMP")],
}[kind]
seeds = seeds() if callable(seeds) else seeds
random = np.random.default_rng(20)
bakes = [Bake(make_recipe({"size": (32, 32), **options})) for options in ({}, {"dtype": "uint16"}, {"colour": "gray", "alpha": "drop"})]
bakes.append(Bake(make_recipe({"size": (64, 64), "resize": "long", "encoding": "jpeg", "passthrough": True})))
ends, slowest = Counter(), 0.0
for number in range(count):
    data = bytearray(seeds[number % len(seeds)])
    for _ in range(int(random.integers(1, 6))):
        place = int(random.integers(len(data))) if random.random() < 0.6 else int(random.integers(min(64, len(data))))
        what = random.integers(5)
        if what == 0:
            data[place] ^= 1 << int(random.integers(8))
        elif what == 1:
            data[place] = int(random.choice([0, 1, 127, 128, 255]))
        elif what == 2:
            del data[place : place + int(random.integers(1, 40))]
        elif what == 3:
            data[place:place] = data[place : place + int(random.integers(1, 40))]
        else:
            del data[place:]
        if not data:
            break
    began = time.perf_counter()
    try:
        made = bakes[number // len(seeds) % len(bakes)](bytes(data))
        shape = made.row.shape if made.row.ndim == 3 else decode_row(made.row, 3).shape  # what was kept is good in any reader
        assert shape[:2] == made.size
        assert made.row.ndim == 1 or made.size == (32, 32)
        ends["baked"] += 1
    except RejectError as error:
        assert error.detail
        ends[error.reason] += 1
    slowest = max(slowest, time.perf_counter() - began)
print(dict(ends))
print(slowest)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


@pytest.mark.parametrize(("kind", "count"), [("JPEG", 5000), ("PNG", 4000), ("WEBP", 1000), ("TIFF", 400), ("GIF", 300), ("BMP", 300)])
def test_mutated_files_are_baked_or_have_a_reason(kind: str, count: int, tmp_path: Path) -> None:
    if kind == "WEBP" and not features.check("webp"):
        pytest.skip("this Pillow writes no WebP")
    (tmp_path / "fuzz.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "fuzz.py"), kind, str(count)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said, slowest, kilobytes = done.stdout.splitlines()
    ends = dict(eval(said))
    assert sum(ends.values()) == count
    assert set(ends) - {"baked"} <= REASONS
    assert len(ends) > 2
    assert float(slowest) < 60  # no hang
    assert int(kilobytes) < 1 << 20
