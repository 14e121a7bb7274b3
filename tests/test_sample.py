"""The sample that make bakes when no data is given: the same bytes each time, and real pictures in ten classes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from PIL import Image

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "make_sample.py"


def _draw(folder: Path) -> str:
    done = subprocess.run([sys.executable, str(SCRIPT), str(folder), "--count", "20"], check=True, capture_output=True, text=True)
    return done.stderr


def test_the_sample_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    _draw(first)
    _draw(second)
    names = sorted(path.relative_to(first) for path in first.rglob("*.jpg"))
    assert len(names) == 20
    assert len({name.parts[0] for name in names}) == 10
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes()
        with Image.open(first / name) as picture:
            assert min(picture.size) >= 256
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert "nothing done" in _draw(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
