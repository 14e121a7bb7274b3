"""Rows that a file says it has and does not hold, orientation in odd places, 16 bits in colours: other formats than JPEG."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from typing import Any

import numpy as np
import pytest
from pictures import encoded, jpeg, photo, png, png_chunk, raw_png, with_chunk, with_segment
from PIL import Image, features

from convert.contracts import RejectError
from convert.image.decode import decode
from convert.image.depth import DARK
from convert.manifest import Decoding

PICTURE = photo(2, 60, 80)
EXIF = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
"""Orientation 6."""


def rejected(data: bytes, **how: Any) -> tuple[str, str]:
    with pytest.raises(RejectError) as caught:
        decode(data, **how)
    return caught.value.reason, caught.value.detail


def lines(levels: np.ndarray[Any, Any]) -> bytes:
    return b"".join(b"\0" + line.tobytes() for line in levels)


def test_a_png_with_half_of_its_rows_is_truncated() -> None:
    levels = np.asarray(PICTURE)
    whole = raw_png(lines(levels), (80, 60), 8, 2)
    np.testing.assert_array_equal(np.asarray(decode(whole).picture), levels)
    assert rejected(raw_png(lines(levels[:30]), (80, 60), 8, 2))[0] == "truncated"
    black = np.zeros_like(levels)
    np.testing.assert_array_equal(np.asarray(decode(raw_png(lines(black), (80, 60), 8, 2)).picture), black)


def test_black_pngs_of_every_kind_are_whole() -> None:
    for mode in ("1", "L", "P", "LA", "RGB", "RGBA", "I;16"):
        for size in ((1, 1), (7, 3), (33, 18)):
            picture = Image.fromarray(np.zeros(size[::-1], np.uint16)) if mode == "I;16" else Image.new(mode, size)
            decode(png(picture))
            decode(png(picture, bits=1) if mode == "P" else png(picture))


def test_a_tiff_without_all_of_its_strips_is_truncated() -> None:
    whole = bytearray(encoded(PICTURE, "TIFF"))
    directory = struct.unpack("<I", whole[4:8])[0]
    places = {struct.unpack("<H", whole[at : at + 2])[0]: at for at in range(directory + 2, directory + 2 + 12 * whole[directory], 12)}
    for tag, value in ((257, 120), (278, 60)):  # twice the height, in strips of half of it
        struct.pack_into("<HHII", whole, places[tag], tag, 4, 1, value)
    assert rejected(bytes(whole))[0] == "truncated"


def test_a_tiff_cut_before_its_directory_is_truncated() -> None:
    data = encoded(PICTURE, "TIFF")
    moved = data[:4] + struct.pack("<I", len(data) + 1000) + data[8:]
    assert rejected(moved)[0] == "truncated"


def test_exif_of_a_png_counts_wherever_it_lies() -> None:
    right = np.asarray(PICTURE.transpose(Image.Transpose.ROTATE_270))
    plain = png(PICTURE)
    behind = plain[:-12] + png_chunk(b"eXIf", EXIF) + plain[-12:]
    text = f"\nexif\n{len(EXIF) + 6:8d}\n{(b'Exif' + bytes(2) + EXIF).hex()}\n"
    magick = with_chunk(plain, b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(text.encode()))
    for data in (with_chunk(plain, b"eXIf", EXIF), behind, magick):
        seen = Counter[str]()
        decoded = decode(data, seen)
        np.testing.assert_array_equal(np.asarray(decoded.picture), right)
        assert (decoded.height, decoded.width) == (80, 60)
        assert seen["turned upright"] == 1


def test_broken_exif_is_counted() -> None:
    seen = Counter[str]()
    decode(with_segment(jpeg(PICTURE), b"Exif\0\0broken"), seen)
    assert seen["EXIF broken, ignored"] == 1


def test_16_bits_in_colours_are_counted_warned_of_and_not_kept() -> None:
    levels = np.random.default_rng(0).integers(0, 4096, (20, 30, 3)).astype(">u2")
    rgb, grey_alpha = raw_png(lines(levels), (30, 20), 16, 2), raw_png(lines(levels[:, :, :2]), (30, 20), 16, 4)
    for data in (rgb, grey_alpha):
        seen = Counter[str]()
        decode(data, seen)
        assert (seen["16-bit colour read with 8"], seen[DARK]) == (1, 1)
        assert rejected(data, mode="F")[0] == "unsupported_format"
    seen = Counter[str]()
    decode(raw_png(lines(levels * 16), (30, 20), 16, 2), seen)
    assert seen[DARK] == 0


def test_a_transparent_level_of_16_bits_is_laid_over() -> None:
    levels = np.random.default_rng(1).integers(0, 65536, (20, 30)).astype(np.uint16)
    levels[:5] = 1234
    data = with_chunk(png(Image.fromarray(levels)), b"tRNS", struct.pack(">H", 1234))
    for alpha, level in (("white", 255), ("black", 0), ("drop", 5)):
        made = np.asarray(decode(data, decoding=Decoding(alpha=alpha)).picture)
        assert set(made[:5].ravel().tolist()) == {level}


def test_white_is_zero_is_turned_round() -> None:
    levels = np.random.default_rng(2).integers(0, 65536, (20, 30)).astype(np.uint16)
    data = encoded(Image.fromarray(levels), "TIFF", tiffinfo={262: 0})
    made = np.asarray(decode(data).picture)[:, :, 0]
    assert np.abs(made - (65535 - levels.astype(float)) * 255 / 65535).max() <= 0.51


@pytest.mark.skipif(not features.check("webp"), reason="this Pillow writes no WebP")
@pytest.mark.parametrize("options", [{}, {"lossless": True}], ids=str)
def test_a_webp_with_zeros_in_its_second_half_is_corrupt(options: dict[str, Any]) -> None:
    data = encoded(photo(3, 200, 300), "WEBP", **options)
    decode(data)
    assert rejected(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))[0] == "corrupt"
    for level in (0, 255):
        decode(encoded(Image.new("RGB", (500, 400), (level, level, level)), "WEBP", **options))


@pytest.mark.skipif(not features.check("littlecms2"), reason="this Pillow has no littlecms")
def test_a_profile_is_known_by_what_it_does_not_by_its_name() -> None:
    from PIL import ImageCms

    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    seen = Counter[str]()
    levels = np.asarray(decode(png(PICTURE, icc_profile=srgb), seen).picture)
    np.testing.assert_array_equal(levels, np.asarray(PICTURE))
    assert seen["ICC profile converted"] == 0
    cmyk = Counter[str]()
    decode(encoded(PICTURE.convert("CMYK"), "JPEG", icc_profile=srgb), cmyk)
    assert cmyk["ICC profile not for these colours, ignored"] == 1
