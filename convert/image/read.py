"""A file's pixels as they are coded: in any mode, not upright yet."""

import io
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from PIL import Image

from convert.contracts import RejectError
from convert.image.deep import count_deep, is_deep
from convert.image.fillers import ARITHMETIC, check_end
from convert.image.jpeg import decode_strict
from convert.image.magic import foreign_jpeg
from convert.image.mend import mended
from convert.image.rows import check_rows
from convert.image.segments import is_arithmetic
from convert.image.upright import FIRST_TURNED, ORIENTATION, TURNED, TURNS, orientation

Enough = Callable[[int, int], tuple[int, int]]
"""From an upright picture's height and width to the least height and width that it may be decoded at."""


class Read(NamedTuple):
    """A decoded file."""

    picture: Image.Image
    turn: int
    """Its EXIF orientation."""
    height: int
    """Of the upright source, in pixels."""
    width: int
    format: str
    """As Pillow calls it: JPEG, PNG ..."""


def read_jpeg(data: bytes, opened: Image.Image, enough: Enough | None, seen: Counter[str]) -> Read:
    """Decode a JPEG whose header Pillow has read; with `enough`, maybe at a reduced scale.

    Raises:
        RejectError: truncated, corrupt, or of a kind that is not read.
    """
    turn = orientation(opened, seen)
    turned = turn >= FIRST_TURNED
    height, width = (opened.width, opened.height) if turned else (opened.height, opened.width)
    least = None if enough is None else enough(height, width)
    if least and turned:
        least = least[1], least[0]
    picture = _pixels(data, least, seen)
    if picture.width < opened.width:
        seen[f"JPEG decoded at 1/{opened.width // picture.width}"] += 1
    return Read(picture, turn, height, width, "JPEG")


def _pixels(data: bytes, least: tuple[int, int] | None, seen: Counter[str]) -> Image.Image:
    if is_arithmetic(data):
        check_end(data, ARITHMETIC)
    levels = decode_strict(data, least)
    if levels is None:
        if name := foreign_jpeg(data):
            raise RejectError("unsupported_format", name)
        data = mended(data, seen)
        levels = decode_strict(data, least)
    if levels is not None:
        return Image.frombuffer("RGBX", levels.shape[1::-1], levels, "raw", "RGBX", 0, 1)  # a look at it
    picture = Image.open(io.BytesIO(data))  # CMYK, or a rare sampling of colours
    picture.load()
    return picture


def read_other(data: bytes, picture: Any, mode: str, seen: Counter[str]) -> Read:
    """Decode any other file whose header Pillow has read; of an animation, the first frame.

    Raises:
        RejectError: truncated, corrupt, or with levels that `mode` cannot keep.
    """
    seen[str(picture.format)] += 1
    deep = is_deep(picture)
    picture.load()
    check_rows(picture, data)
    if deep:
        count_deep(picture, mode, seen)
    if _is_animated(data):
        seen["first of several frames"] += 1
    if picture.format == "TIFF" and picture.tag_v2.get(ORIENTATION) in TURNS:
        seen[TURNED] += 1  # by Pillow, as it was decoded
    turn = orientation(picture, seen)  # a PNG may have its EXIF behind the pixels
    size = (picture.width, picture.height) if turn >= FIRST_TURNED else (picture.height, picture.width)
    return Read(picture, turn, *size, str(picture.format))


def _is_animated(data: bytes) -> bool:
    """Looked up in a picture of its own, as looking moves to the next frame; a broken second frame is no fault of the first."""
    try:
        return bool(getattr(Image.open(io.BytesIO(data)), "is_animated", False))
    except Exception:  # noqa: BLE001 - Pillow raises almost anything
        return True
