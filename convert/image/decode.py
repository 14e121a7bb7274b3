"""The one decode function: a file's bytes to an upright picture, for writing, statistics, preview and every other use."""

import io
from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from convert.contracts import RejectError
from convert.image.colour import in_mode
from convert.image.depth import is_wide, wide_levels
from convert.image.faults import every_fault_a_reject
from convert.image.read import Enough, read_jpeg, read_other
from convert.image.segments import SOI
from convert.image.upright import FIRST_TURNED, orientation, upright
from convert.manifest import Decoding


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
        mode: RGB; RGBX, the same, or with a fourth byte without meaning where that saves a copy; L, grey with 8 bits; F, grey levels from
            0 to 65535.
        enough: allows large JPEGs to be decoded at 1/2, 1/4 or 1/8, unless `decoding.exact`.

    Raises:
        RejectError: empty, not_an_image, unsupported_format, too_large, truncated or corrupt; never another exception for a bad file.
    """
    if not data:
        raise RejectError("empty", "0 bytes")
    policy, counts = decoding or Decoding(), Counter[str]() if seen is None else seen
    with every_fault_a_reject(data):
        opened = _open(data, policy)
        profile = opened.info.get("icc_profile")
        if data.startswith(SOI):
            read = read_jpeg(data, opened, None if policy.exact else enough, counts)
        else:
            read = read_other(data, opened, mode, counts)
        del opened  # it holds a large picture's first copy
        made = in_mode(read.picture, mode, profile, decoding=policy, seen=counts)
        return Decoded(upright(made, read.turn, counts), read.height, read.width, read.format)


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
        return levels.astype(np.uint16, copy=False) if levels.dtype == np.uint16 else None


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
