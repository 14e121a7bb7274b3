"""How large rows will be, before any is made: from the headers of some pictures and the options alone, so that it is always the same."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np

from convert.contracts import RejectError
from convert.image.bake import Recipe
from convert.image.decode import header_size
from convert.manifest import Jpeg, Keys
from convert.reading import read_item

LOOK = 200
"""Pictures whose headers are read."""
QUALITIES = (1, 10, 30, 50, 70, 80, 90, 95, 98, 100)
PER_PIXEL = {
    "420": (0.02, 0.051, 0.095, 0.127, 0.17, 0.212, 0.309, 0.443, 0.622, 0.856),
    "444": (0.02, 0.063, 0.113, 0.152, 0.204, 0.258, 0.385, 0.564, 0.846, 1.331),
}
"""Bytes of a JPEG for each pixel of a photograph: the mean of 100, 256 pixels on the short side, by quality."""
HEADERS = 640
"""Bytes of a JPEG without its pixels."""


def some_items(count: int) -> list[int]:
    """Of so many items, up to `LOOK` at equal distances."""
    return list(np.unique(np.linspace(0, count - 1, LOOK).astype(int)).tolist())


@functools.lru_cache(maxsize=4)
def some_sizes(root: str, keys: Keys) -> list[tuple[int, int]]:
    """Height and width, upright, of pictures at equal distances; what cannot be read is left out."""
    sizes = []
    for item in some_items(len(keys)):
        try:
            sizes.append(header_size(read_item(Path(root), keys[item])))
        except RejectError:
            continue
    return sizes


def mean_pixels(recipe: Recipe, sizes: list[tuple[int, int]]) -> int:
    """Of a row, one channel."""
    if recipe.pixels.shape is not None or not sizes:
        return math.prod(recipe.size)
    most = recipe.decoding.max_pixels  # what has more is rejected
    rows = [recipe.row_size(recipe.place(*size)) for size in sizes if math.prod(size) <= most]
    pixels = [math.prod(row) for row in rows if math.prod(row) <= most]
    return -(-sum(pixels) // len(pixels)) if pixels else math.prod(recipe.size)


def row_bytes(recipe: Recipe, pixels: int) -> int:
    """Stored bytes of a row of so many pixels."""
    channels = recipe.pixels.channels
    if recipe.jpeg is None:
        return pixels * channels * recipe.pixels.numpy.itemsize
    return HEADERS + int(pixels * _per_pixel(recipe.jpeg, channels))


def _per_pixel(jpeg: Jpeg, channels: int) -> float:
    return float(np.interp(jpeg.quality, QUALITIES, PER_PIXEL[jpeg.subsampling if channels == 3 else "420"]))
