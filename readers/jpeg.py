"""Decodes the JPEGs that rows are stored as, by libjpeg-turbo, which lets go of Python's lock meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from readers.scratch import scratch

Levels = npt.NDArray[np.uint8]
SCALES = (8, 4, 2)
"""At 1/8, 1/4 and 1/2 fewer coefficients are decoded."""
LEFT = 2
"""Times the size that is made: so much of a box is left at a reduced scale. See `scale_for`."""
MODES = {1: "GRAY", 3: "RGB"}


def scale_for(box: tuple[int, int], size: tuple[int, int]) -> int:
    """By how much a JPEG may be decoded smaller, for a box (height, width) that is to be resized to a size: 1, 2, 4 or 8.

    Only while twice that size is left in both directions. Then pixels are 0.7 of a level (1/2) or 0.9 (1/4) away on average, at most 1.8
    in a picture, in photographs, from those of the picture decoded in full; with 1.5 times left it would be 1.0 and 1.2, with just the
    size 2.2. It is a function of the box alone, so of the row and the draw.
    """
    return next((scale for scale in SCALES if all(side >= LEFT * scale * to for side, to in zip(box, size, strict=True))), 1)


class Decoder:
    """Decodes one JPEG after the other, into memory that the thread uses again."""

    def __init__(self, channels: int) -> None:
        """Of 3 channels, RGB, or 1.

        Raises:
            PrebakeError: simplejpeg is not installed.
        """
        self._decode: Callable[..., Any] = _simplejpeg().decode_jpeg
        self._channels = channels

    def __call__(self, data: Levels, height: int, width: int, *, scale: int = 1, into: Levels | None = None) -> Levels:
        """A JPEG file's bytes, flat, as levels (h, w, C): until the thread's next call, unless there is memory to put them `into`.

        Args:
            data: the file's bytes.
            height: of the picture in full.
            width: of the picture in full.
            scale: 1, or 2, 4, 8: the picture is decoded so many times smaller, sides rounded up.
            into: (h, w, C), contiguous.

        Raises:
            ValueError: it cannot be decoded, or is of another size; says which.
        """
        height, width = -(-height // scale), -(-width // scale)
        shape = height, width, self._channels
        if into is None:
            into = scratch("decoded", height * width * self._channels).reshape(shape)
        least = {"min_height": height, "min_width": width} if scale > 1 else {}
        try:
            levels = self._decode(data, MODES[self._channels], buffer=into, strict=True, **least)
        except ValueError as error:
            raise ValueError(f"its JPEG is broken: {printable(error)}") from error
        if levels.shape != shape:
            raise ValueError(f"its JPEG has {levels.shape[0]}x{levels.shape[1]} pixels, not {height}x{width}")
        return into


def decode_file(data: bytes, channels: int) -> Levels:
    """A JPEG file whose size is not known before, as levels (h, w, C).

    Raises:
        ValueError: it cannot be decoded.
        PrebakeError: simplejpeg is not installed.
    """
    levels: Levels = _simplejpeg().decode_jpeg(data, MODES[channels], strict=True)
    return levels


def _simplejpeg() -> ModuleType:
    try:
        import simplejpeg
    except ModuleNotFoundError as error:
        if error.name != "simplejpeg":
            raise
        raise PrebakeError("the rows of this bake are JPEGs, decoded by simplejpeg: pip install simplejpeg") from None
    return simplejpeg  # type: ignore[no-any-return]
