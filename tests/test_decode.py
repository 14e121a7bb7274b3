"""Decoding gives Pillow's pixels, and says of every bad file what is wrong with it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from pictures import encoded, jpeg, photo, raw_png
from PIL import Image

from convert.contracts import RejectError
from convert.image.decode import decode, header_size
from convert.reading import read_item

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
    "CMYK": jpeg(photo(12, HEIGHT, WIDTH).convert("CMYK")),
    "one pixel": jpeg(photo(13, 1, 1)),
    "wide": jpeg(photo(14, 3, 200)),
}
OTHERS = {name: encoded(photo(20, HEIGHT, WIDTH), name) for name in ("PNG", "BMP", "TIFF", "PPM")}
PNG = OTHERS["PNG"]


def rejected(data: bytes) -> str:
    """The reason; the detail is never empty."""
    with pytest.raises(RejectError) as caught:
        decode(data)
    assert caught.value.detail
    return caught.value.reason


def claim(width: int, height: int) -> bytes:
    """A PNG that claims a size, with hardly any pixels."""
    return raw_png(bytes(1000), (width, height), 8, 2)


@pytest.mark.parametrize("name", JPEGS)
def test_a_jpeg_has_the_same_pixels_as_in_pillow(name: str) -> None:
    picture = decode(JPEGS[name]).picture
    assert picture.mode == "RGB"
    with Image.open(io.BytesIO(JPEGS[name])) as oracle:
        np.testing.assert_array_equal(np.asarray(picture), np.asarray(oracle.convert("RGB")), strict=True)


@pytest.mark.parametrize("name", OTHERS)
def test_a_lossless_format_gives_the_original_pixels(name: str) -> None:
    np.testing.assert_array_equal(np.asarray(decode(OTHERS[name]).picture), np.asarray(photo(20, HEIGHT, WIDTH)), strict=True)


@pytest.mark.parametrize("name", [*JPEGS, *OTHERS])
def test_the_header_says_the_size_that_decoding_gives(name: str) -> None:
    data = (JPEGS | OTHERS)[name]
    picture = decode(data).picture
    assert header_size(data) == (picture.height, picture.width)


def test_the_content_decides_not_the_extension(tmp_path: Path) -> None:
    (tmp_path / "n02105855_2933.JPEG").write_bytes(PNG)
    (tmp_path / "photo.png").write_bytes(JPEGS["baseline"])
    np.testing.assert_array_equal(
        np.asarray(decode(read_item(tmp_path, "n02105855_2933.JPEG")).picture), np.asarray(photo(20, HEIGHT, WIDTH))
    )
    assert decode(read_item(tmp_path, "photo.png")).picture.size == (WIDTH, HEIGHT)


def test_an_animation_gives_its_first_frame() -> None:
    frames = [Image.new("RGB", (9, 7), colour) for colour in ("red", "lime", "blue")]
    gif = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    with Image.open(io.BytesIO(gif)) as picture:
        assert getattr(picture, "n_frames", 1) == 3
    assert set(map(tuple, np.asarray(decode(gif).picture).reshape(-1, 3).tolist())) == {(255, 0, 0)}


@pytest.mark.parametrize(
    ("reason", "data"),
    [
        ("empty", b""),
        ("not_an_image", b"\n"),
        ("not_an_image", b"a text that somebody called photo.jpg\n" * 9),
        ("not_an_image", b"<!DOCTYPE html><html><body>404 Not Found</body></html>"),
        ("not_an_image", b'{"message": "rate limit exceeded"}'),
        ("not_an_image", bytes(4096)),
        ("not_an_image", PNG[:6]),
        ("corrupt", PNG[:41] + bytes(4) + PNG[45:]),
    ],
)
def test_what_is_no_picture_is_rejected(reason: str, data: bytes) -> None:
    assert rejected(data) == reason


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("percent", [30, 50, 90])
def test_a_picture_cut_short_is_rejected_by_decode_itself(name: str, percent: int) -> None:
    """Pillow opens a file by its header: a picture handed out before it was read would fail later, outside of all care."""
    data = OTHERS[name]
    assert rejected(data[: len(data) * percent // 100]) in ("truncated", "corrupt", "not_an_image")


@pytest.mark.parametrize("percent", [30, 50, 90])
def test_a_png_cut_short_is_called_truncated(percent: int) -> None:
    assert rejected(PNG[: len(PNG) * percent // 100]) == "truncated"


@pytest.mark.parametrize("limit", [Image.MAX_IMAGE_PIXELS, None])
def test_a_decompression_bomb_is_too_large(limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the user has taken Pillow's own limit away."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    assert rejected(claim(18_000, 18_000)) == "too_large"
    tall = JPEGS["baseline"]
    at = tall.index(b"\xff\xc0") + 5
    assert rejected(tall[:at] + b"\xff\xff\xff\xff" + tall[at + 4 :]) == "too_large"
    assert limit == Image.MAX_IMAGE_PIXELS


def test_a_size_that_pillow_only_warns_of_is_no_bomb() -> None:
    assert rejected(claim(9_000, 9_000)) == "truncated"


def test_a_file_without_a_header_has_no_size() -> None:
    with pytest.raises(RejectError) as caught:
        header_size(b"nothing")
    assert caught.value.reason == "not_an_image"
    assert header_size(PNG[:64]) == (HEIGHT, WIDTH)
