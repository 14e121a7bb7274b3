"""The one decode function: a file's bytes to an upright RGB picture, for writing, preview and every other use."""

import io
import warnings
from collections import Counter

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from convert.contracts import RejectError
from convert.image.colour import to_rgb
from convert.image.jpeg import SOI, decode_strict, end_of_scans, judge, mend
from convert.image.magic import foreign_format
from convert.image.profile import to_srgb
from convert.image.upright import FIRST_TURNED, orientation, upright
from convert.manifest import Decoding

MAX_PIXELS = 178_956_970
"""Twice Pillow's own warning limit (`Image.MAX_IMAGE_PIXELS`): its limit for an error."""


def decode(data: bytes, seen: Counter[str] | None = None) -> Image.Image:
    """Decode one file's bytes; the content decides what it is.

    Args:
        data: all of the file.
        seen: counts what was done to it: colours converted, turned, a harmless defect.

    Returns:
        An upright picture, mode RGB, 8 bits a channel.

    Raises:
        RejectError: empty, not_an_image, unsupported_format, too_large, truncated or corrupt; never another exception for a bad file.
    """
    if not data:
        raise RejectError("empty", "0 bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # bad profiles and odd tags, a line for each picture: the pixels are judged here
            return _decode(data, Counter() if seen is None else seen)
    except RejectError:
        raise
    except UnidentifiedImageError as error:
        raise _unidentified(data) from error
    except Image.DecompressionBombError as error:
        raise RejectError("too_large", str(error)) from error
    except MemoryError as error:
        raise RejectError("too_large", "not enough memory to decode it") from error
    except Exception as error:  # OSError, SyntaxError, ValueError, struct.error: Pillow raises almost anything
        reason = "truncated" if "truncated" in str(error).lower() else "corrupt"
        raise RejectError(reason, f"{type(error).__name__}: {error}") from error


def header_size(data: bytes) -> tuple[int, int]:
    """Height and width of the upright picture, from the header alone.

    Raises:
        RejectError: no header that Pillow knows.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = Image.open(io.BytesIO(data))
            turned = orientation(picture) >= FIRST_TURNED
    except Exception as error:  # Pillow raises almost anything on broken files
        raise RejectError("not_an_image", str(error)) from error
    return (picture.width, picture.height) if turned else (picture.height, picture.width)


def decode_wide(data: bytes, decoding: Decoding) -> npt.NDArray[np.uint16] | None:
    """The grey levels (H, W) of a 16-bit grey picture as they are in the file; None for any other picture.

    Raises:
        RejectError: as `decode`.
    """
    del decoding
    decode(data)
    picture = Image.open(io.BytesIO(data))
    return np.asarray(picture).clip(0, 65535).astype(np.uint16) if picture.mode.startswith("I") else None


def _unidentified(data: bytes) -> RejectError:
    """Why Pillow found no picture."""
    if data.startswith(SOI):
        return RejectError(
            "truncated" if end_of_scans(data) == len(data) else "corrupt", f"a JPEG of {len(data)} bytes without a whole header"
        )
    if name := foreign_format(data):
        return RejectError("unsupported_format", f"{name}, which this Pillow does not read")
    return RejectError("not_an_image", f"begins with {data[:16]!r}")


def _decode(data: bytes, seen: Counter[str]) -> Image.Image:
    picture = Image.open(io.BytesIO(data))  # reads the header only
    if picture.width * picture.height > MAX_PIXELS:
        raise RejectError("too_large", f"{picture.width} x {picture.height} pixels")
    if not data.startswith(SOI):
        seen[f"{picture.format}"] += 1
        picture.load()  # `open` read the header only; a TIFF turns itself here
        turn = orientation(picture)
        return upright(to_srgb(to_rgb(picture, seen), picture.info.get("icc_profile"), seen), turn, seen)
    turn, profile = orientation(picture), picture.info.get("icc_profile")
    levels = decode_strict(data)
    if levels is not None:
        return upright(to_srgb(Image.fromarray(levels), profile, seen), turn, seen)
    judge(data, seen)
    try:
        picture.load()
    except OSError:
        picture = Image.open(io.BytesIO(mend(data)))
    return upright(to_srgb(to_rgb(picture, seen), profile, seen), turn, seen)
