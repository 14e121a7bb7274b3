"""The door for what people have: a picture as an ImageFolder transform expects it, and levels to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
from PIL import Image

Transform = Callable[[Image.Image], Any]


def to_picture(levels: npt.NDArray[Any]) -> Image.Image:
    """Levels (H, W, C) as a picture: mode RGB; for one channel L, or I;16 where levels have 16 bits."""
    return Image.fromarray(levels[:, :, 0] if levels.shape[2] == 1 else levels)
