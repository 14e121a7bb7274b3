"""Whatever a file's colour mode: RGB with 8 bits, transparency over white, 16 bits scaled, CMYK the right way round."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pictures import encoded, jpeg, photo, png
from PIL import Image

from convert.image.decode import decode

Levels = npt.NDArray[np.uint8]
SHAPE = (16, 24)


def noise(*shape: int) -> Levels:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def pixels(data: bytes) -> npt.NDArray[np.int64]:
    picture = decode(data).picture
    assert picture.mode == "RGB"
    return np.asarray(picture).astype(np.int64)


def over_white(colour: npt.NDArray[Any], alpha: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Colour (H, W, 3) and alpha (H, W), as levels, laid over white."""
    share = alpha[:, :, None].astype(np.float64) / 255
    return np.asarray(colour * share + 255 * (1 - share))


def palette() -> tuple[Image.Image, Levels]:
    """A picture of 200 colours from a palette, and its numbers (H, W)."""
    numbers = noise(*SHAPE) % 200
    picture = Image.fromarray(numbers)
    picture.putpalette(noise(200, 3).tobytes())
    assert picture.mode == "P"
    return picture, numbers


def test_grey_is_three_times_the_same() -> None:
    levels = noise(*SHAPE)
    for data in (png(Image.fromarray(levels)), encoded(Image.fromarray(levels), "TIFF"), encoded(Image.fromarray(levels), "PPM")):
        np.testing.assert_array_equal(pixels(data), np.stack([levels] * 3, axis=2))


def test_black_and_white_is_0_and_255() -> None:
    dots = noise(*SHAPE) > 128
    np.testing.assert_array_equal(pixels(png(Image.fromarray(dots))), np.stack([dots * 255] * 3, axis=2))


def test_a_palette_is_looked_up() -> None:
    picture, numbers = palette()
    for data in (png(picture), encoded(picture, "GIF"), encoded(picture, "BMP")):
        np.testing.assert_array_equal(pixels(data), noise(200, 3)[numbers])


def test_a_transparent_palette_entry_is_white() -> None:
    picture, numbers = palette()
    for data in (png(picture, transparency=7), encoded(picture, "GIF", transparency=7)):
        expected = over_white(noise(200, 3)[numbers], np.where(numbers == 7, 0, 255))
        assert (numbers == 7).any()
        np.testing.assert_array_equal(pixels(data), expected)


def test_a_half_transparent_palette_is_laid_over_white() -> None:
    picture, numbers = palette()
    alpha = noise(200)[::-1]
    seen = pixels(png(picture, transparency=alpha.tobytes()))
    assert np.abs(seen - over_white(noise(200, 3)[numbers], alpha[numbers])).max() <= 1


def test_alpha_is_laid_over_white() -> None:
    levels = noise(*SHAPE, 4)
    levels[0, :8, 3], levels[1, :8, 3] = 0, 255
    seen = pixels(png(Image.fromarray(levels)))
    assert np.abs(seen - over_white(levels[:, :, :3], levels[:, :, 3])).max() <= 1
    assert (seen[0, :8] == 255).all()  # what lies hidden under full transparency stays hidden
    np.testing.assert_array_equal(seen[1, :8], levels[1, :8, :3])


def test_grey_with_alpha_is_laid_over_white() -> None:
    grey, alpha = noise(*SHAPE), noise(2, *SHAPE)[1]
    picture = Image.merge("LA", (Image.fromarray(grey), Image.fromarray(alpha)))
    assert np.abs(pixels(png(picture)) - over_white(np.stack([grey] * 3, axis=2), alpha)).max() <= 1


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_one_transparent_colour_is_white(mode: str) -> None:
    levels = noise(*SHAPE) if mode == "L" else noise(*SHAPE, 3)
    levels[3, 4] = levels[5, 6] = 77
    chosen: Any = 77 if mode == "L" else (77, 77, 77)
    seen = pixels(png(Image.fromarray(levels), transparency=chosen))
    colour = np.stack([levels] * 3, axis=2) if mode == "L" else levels
    expected = over_white(colour, np.where((colour == 77).all(2), 0, 255))
    np.testing.assert_array_equal(seen, expected)
    assert (seen[3, 4] == 255).all()


def test_16_bits_are_scaled_not_clipped() -> None:
    wide = np.array([[0, 0x2000, 0x8000, 0xC000, 0xFFFF]], np.uint16)
    np.testing.assert_array_equal(pixels(png(Image.fromarray(wide)))[0, :, 0], [0, 32, 128, 191, 255])


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_every_16_bit_level_is_rounded_to_the_nearest(kind: str) -> None:
    wide = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    expected = np.rint(wide / 257).astype(np.int64)
    np.testing.assert_array_equal(pixels(encoded(Image.fromarray(wide), kind)), np.stack([expected] * 3, axis=2))


@pytest.mark.parametrize("end", [0, 2])
def test_cmyk_jpeg_is_not_a_negative(end: int) -> None:
    """Whole, and without its end marker: two ways through the decoder."""
    picture = photo(1, *SHAPE)
    data = jpeg(picture.convert("CMYK"), quality=95)
    assert np.abs(pixels(data[: len(data) - end]) - np.asarray(picture)).mean() < 4


def test_cmyk_tiff_is_not_a_negative() -> None:
    picture = photo(1, *SHAPE)
    np.testing.assert_array_equal(pixels(encoded(picture.convert("CMYK"), "TIFF")), np.asarray(picture))
