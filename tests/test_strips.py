"""Pictures are made in the calling thread: with the same numbers, and also in a fork whose parent has used OpenMP, where that hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import bake
from launch import ROOT

PROGRAM = """
import os, signal, sys, warnings
import numpy as np, torch
from readers import RandomCrop, RandomErasing, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip, open_dataset
from readers.streaming import Stream

FLIPS = [RandomHorizontalFlip(), RandomVerticalFlip()]
AUGMENTS = [
    [], [RandomCrop(190)], [RandomCrop(190), *FLIPS], [RandomCrop(199, padding=8), *FLIPS],
    [RandomResizedCrop(200, scale=(0.8, 1)), *FLIPS], [RandomErasing(1, scale=(0.3, 0.33))], [RandomErasing(1, value="random")],
]
OPTIONS = [{}, {"dtype": torch.float16}, {"dtype": torch.bfloat16}, {"pixels": "uint8"}, {"pixels": "unit"}, {"mean": (0.5,) * 3}]

def made():
    for path in sys.argv[1:]:
        for io in ("mmap", "pread"):
            for augment in AUGMENTS:
                for options in OPTIONS:
                    if options.get("pixels") == "uint8" and any(isinstance(step, RandomErasing) for step in augment):
                        continue
                    dataset = open_dataset(path, augment=augment, io=io, **options)
                    torch.manual_seed(1)
                    yield dataset[1][0]
                    yield dataset.__getitems__([2, 0, 3]).batch[0]
        yield torch.from_numpy(dataset.image(1))
        yield open_dataset(path, transform=lambda picture: torch.from_numpy(np.array(picture)))[1][0]
        yield next(iter(Stream(path)))[0]

def bits(tensor):
    whole = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
    return whole.numpy().tobytes()  # compared by NumPy, as torch.equal uses threads

def tasks():
    return len(os.listdir("/proc/self/task"))

warnings.simplefilter("ignore")
torch.set_num_threads(4)
before = tasks()
for _ in made():
    pass
assert tasks() == before, "a picture is made by OpenMP's threads"
torch.ones(1 << 22).add_(1)
assert tasks() > before, "this torch has no OpenMP: the test shows nothing"
torch.set_num_threads(1)
expected = [tensor.clone() for tensor in made()]
torch.set_num_threads(4)
child = os.fork()
if not child:
    signal.alarm(60)
    os._exit(0 if all(bits(a) == bits(b) for a, b in zip(made(), expected, strict=True)) else 3)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert status == 0, status
"""


def test_a_picture_needs_no_other_thread(photos: Path, tmp_path: Path) -> None:
    paths = [tmp_path / "float16", tmp_path / "uint8"]
    for path in paths:
        bake(photos, path, "webdataset", size=(200, 200), dtype=path.name)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *paths], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
