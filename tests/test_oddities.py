"""Phone pictures and other files with harmless oddities are accepted, and counted by kind."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from launch import prebake
from pictures import encoded, jpeg, photo, png, with_segment
from PIL import Image

from convert.image.decode import decode
from convert.image.jpeg import decode_strict

PICTURE = photo(11, 96, 128)


def samsung(data: bytes) -> bytes:
    """Its parameters of a sequential scan are 0, 0, 0 where 0, 63, 0 should be."""
    scan = data.index(b"\xff\xda")
    place = scan + 5 + 2 * data[scan + 4]
    assert data[place : place + 3] == b"\0\x3f\0"
    return data[:place] + b"\0\0\0" + data[place + 3 :]


def jfif_2(data: bytes) -> bytes:
    place = data.index(b"JFIF\0") + 5
    return data[:place] + b"\2\1" + data[place + 2 :]


ODD: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "no end marker": ("JPEG without an end marker", lambda data: data[:-2]),
    "half an end marker": ("JPEG without an end marker", lambda data: data[:-1]),
    "stray bytes": ("JPEG with stray bytes before a marker", lambda data: data.replace(b"\xff\xda", b"\1\2\3\xff\xda", 1)),
    "zeros before a segment": ("JPEG with stray bytes before a marker", lambda data: data.replace(b"\xff\xdb", bytes(7) + b"\xff\xdb", 1)),
    "Samsung": ("JPEG with invalid SOS parameters", samsung),
    "JFIF 2": ("JPEG with an unknown JFIF version", jfif_2),
}


@pytest.mark.parametrize("options", [{}, {"subsampling": 0}, {"restart_marker_rows": 1}, {"optimize": True}], ids=str)
@pytest.mark.parametrize("name", ODD)
def test_a_harmless_defect_is_accepted_and_counted_by_kind(name: str, options: dict[str, int]) -> None:
    kind, spoil = ODD[name]
    whole = jpeg(PICTURE, **options)
    seen = Counter[str]()
    picture = decode(spoil(whole), seen).picture
    assert +seen == Counter({kind: 1})
    np.testing.assert_array_equal(np.asarray(picture), np.asarray(Image.open(io.BytesIO(whole))))


VENDOR: dict[str, bytes] = {
    "Samsung trailer": jpeg(PICTURE) + b"\0\0\1\n\x0e\0\0\0Image_UTC_Data1700000000000SEFHe\0\0\0\1\0\0\0$\0\0\0SEFT",
    "motion photo": jpeg(PICTURE) + b"\0\0\0\x18ftypmp42\0\0\0\0isommp42" + bytes(5000),
    "thumbnail in EXIF": with_segment(jpeg(PICTURE), b"Exif\0\0" + jpeg(PICTURE.resize((40, 30)))),
    "maker note of 60 kB": with_segment(jpeg(PICTURE), b"Exif\0\0II*\0\x08\0\0\0" + bytes(60_000)),
    "two APP1 and XMP": with_segment(with_segment(jpeg(PICTURE), b"http://ns.adobe.com/xap/1.0/\0<x/>"), b"Exif\0\0broken"),
    "empty comment": with_segment(jpeg(PICTURE), b"", 0xFE),
    "fill bytes before a marker": jpeg(PICTURE).replace(b"\xff\xdb", b"\xff\xff\xff\xdb", 1),
    "second picture behind": jpeg(PICTURE) + jpeg(PICTURE.resize((64, 48))),
    "MPO": encoded(PICTURE, "MPO", save_all=True, append_images=[PICTURE.resize((64, 48))], quality=90),
    "restart markers": jpeg(PICTURE, restart_marker_blocks=3),
    "progressive": jpeg(PICTURE, progressive=True),
}


@pytest.mark.parametrize("name", VENDOR)
def test_what_phones_write_is_accepted_without_a_second_look(name: str) -> None:
    data = VENDOR[name]
    right = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    assert right.shape == (96, 128, 3)
    np.testing.assert_array_equal(np.asarray(decode(data).picture), right)
    assert decode_strict(data) is not None


def test_the_summary_counts_by_kind_and_by_what_names_hide(tmp_path: Path) -> None:
    source = tmp_path / "source" / "class"
    source.mkdir(parents=True)
    whole = jpeg(PICTURE)
    files = {
        "a.JPEG": png(PICTURE),
        "b.png": whole,
        "c.jpg": samsung(whole),
        "d.jpg": whole[:-2],
        "e.jpg": jpeg(PICTURE.convert("CMYK")),
        "f.gif": encoded(PICTURE.quantize(8), "GIF", save_all=True, append_images=[PICTURE.rotate(90).quantize(8)]),
        "g.jpg": with_segment(whole, b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0\0\0\0\0"),
        "h.mpo": encoded(PICTURE, "MPO"),
    }
    for name, data in files.items():
        (source / name).write_bytes(data)
    done = prebake("memmap", tmp_path / "source", tmp_path / "out", "--size", "32", "--no-preview")
    assert (done.returncode, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    for text in (
        "PNG named .JPEG 1",
        "JPEG named .png 1",
        "JPEG with invalid SOS parameters 1",
        "JPEG without an end marker 1",
        "CMYK 1",
        "first of several frames 1",
        "turned upright 1",
    ):
        assert text in said, text
    assert "named .mpo" not in said
    assert "named .jpg" not in said
