"""The door for what people have: a picture as an ImageFolder transform expects it, and levels to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

Transform = Callable[[Image.Image], Any]


def to_picture(levels: npt.NDArray[np.uint8]) -> Image.Image:
    """Levels (H, W, 3) or (H, W, 1) as an RGB picture."""
    return Image.fromarray(np.ascontiguousarray(np.broadcast_to(levels, (*levels.shape[:2], 3))))
