"""The one decode function: a file's bytes to an upright RGB picture, for writing, preview and every other use."""

import io
import warnings

from PIL import Image, UnidentifiedImageError

from convert.contracts import RejectError
from convert.image.colour import to_rgb
from convert.image.jpeg import SOI, decode_strict, judge, mend
from convert.image.upright import FIRST_TURNED, orientation, upright

MAX_PIXELS = 178_956_970
"""Twice Pillow's own warning limit (`Image.MAX_IMAGE_PIXELS`): its limit for an error."""


def decode(data: bytes) -> Image.Image:
    """Decode one file's bytes; the content decides what it is.

    Returns:
        An upright picture, mode RGB, 8 bits a channel.

    Raises:
        RejectError: empty, not_an_image, too_large, truncated or corrupt; never another exception for a bad file.
    """
    if not data:
        raise RejectError("empty", "0 bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # bad profiles and odd tags, a line for each picture: the pixels are judged here
            return _decode(data)
    except RejectError:
        raise
    except UnidentifiedImageError as error:
        raise RejectError("not_an_image", f"begins with {data[:16]!r}") from error
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


def _decode(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))  # reads the header only
    if picture.width * picture.height > MAX_PIXELS:
        raise RejectError("too_large", f"{picture.width} x {picture.height} pixels")
    if not data.startswith(SOI):
        picture.load()  # `open` read the header only; a TIFF turns itself here
        return upright(to_rgb(picture), orientation(picture))
    turn = orientation(picture)
    levels = decode_strict(data)
    if levels is not None:
        return upright(Image.fromarray(levels), turn)
    judge(data)
    try:
        picture.load()
    except OSError:
        picture = Image.open(io.BytesIO(mend(data)))
    return upright(to_rgb(picture), turn)
