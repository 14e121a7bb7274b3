"""A manifest holds nothing of where, when or by how many the bake was made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from conftest import bake
from pictures import image_folder

from convert.manifest import MANIFEST


def test_nothing_of_the_place_the_time_or_the_workers(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "one" / "source", {"cat": 40, "dog": 40})
    shutil.copytree(source, tmp_path / "two" / "deeper" / "pictures")
    os.utime(tmp_path / "two" / "deeper" / "pictures" / "cat" / "0000.jpg", (1, 1))
    bake(source, tmp_path / "one" / "out", size=(16, 16), preview=True)
    bake(tmp_path / "two" / "deeper" / "pictures", tmp_path / "elsewhere", size=(16, 16), preview=True, workers=2, executor="local")
    text = (tmp_path / "one" / "out" / MANIFEST).read_text()
    assert (tmp_path / "elsewhere" / MANIFEST).read_text() == text
    assert str(tmp_path) not in text
    assert os.uname().nodename not in text
