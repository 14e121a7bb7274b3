"""Decoding gives Pillow's pixels, upright, as RGB, and says of every bad file what is wrong with it."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pictures import encoded, jpeg, photo, png

from convert.contracts import RejectError
from convert.image.decode import decode, header_size
from convert.source import read_item

HEIGHT, WIDTH = 37, 53
JPEGS = {
    "baseline": jpeg(photo(1, HEIGHT, WIDTH)),
    "progressive": jpeg(photo(2, HEIGHT, WIDTH), progressive=True),
    "optimised": jpeg(photo(3, HEIGHT, WIDTH), optimize=True),
    "4:4:4": jpeg(photo(4, HEIGHT, WIDTH), subsampling="4:4:4"),
    "4:2:2": jpeg(photo(5, HEIGHT, WIDTH), subsampling="4:2:2"),
    "4:2:0": jpeg(photo(6, HEIGHT, WIDTH), subsampling="4:2:0"),
    "grey": jpeg(photo(7, HEIGHT, WIDTH).convert("L")),
    "coarse": jpeg(photo(8, HEIGHT, WIDTH), quality=5),
    "finest": jpeg(photo(9, HEIGHT, WIDTH), quality=100),
    "RGB inside": jpeg(photo(10, HEIGHT, WIDTH), keep_rgb=True),
    "restart markers": jpeg(photo(11, HEIGHT, WIDTH), restart_marker_blocks=2),
    "one pixel": jpeg(photo(12, 1, 1)),
    "CMYK": jpeg(photo(13, HEIGHT, WIDTH).convert("CMYK")),
}
Pixels = npt.NDArray[np.uint8]
UPRIGHT = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: np.rot90(a),
}
"""How the EXIF standard wants stored pixels to be turned for display."""


def pillow(data: bytes) -> Pixels:
    with Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture.convert("RGB"))


def pixels(data: bytes) -> Pixels:
    """What `decode` gives, which is no promise any more: a picture that still has to be read would show here."""
    picture = decode(data)
    assert picture.mode == "RGB"
    assert header_size(data) == (picture.height, picture.width)
    return np.asarray(picture)


def rejected(data: bytes) -> str:
    with pytest.raises(RejectError) as caught:
        decode(data)
    assert caught.value.detail
    return caught.value.reason


def exif(value: object, tag: int = 0x0112) -> bytes:
    fields = Image.Exif()
    fields[tag] = value
    return fields.tobytes()


def with_segment(data: bytes, payload: bytes) -> bytes:
    """A JPEG with one more APP1 segment, in front of all others."""
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(payload) + 2) + payload + data[2:]


def png_chunk(name: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))


def png_header(width: int, height: int) -> bytes:
    """The first bytes of a PNG that claims a size, with hardly any pixels."""
    claim = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + claim + png_chunk(b"IDAT", zlib.compress(bytes(1000))) + png_chunk(b"IEND", b"")


@pytest.mark.parametrize("name", JPEGS)
def test_a_jpeg_has_the_same_pixels_as_in_pillow(name: str) -> None:
    np.testing.assert_array_equal(pixels(JPEGS[name]), pillow(JPEGS[name]), strict=True)


def test_cmyk_is_not_a_negative() -> None:
    original = np.asarray(photo(13, HEIGHT, WIDTH)).astype(int)
    assert np.abs(pixels(JPEGS["CMYK"]) - original).mean() < 4


@pytest.mark.parametrize("format", ["JPEG", "PNG", "TIFF"])
@pytest.mark.parametrize("value", [*UPRIGHT, 0, 9, 65535])
def test_pictures_are_turned_as_exif_says(value: int, format: str) -> None:
    stored = pillow(encoded(photo(1, HEIGHT, WIDTH), format))
    expected = UPRIGHT.get(value, UPRIGHT[1])(stored)  # undefined values count as 1
    np.testing.assert_array_equal(pixels(encoded(photo(1, HEIGHT, WIDTH), format, exif=exif(value))), expected, strict=True)


def test_xmp_turns_a_jpeg_as_it_turns_a_png() -> None:
    """Pillow reads the orientation from XMP where EXIF has none; so must both of our ways to the size, in every format."""
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
    data = with_segment(JPEGS["baseline"], b"http://ns.adobe.com/xap/1.0/\0" + xmp)
    text = png_chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp)
    whole = png(photo(1, HEIGHT, WIDTH))
    assert pixels(data).shape == pixels(whole[:33] + text + whole[33:]).shape


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"II*\0",
        b"XX*\0\x08\0\0\0\0\0",
        b"II*\0\xff\xff\xff\xff",
        b"II*\0\x08\0\0\0\xff\xff" + b"\x12\x01\x03\0\xff\xff\xff\xff\x06\0\0\0",
        b"II*\0\x08\0\0\0\x01\0" + b"\x12\x01\x02\0\x04\0\0\0six\0" + bytes(4),  # the orientation as text
        b"II*\0\x08\0\0\0\x01\0" + b"\x12\x01\x05\0\x01\0\0\0\x08\0\0\0" + bytes(4),  # as a rational, out of the file
        exif((1, 0), 0x011A)[6:],  # a resolution with denominator 0
        exif(6)[6:-8],  # cut inside the only entry
    ],
)
def test_broken_exif_does_not_reject_good_pixels(payload: bytes) -> None:
    np.testing.assert_array_equal(pixels(with_segment(JPEGS["baseline"], b"Exif\0\0" + payload)), pillow(JPEGS["baseline"]))
    whole = png(photo(1, HEIGHT, WIDTH))
    np.testing.assert_array_equal(pixels(whole[:33] + png_chunk(b"eXIf", payload) + whole[33:]), np.asarray(photo(1, HEIGHT, WIDTH)))


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(st.integers(6, 60), st.integers(0, 255)), max_size=6), st.integers(6, 80))
def test_random_exif_turns_pixels_or_leaves_them(changes: list[tuple[int, int]], length: int) -> None:
    payload = bytearray(exif(6))
    for place, byte in changes:
        payload[place % len(payload)] = byte
    seen = pixels(with_segment(JPEGS["baseline"], b"Exif\0\0" + bytes(payload[6:length])))
    stored = pillow(JPEGS["baseline"])
    assert any(np.array_equal(seen, turn(stored)) for turn in UPRIGHT.values())
