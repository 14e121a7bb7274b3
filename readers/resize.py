"""Resizes levels by an antialiased bilinear filter, as torchvision does: one picture after the other, into memory that is used again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from readers.picture import to_picture
from readers.scratch import scratch


def _interpolate(levels: torch.Tensor, size: tuple[int, int], *_: object, out: torch.Tensor) -> None:
    """By torch's public door, which takes twice the time: it makes memory for each picture."""
    out.copy_(torch.nn.functional.interpolate(levels, size, mode="bilinear", antialias=True))


# what that calls, and can be given memory; it is private, so that a torch may come without it
_bilinear: Any = getattr(getattr(torch.ops.aten, "_upsample_bilinear2d_aa", None), "out", _interpolate)


class Resize:
    """Makes pictures of one size.

    Levels of 8 bits are resized by torch, whose arithmetic is Pillow-SIMD's to the bit; those of 16 bits by Pillow.
    """

    def __init__(self, height: int, width: int, channels: int) -> None:
        """Of so many pixels, with so many channels."""
        self._size = height, width
        self._made = torch.from_numpy(scratch("resized", height * width * channels)).view(height, width, channels)
        self._out = self._made.permute(2, 0, 1)[None]

    def __call__(self, levels: npt.NDArray[Any]) -> torch.Tensor:
        """Levels (h, w, C), contiguous, uint8 or uint16, as (height, width, C) of the same type; until the next call, if uint8."""
        if levels.dtype == np.uint8:
            _bilinear(torch.from_numpy(levels).permute(2, 0, 1)[None], self._size, False, None, None, out=self._out)
            return self._made
        return self.inside(levels, (0, 0, *levels.shape[:2]))

    def inside(self, levels: npt.NDArray[Any], box: tuple[float, ...]) -> torch.Tensor:
        """The same of a box (top, left, bottom, right) between pixels, by Pillow, whose filter looks beyond its edges."""
        (height, width), (top, left, bottom, right) = self._size, box
        edges = left, top, min(right, levels.shape[1]), min(bottom, levels.shape[0])
        made = to_picture(levels).resize((width, height), Image.Resampling.BILINEAR, box=edges)
        return torch.from_numpy(np.array(made)).view(height, width, -1)
