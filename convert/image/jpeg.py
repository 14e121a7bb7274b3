"""Decodes a JPEG with strict libjpeg-turbo: what passes is good. What it refuses is for `convert.image.mend` to judge."""

import numpy as np
import numpy.typing as npt
import simplejpeg

from convert.image.holes import look_for_holes
from convert.image.scans import check_scans

Levels = npt.NDArray[np.uint8]

SCALES = (8, 4, 2)
"""What a decoder can divide both sides by."""


def decode_strict(data: bytes, least: tuple[int, int] | None = None) -> Levels | None:
    """Levels (H, W, 4), or None where strict libjpeg-turbo refuses, and for CMYK. The same RGB as Pillow's, to the bit.

    The fourth byte has no meaning: Pillow keeps RGB in four, and so can look at these instead of copying them.

    A picture of which less is enough (`least`: height and width) is decoded at 1/2, 1/4 or 1/8 of its size, where its sides divide
    by that; the same coefficients are read, so that no defect is missed.

    Raises:
        RejectError: zeros stand where coded data should, or scans are missing.
    """
    look_for_holes(data)
    check_scans(data)
    try:
        height, width, colourspace = _header(data)
        if colourspace not in ("YCbCr", "RGB", "Gray"):
            return None
        by = _scale(height, width, least) if least else 1
        scale = {"min_height": height // by, "min_width": width // by, "min_factor": by} if by > 1 else {}
        return np.asarray(simplejpeg.decode_jpeg(data, colorspace="RGBX", strict=True, **scale))
    except ValueError:
        return None


def _header(data: bytes) -> tuple[int, int, str]:
    """Height, width and colour space."""
    try:
        height, width, colourspace, _ = simplejpeg.decode_jpeg_header(data)
    except KeyError:  # a sampling that simplejpeg has no name for, and libjpeg-turbo decodes
        return 0, 0, "YCbCr"
    return height, width, colourspace


def _scale(height: int, width: int, least: tuple[int, int]) -> int:
    fits = (by for by in SCALES if height % by == width % by == 0 and height >= by * least[0] and width >= by * least[1])
    return next(fits, 1)
