"""The one decode function: a file's bytes to an upright picture, for writing, statistics, preview and every other use."""

import io
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from convert.contracts import RejectError
from convert.image.colour import in_mode
from convert.image.depth import is_wide, wide_levels
from convert.image.faults import every_fault_a_reject
from convert.image.jpeg import decode_strict
from convert.image.magic import foreign_jpeg
from convert.image.mend import mended
from convert.image.segments import SOI
from convert.image.upright import FIRST_TURNED, orientation, upright
from convert.manifest import Decoding

Enough = Callable[[int, int], tuple[int, int]]
"""From an upright picture's height and width to the least height and width that it may be decoded at."""


class Decoded(NamedTuple):
    """A picture, and what it came from."""

    picture: Image.Image
    """Upright. A JPEG may be a whole number of times smaller than it was."""
    height: int
    """Of the upright source, in pixels."""
    width: int
    format: str
    """As Pillow calls it: JPEG, PNG ..."""


def decode(
    data: bytes, seen: Counter[str] | None = None, *, decoding: Decoding | None = None, mode: str = "RGB", enough: Enough | None = None
) -> Decoded:
    """Decode one file's bytes; the content decides what it is.

    Args:
        data: all of the file.
        seen: counts what was done to it: colours converted, turned, a harmless defect.
        decoding: where there is a choice.
        mode: RGB; L, grey with 8 bits; F, grey levels from 0 to 65535.
        enough: allows large JPEGs to be decoded at 1/2, 1/4 or 1/8, unless `decoding.exact`.

    Raises:
        RejectError: empty, not_an_image, unsupported_format, too_large, truncated or corrupt; never another exception for a bad file.
    """
    if not data:
        raise RejectError("empty", "0 bytes")
    policy, counts = decoding or Decoding(), Counter[str]() if seen is None else seen
    with every_fault_a_reject(data):
        picture = _open(data, policy)
        name = "JPEG" if data.startswith(SOI) else str(picture.format)
        turn, profile = orientation(picture), picture.info.get("icc_profile")
        height, width = (picture.width, picture.height) if turn >= FIRST_TURNED else (picture.height, picture.width)
        least = None if enough is None or policy.exact else enough(height, width)
        if least and turn >= FIRST_TURNED:
            least = least[1], least[0]
        whole = picture.width
        picture = _pixels(data, picture, least, counts)
        if picture.width < whole:
            counts[f"JPEG decoded at 1/{whole // picture.width}"] += 1
        return Decoded(upright(in_mode(picture, mode, profile, decoding=policy, seen=counts), turn, counts), height, width, name)


def decode_wide(data: bytes, decoding: Decoding) -> npt.NDArray[np.uint16] | None:
    """The levels (H, W) of a 16-bit grey picture as they are, not upright; None for any other picture.

    Raises:
        RejectError: as `decode`.
    """
    if data.startswith(SOI):
        return None
    with every_fault_a_reject(data):
        picture = _open(data, decoding)
        if not is_wide(picture):
            return None
        picture.load()
        levels = wide_levels(picture)
        return levels.astype(np.uint16) if levels.dtype == np.uint16 else None


def header_size(data: bytes) -> tuple[int, int]:
    """Height and width of the upright picture, from the header alone.

    Raises:
        RejectError: no header that Pillow knows.
    """
    with every_fault_a_reject(data):
        picture = Image.open(io.BytesIO(data))
        turned = orientation(picture) >= FIRST_TURNED
        return (picture.width, picture.height) if turned else (picture.height, picture.width)


def _open(data: bytes, decoding: Decoding) -> Image.Image:
    picture = Image.open(io.BytesIO(data))  # reads the header only
    if picture.width * picture.height > decoding.max_pixels:
        raise RejectError("too_large", f"{picture.width} x {picture.height} pixels, --max-pixels is {decoding.max_pixels}")
    return picture


def _pixels(data: bytes, picture: Image.Image, least: tuple[int, int] | None, seen: Counter[str]) -> Image.Image:
    """The opened picture, decoded; not upright yet."""
    if not data.startswith(SOI):
        seen[str(picture.format)] += 1
        picture.load()
        seen["first of several frames"] += _is_animated(data)
        return picture
    levels = decode_strict(data, least)
    if levels is not None:
        return Image.fromarray(levels)
    if name := foreign_jpeg(data):
        raise RejectError("unsupported_format", name)
    data = mended(data, seen)
    levels = decode_strict(data, least)
    if levels is not None:
        return Image.fromarray(levels)
    picture = Image.open(io.BytesIO(data))  # CMYK
    picture.load()
    return picture


def _is_animated(data: bytes) -> bool:
    """Looked up in a picture of its own, as looking moves to the next frame; a broken second frame is no fault of the first."""
    try:
        return bool(getattr(Image.open(io.BytesIO(data)), "is_animated", False))
    except Exception:  # noqa: BLE001 - Pillow raises almost anything
        return True
