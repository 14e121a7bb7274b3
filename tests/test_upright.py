"""Pictures are turned the way their EXIF says, and broken EXIF never costs a good picture."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import encoded, jpeg, photo, png, with_chunk, with_segment
from PIL import Image

from convert.image.decode import decode, header_size

Pixels = npt.NDArray[np.uint8]
TURNS: dict[int, Callable[[Pixels], Pixels]] = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: np.rot90(a),
}
"""What the EXIF standard wants done to stored pixels before they are shown."""
ORIENTATION = 0x0112
ENTRY = b"\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"
"""Orientation, one short, 6."""


def probe() -> Image.Image:
    return photo(1, 37, 53)


def exif(value: int) -> bytes:
    fields = Image.Exif()
    fields[ORIENTATION] = value
    return fields.tobytes()


def stored(data: bytes) -> Pixels:
    """The pixels as they lie in the file, by Pillow."""
    with Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture.convert("RGB"))


def pixels(data: bytes) -> Pixels:
    picture = decode(data).picture
    assert header_size(data) == (picture.height, picture.width)
    return np.asarray(picture)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
@pytest.mark.parametrize("value", [*TURNS, 0, 9, 65535])
def test_a_picture_is_turned_as_its_exif_says(value: int, kind: str) -> None:
    options: dict[str, Any] = {"quality": 90} if kind == "JPEG" else {}
    plain = stored(encoded(probe(), kind, **options))
    expected = TURNS.get(value, TURNS[1])(plain)  # undefined values count as 1
    np.testing.assert_array_equal(pixels(encoded(probe(), kind, exif=exif(value), **options)), expected, strict=True)


@pytest.mark.parametrize("options", [{"progressive": True}, {"subsampling": "4:4:4"}])
def test_other_jpegs_are_turned_too(options: dict[str, Any]) -> None:
    data = jpeg(probe(), exif=exif(6), **options)
    np.testing.assert_array_equal(pixels(data), np.rot90(stored(data), -1), strict=True)
    grey = jpeg(probe().convert("L"), exif=exif(8), **options)
    np.testing.assert_array_equal(pixels(grey), np.rot90(stored(grey)), strict=True)


@pytest.mark.parametrize("mode", ["CMYK", "L"])
def test_a_jpeg_without_its_end_marker_is_turned_too(mode: str) -> None:
    whole = jpeg(probe().convert(mode), exif=exif(6))
    np.testing.assert_array_equal(pixels(whole[:-2]), np.rot90(stored(whole), -1), strict=True)


def test_xmp_means_the_same_in_a_jpeg_and_in_a_png() -> None:
    """Where EXIF has no orientation, Pillow takes one from XMP: header and pixels must agree about it, in every format."""
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
    sideways_jpeg = with_segment(jpeg(probe()), b"http://ns.adobe.com/xap/1.0/\0" + xmp)
    sideways_png = with_chunk(png(probe()), b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp)
    assert pixels(sideways_jpeg).shape == pixels(sideways_png).shape


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"II*\0",
        b"XX*\0\x08\0\0\0\x01\0" + ENTRY + bytes(4),
        b"II*\0\xff\xff\xff\xff",
        b"II*\0\x08\0\0\0\x01\0" + ENTRY[:7],
        b"II*\0\x08\0\0\0\x01\0" + b"\x12\x01\x02\0\x04\0\0\0six\0" + bytes(4),  # as text
        b"II*\0\x08\0\0\0\x01\0" + b"\x12\x01\x05\0\x01\0\0\0\xf0\xff\xff\x7f" + bytes(4),  # as a fraction outside of the file
        b"II*\0\x08\0\0\0\x01\0" + b"\x12\x01\x05\0\x01\0\0\0\x1a\0\0\0" + bytes(12),  # as 0/0
        b"II*\0\x08\0\0\0\x01\0" + b"\x12\x01\x03\0\xff\xff\xff\x7f\x06\0\0\0" + bytes(4),  # two thousand million of them
        b"II*\0\x08\0\0\0\x01\0" + b"\x12\x01\x03\0\0\0\0\0\x06\0\0\0" + bytes(4),  # none of them
    ],
)
def test_broken_exif_does_not_cost_a_good_picture(payload: bytes) -> None:
    whole = jpeg(probe())
    np.testing.assert_array_equal(pixels(with_segment(whole, b"Exif\0\0" + payload)), stored(whole), strict=True)
    np.testing.assert_array_equal(pixels(with_chunk(png(probe()), b"eXIf", payload)), np.asarray(probe()), strict=True)


def test_a_broken_neighbour_does_not_hide_the_orientation() -> None:
    neighbour = b"\x1a\x01\x05\0\x01\0\0\0\xf0\xff\xff\x7f"  # the resolution, outside of the file
    whole = jpeg(probe())
    data = with_segment(whole, b"Exif\0\0II*\0\x08\0\0\0\x02\0" + ENTRY + neighbour + bytes(4))
    np.testing.assert_array_equal(pixels(data), np.rot90(stored(whole), -1), strict=True)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 255)), max_size=6), st.integers(0, 40))
def test_random_exif_turns_pixels_or_leaves_them(changes: list[tuple[int, int]], length: int) -> None:
    payload = bytearray(b"II*\0\x08\0\0\0\x01\0" + ENTRY + bytes(4))
    for place, byte in changes:
        payload[place % len(payload)] = byte
    whole = jpeg(photo(2, 5, 9))
    seen = pixels(with_segment(whole, b"Exif\0\0" + bytes(payload[:length])))
    assert any(np.array_equal(seen, turn(stored(whole))) for turn in TURNS.values())
