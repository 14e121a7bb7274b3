"""What becomes of crops when a user's own worker_init_fn seeds torch: said, not silent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import bake
from launch import prebake

SCRIPT = """
import sys, numpy, random, torch
from torch.utils.data import DataLoader
from readers import RandomCrop, open_dataset

def torch_too(worker):
    torch.manual_seed(worker)

def others(worker):
    numpy.random.seed(torch.initial_seed() % 2**32)
    random.seed(worker)

out, init, persistent = sys.argv[1:]
dataset = open_dataset(out, augment=[RandomCrop(40)]).subset([0] * 16)
init = {"none": None, "torch": torch_too, "others": others}[init]
loader = DataLoader(dataset, 4, num_workers=2, worker_init_fn=init, persistent_workers=persistent == "True")
first, second = (torch.cat([images for images, _ in loader]) for _ in range(2))
print("frozen" if torch.equal(first, second) else "new")
"""


@pytest.mark.parametrize(
    ("init", "persistent", "said", "warned"),
    [
        ("none", False, "new", 0),
        ("others", False, "new", 0),
        ("torch", False, "frozen", 2),
        ("torch", True, "new", 1),
    ],
)
def test_a_worker_that_was_seeded_says_so(photos: Path, tmp_path: Path, *, init: str, persistent: bool, said: str, warned: int) -> None:
    bake(photos, tmp_path / "out", size=(48, 48))
    (tmp_path / "script.py").write_text(SCRIPT)
    done = prebake(tmp_path / "script.py", tmp_path / "out", init, persistent, command=(sys.executable,))
    assert (done.returncode, done.stdout) == (0, said + "\n"), done.stderr
    assert done.stderr.count("UserWarning: worker_init_fn has seeded torch") == warned
    assert warned or not done.stderr
