"""Very large and very thin pictures: the memory that they take is bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from launch import ROOT, prebake
from pictures import photo, png
from PIL import Image

from convert.image.bake import Bake
from convert.image.resize import LARGEST, Placement, fit, place
from convert.recipe import make_recipe

GIB = 1 << 20
"""In kilobytes."""
PEAK = """
import sys
from pathlib import Path
from convert.contracts import RejectError
from convert.image.bake import Bake
from convert.recipe import make_recipe
bake = Bake(make_recipe({"size": (224, 224), **eval(sys.argv[2])}))
try:
    row = bake(Path(sys.argv[1]).read_bytes()).row
    print("baked", row.shape, float(row.mean()))
except RejectError as error:
    print(error.reason, error.detail)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def peak(path: Path, **options: object) -> tuple[str, int]:
    """What became of a picture in a process of its own, and the most memory that it took, in kB."""
    done = subprocess.run([sys.executable, "-c", PEAK, str(path), repr(options)], cwd=ROOT, capture_output=True, text=True, check=True)
    said, kilobytes = done.stdout.splitlines()
    return said, int(kilobytes)


@pytest.mark.parametrize("kind", ["jpg", "no-end.jpg", "1.png", "L.png", "RGB.png", "RGBA.png", "P.png", "I16.png"])
def test_a_picture_of_85_million_pixels_takes_less_than_1_gib(kind: str, tmp_path: Path) -> None:
    mode = kind.split(".")[0]
    side = (9200, 9240)
    if mode == "I16":
        picture = Image.fromarray(np.full(side, 30000, np.uint16))
    elif mode == "P":
        picture = Image.new("P", side[::-1], 3)
        picture.info["transparency"] = bytes(range(256))
    else:
        picture = Image.new("RGB" if "jpg" in kind else mode, side[::-1], 1 if len(mode) == 1 else (200, 100, 50))
    path = tmp_path / kind
    picture.save(path, "JPEG" if "jpg" in kind else "PNG")
    if kind == "no-end.jpg":
        path.write_bytes(path.read_bytes()[:-2])
    said, kilobytes = peak(path, exact=True)
    assert said.startswith("baked (224, 224, 3)")
    assert kilobytes < GIB


def test_more_pixels_than_allowed_are_refused_by_the_header(tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    Image.new("L", (10_000, 9_000)).save(path)
    said, kilobytes = peak(path)
    assert said.startswith("too_large 10000 x 9000 pixels, --max-pixels is 89478485")
    assert kilobytes < GIB // 4
    said, _ = peak(path, max_pixels=90_000_000)
    assert said.startswith("baked")


def test_the_limit_is_an_option_and_leaves_pillows_own_alone(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    for side in (20, 30):
        (tmp_path / "source" / f"{side}.png").write_bytes(png(photo(0, side, side)))
    done = prebake("memmap", tmp_path / "source", tmp_path / "out", "--size", "8", "--max-pixels", "400")
    assert done.returncode == 0, done.stderr
    assert "rejected, see rejects.csv: too_large 1" in done.stdout
    assert '30.png,too_large,"30 x 30 pixels, --max-pixels is 400"' in (tmp_path / "out" / "rejects.csv").read_text()


@pytest.mark.parametrize("shape", [(3, 4000), (4000, 3), (1, 300), (300, 1), (1, 20_000)])
@pytest.mark.parametrize("resize", ["center-crop", "pad", "stretch"])
def test_thin_pictures_fill_a_row(shape: tuple[int, int], resize: str) -> None:
    bake = Bake(make_recipe({"size": (256, 256), "dtype": "uint8", "resize": resize}))
    row = bake(png(Image.new("RGB", shape[::-1], (30, 140, 220)))).row
    assert row.shape == (256, 256, 3)
    inside = row[128, 128] if resize != "pad" else row[row.any(axis=2)]
    assert np.abs(inside.astype(int) - (30, 140, 220)).max() == 0


def test_thin_pictures_take_little_memory(tmp_path: Path) -> None:
    Image.new("RGB", (20_000, 1), (30, 140, 220)).save(tmp_path / "thin.png")  # 5,120,000 pixels wide if it covered 256 x 256 at once
    said, kilobytes = peak(tmp_path / "thin.png")
    assert said.startswith("baked")
    assert kilobytes < GIB // 4


@pytest.mark.parametrize("name", ["bilinear", "bicubic", "lanczos"])
def test_a_part_is_resized_as_the_whole_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = photo(2, 60, 900)
    at: Placement = place(60, 900, (48, 64), "center-crop")
    assert at.height * at.width < LARGEST
    whole = np.asarray(fit(picture, at, (48, 64), name)).astype(int)
    monkeypatch.setattr("convert.image.resize.LARGEST", 0)
    part = np.asarray(fit(picture, at, (48, 64), name)).astype(int)
    assert np.abs(part - whole).max() <= 1
