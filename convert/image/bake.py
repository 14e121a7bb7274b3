"""The recipe of a bake, and the function that follows it from a file's bytes to a row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from PIL import Image

from convert.contracts import Array, Pixels, RejectError
from convert.errors import UsageError
from convert.image.code import encode, is_plain
from convert.image.decode import Decoded, decode
from convert.image.levels import Normalise, level_values
from convert.image.resize import FREE, Placement, fit, place
from convert.manifest import Decoding, Jpeg

KEPT = "JPEG kept as it was"


@dataclass(frozen=True)
class Recipe:
    """All that decides a row's pixels, but for the picture. `mean` and `std` are for levels from 0 to 1."""

    size: tuple[int, int]
    """(height, width) in pixels."""
    resize: str
    filter: str
    dtype: str
    mean: tuple[float, ...]
    std: tuple[float, ...]
    colour: str = "RGB"
    """RGB, or gray: one channel."""
    decoding: Decoding = field(default_factory=Decoding)
    upscale: bool = False
    """For `short` and `long`: whether smaller pictures are enlarged."""
    jpeg: Jpeg | None = None
    """How rows are coded; None leaves them raw."""

    @property
    def pixels(self) -> Pixels:
        """What a row holds."""
        height, width = (None, None) if self.resize in FREE else self.size
        return Pixels(height, width, len(self.mean), self.dtype, "raw" if self.jpeg is None else "jpeg")

    def place(self, height: int, width: int) -> Placement:
        """Where a picture goes in its row."""
        return place(height, width, self.size, self.resize, upscale=self.upscale)

    def row_size(self, at: Placement) -> tuple[int, int]:
        """Height and width of the row of a picture that goes there."""
        return (at.height, at.width) if self.resize in FREE else self.size

    def check(self) -> None:
        """Look whether every level survives.

        Raises:
            UsageError: mean or std on the wrong scale, or too small for the dtype.
        """
        wrong = {name: values for name, values in (("mean", self.mean), ("std", self.std)) if max(values) > 1}
        if wrong:
            hint = " ".join(f"--{name} {','.join(f'{v / 255:.3f}' for v in values)}" for name, values in wrong.items())
            raise UsageError(f"--{' and --'.join(wrong)}: levels are from 0 to 1 here, not 0 to 255: try {hint}")
        if min(self.mean) < 0 or min(self.std) <= 0 or not np.isfinite((*self.mean, *self.std)).all():
            raise UsageError("--mean must be from 0 to 1, and --std above 0 and at most 1")
        if not np.isfinite(level_values(self.mean, self.std, self.dtype if self.dtype.startswith("float") else "float32")).all():
            other = "--dtype float32" if self.dtype == "float16" else "a larger --std"
            raise UsageError(f"--std {min(self.std)} is so small that normalised values do not fit {self.dtype}: use {other}")


class Baked(NamedTuple):
    """A row, and how it came about."""

    row: Array
    """Pixels (H, W, C), which may be the same buffer at each call; or a JPEG file's bytes (n,)."""
    size: tuple[int, int]
    """Its height and width, in pixels."""
    height: int
    """Of the upright source, in pixels."""
    width: int
    placement: Placement
    format: str
    """Of the source, as Pillow calls it."""


class Bake:
    """Follows a recipe."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self.channels = recipe.pixels.channels
        self._mode = "F" if recipe.dtype == "uint16" else "L" if recipe.colour == "gray" else "RGBX"
        self._normalise = Normalise(recipe.pixels, recipe.mean, recipe.std)

    def __call__(self, data: bytes, seen: Counter[str] | None = None) -> Baked:
        """Decode, upright, colour, resize, then normalise or code; `seen` counts what was done.

        Raises:
            RejectError: the picture cannot be baked.
        """
        recipe, counts = self._recipe, Counter[str]() if seen is None else seen
        before = counts.total()
        decoded = decode(data, counts, decoding=recipe.decoding, mode=self._mode, enough=self._enough)
        at = recipe.place(decoded.height, decoded.width)
        if recipe.upscale and at.height * at.width > recipe.decoding.max_pixels:
            raise RejectError("too_large", f"{at.width} x {at.height} pixels once enlarged, --max-pixels is {recipe.decoding.max_pixels}")
        size = recipe.row_size(at)
        if counts.total() == before and self._passes(data, decoded, at, size):
            counts[KEPT] += 1
            row = np.frombuffer(data, np.uint8)
        else:
            row = self._row(fit(decoded.picture, at, size, recipe.filter))
        return Baked(row, size, decoded.height, decoded.width, at, decoded.format)

    def _passes(self, data: bytes, decoded: Decoded, at: Placement, size: tuple[int, int]) -> bool:
        """Whether a file, to which decoding did nothing else, already is what its row is to be."""
        whole = (decoded.height, decoded.width) == size == (at.height, at.width)
        jpeg = self._recipe.jpeg
        return jpeg is not None and jpeg.passthrough and whole and is_plain(data, self.channels)

    def _row(self, picture: Image.Image) -> Array:
        if self._recipe.jpeg is not None:
            return encode(picture, self._recipe.jpeg)
        return self._normalise(np.asarray(picture.convert("RGB") if picture.mode == "RGBX" else picture))

    def _enough(self, height: int, width: int) -> tuple[int, int]:
        """Twice the sides that a picture is resized to."""
        at = self._recipe.place(height, width)
        return 2 * at.height, 2 * at.width
