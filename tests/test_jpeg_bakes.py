"""What `--encoding jpeg` and `--resize short|long` do besides the usual: bytes that pass through, options, `--like`, what is hard."""

from __future__ import annotations

import io
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import bake
from launch import prebake, refused, rows
from pictures import encoded, jpeg, photo, png, with_segment
from PIL import Image

from convert.contracts import RejectError
from convert.image.bake import KEPT, Bake, Baked
from convert.image.resize import place
from convert.manifest import read_manifest
from convert.recipe import make_recipe
from convert.stored import Stored

DATA = Path(__file__).parent / "data"
TURNED = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
"""Orientation 6."""
UPRIGHT = TURNED.replace(b"\x01\0\x06", b"\x01\0\x01")
ODD = photo(1, 60, 90)


def baked(data: bytes, **asked: Any) -> tuple[Baked, Counter[str]]:
    seen = Counter[str]()
    options = {"size": (64, 64), "resize": "short", "encoding": "jpeg", "passthrough": True, **asked}
    return Bake(make_recipe({name: value for name, value in options.items() if value is not None}))(data, seen), seen


KEEPS = {
    "baseline": jpeg(ODD),
    "progressive": jpeg(ODD, progressive=True),
    "444": jpeg(ODD, subsampling=0),
    "better than asked for": jpeg(ODD, quality=100),
    "upright": with_segment(jpeg(ODD), UPRIGHT),
}
RECODES = {
    "turned": with_segment(jpeg(ODD), TURNED),
    "too large": jpeg(photo(1, 65, 90)),
    "grey": jpeg(ODD.convert("L")),
    "cmyk": jpeg(ODD.convert("CMYK")),
    "png": png(ODD),
    "no end marker": jpeg(ODD)[:-2],
    "rgb inside": jpeg(ODD, keep_rgb=True),
}


@pytest.mark.parametrize("name", KEEPS)
def test_a_file_that_is_what_its_row_is_to_be_is_kept(name: str) -> None:
    made, seen = baked(KEEPS[name])
    assert made.row.tobytes() == KEEPS[name]
    assert seen[KEPT] == 1
    assert (made.size, made.height, made.width) == ((60, 90), 60, 90)
    again, seen = baked(KEEPS[name], passthrough=None)
    assert again.row.tobytes() != KEEPS[name]
    assert not seen[KEPT]


@pytest.mark.parametrize("name", RECODES)
def test_any_other_is_coded(name: str) -> None:
    made, seen = baked(RECODES[name])
    assert not seen[KEPT]
    with Image.open(io.BytesIO(made.row.tobytes())) as picture:
        assert picture.size == made.size[::-1]
        assert picture.mode == "RGB"
        assert not {"exif", "icc_profile", "comment"} & picture.info.keys()


def test_the_row_decides_what_its_picture_must_be() -> None:
    square, grey = jpeg(photo(2, 64, 64)), jpeg(ODD.convert("L"))
    for resize in ("center-crop", "stretch", "pad"):
        assert baked(square, resize=resize)[1][KEPT]
        assert not baked(KEEPS["baseline"], resize=resize)[1][KEPT]
    assert baked(grey, colour="gray")[1][KEPT]
    assert not baked(KEEPS["baseline"], colour="gray")[1][KEPT]
    assert not baked(KEEPS["baseline"], upscale=True)[1][KEPT]
    assert not baked(KEEPS["baseline"], resize="long")[1][KEPT]


def test_nothing_of_the_source_but_its_pixels_is_coded() -> None:
    files = [
        encoded(ODD, "GIF", comment=b"of somebody"),
        with_segment(jpeg(photo(1, 200, 90)), b"of somebody", 0xFE),
        png(ODD, icc_profile=b"of somebody" * 20, exif=UPRIGHT + b"of somebody"),
    ]
    for data in files:
        assert b"somebody" not in baked(data)[0].row.tobytes()


def test_sides() -> None:
    for (height, width), method, upscale, right in [
        ((375, 500), "short", False, (256, 341)),
        ((500, 375), "short", False, (341, 256)),
        ((375, 500), "long", False, (192, 256)),
        ((200, 500), "short", False, (200, 500)),
        ((200, 500), "short", True, (256, 640)),
        ((256, 300), "short", True, (256, 300)),
        ((1, 5000), "long", False, (1, 256)),
        ((100, 200), "long", True, (128, 256)),
    ]:
        assert place(height, width, (256, 256), method, upscale=upscale) == (*right, 0, 0)


def test_pictures_without_end_are_rejected() -> None:
    """A strip of three rows, enlarged to 256; a strip that no JPEG holds."""
    with pytest.raises(RejectError, match=r"too_large.*682666 x 256 pixels once enlarged"):
        baked(png(Image.new("RGB", (8000, 3))), size=(256, 256), upscale=True)
    long = png(Image.new("RGB", (70_000, 2)))
    with pytest.raises(RejectError, match=r"too_large.*70000 x 2 pixels, and a side of a JPEG has at most 65500"):
        baked(long)
    assert baked(long, encoding="raw", passthrough=None, dtype="uint8")[0].row.shape == (2, 70_000, 3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--encoding jpeg --dtype float16", "--dtype float16 does not go with --encoding jpeg"),
        ("--encoding jpeg --dtype uint16", "--dtype uint16 does not go with --encoding jpeg"),
        ("--quality 80", "--quality says how JPEGs are coded: it goes with --encoding jpeg"),
        ("--passthrough", "--passthrough says how JPEGs are coded"),
        ("--resize short --size 20x30", "--resize short keeps a picture's shape: give one side, such as --size 20"),
        ("--upscale", "--upscale goes with --resize short or long"),
    ],
)
def test_what_does_not_go_together(photos: Path, tmp_path: Path, options: str, says: str) -> None:
    done = prebake("memmap", photos, tmp_path / "out", *options.split())
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def test_like_takes_all_of_it(photos: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"size": (50, 50), "resize": "long", "upscale": True, "encoding": "jpeg", "quality": 70, "subsampling": "444"}
    first = bake(photos, tmp_path / "a", **options)
    second = bake(photos, tmp_path / "b", like=tmp_path / "a", dedupe="off")
    names = ("shape", "side", "upscale", "resize", "encoding", "jpeg", "dtype", "mean", "std")
    assert [getattr(first, name) for name in names] == [getattr(second, name) for name in names]
    assert (tmp_path / "a" / "lengths.npy").read_bytes() == (tmp_path / "b" / "lengths.npy").read_bytes()
    for given in (["--quality", "90"], ["--encoding", "raw"], ["--size", "51"]):
        done = prebake("memmap", photos, tmp_path / "c", "--like", tmp_path / "a", *given)
        assert done.returncode == 2
        assert f"{given[0]} contradicts --like" in " ".join(done.stderr.split())
    done = prebake("memmap", photos, tmp_path / "a", "--encoding", "jpeg")
    assert "holds another bake (its resize differs: long, not center-crop)" in refused(done)


def test_statistics_are_those_of_the_stored_jpegs(photos: Path, tmp_path: Path) -> None:
    options = ("--encoding", "jpeg", "--resize", "short", "--size", "40", "--quality", "30", "--json")
    assert prebake("memmap", photos, tmp_path / "out", *options[:-1]).returncode == 0
    source, stored = prebake("stats", photos, *options), prebake("stats", tmp_path / "out", "--json")
    assert (source.returncode, stored.returncode) == (0, 0)
    assert source.stdout == stored.stdout
    assert source.stdout != prebake("stats", photos, "--resize", "short", "--size", "40", "--json").stdout
    assert "at short side 40" in prebake("stats", tmp_path / "out").stdout


def test_the_tables_say_where_points_go(photos: Path, tmp_path: Path) -> None:
    bake(photos, tmp_path / "out", size=(50, 50), resize="short", encoding="jpeg")
    sizes = np.load(tmp_path / "out" / "sizes.npy")
    for line, (height, width) in zip(rows(tmp_path / "out" / "samples.csv"), sizes.tolist(), strict=True):
        assert round(float(line["scale_y"]) * int(line["source_height"])) == height
        assert round(float(line["scale_x"]) * int(line["source_width"])) == width
        assert (line["offset_y"], line["offset_x"]) == ("0", "0")


def test_shards_are_counted_by_what_rows_will_take(photos: Path, tmp_path: Path) -> None:
    kinds: dict[str, Any] = {"raw": {}, "uint8": {"dtype": "uint8"}, "jpeg": {"encoding": "jpeg"}}
    bakes = {name: bake(photos, tmp_path / name, size=(48, 48), resize="short", shard_size=40_000, **kinds[name]) for name in kinds}
    counts = [len(made.shards) for made in bakes.values()]
    assert counts == sorted(set(counts), reverse=True)
    for name, made in bakes.items():
        for shard in made.shards:
            assert shard.bytes < 40_000 * 1.6, name


def test_broken_rows_are_told(photos: Path, tmp_path: Path) -> None:
    manifest = bake(photos, tmp_path / "out", size=(48, 48), resize="short", encoding="jpeg", shards=1)
    begin = int(np.load(tmp_path / "out" / "offsets.npy")[3])
    path = tmp_path / "out" / manifest.shards[0].name
    data = bytearray(path.read_bytes())
    data[begin : begin + 20] = bytes(20)
    path.write_bytes(data)
    done = prebake("stats", tmp_path / "out")
    assert "shard-00000.npy: the JPEG of row 3 is broken" in refused(done)
    assert Stored(tmp_path / "out", manifest).row(4).shape[2] == 3


@pytest.mark.parametrize("options", [{"encoding": "jpeg", "passthrough": True}, {"upscale": True}], ids=str)
def test_hard_pictures(tmp_path: Path, options: dict[str, Any]) -> None:
    """Each row is what the plain bake holds, or what Pillow's JPEG makes of it."""
    with tarfile.open(DATA / "hard_inputs.tar") as tar:
        tar.extractall(tmp_path, filter="fully_trusted")
    asked: dict[str, Any] = {"size": (96, 96), "resize": "long", "max_rejects": "90%", "icc": "srgb"} | options
    plain = {name: value for name, value in asked.items() if name not in ("encoding", "passthrough")}
    made = bake(tmp_path / "imagefolder", tmp_path / "made", **asked)
    raw = bake(tmp_path / "imagefolder", tmp_path / "raw", **plain | {"dtype": "uint8"})
    assert made.count == raw.count > 60
    stored, right, kept = Stored(tmp_path / "made", made), Stored(tmp_path / "raw", raw), 0
    for i in range(made.count):
        levels, whole = made.to_levels(stored.row(i)), right.row(i)
        same = np.array_equal(levels, whole)
        kept += same
        assert same or np.array_equal(levels, np.asarray(Image.open(io.BytesIO(jpeg(Image.fromarray(whole))))))
    assert kept > 10
    assert read_manifest(tmp_path / "made") == made.sealed()
