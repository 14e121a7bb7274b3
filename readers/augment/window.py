"""Where each picture of a batch is looked at: which box of its row, which window of that, and which way round."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]
Sides = int | Whole
"""A height or width: one number for all pictures, or one for each (B,)."""
Box = tuple[Whole, Whole, Sides, Sides]
"""Top, left (B,), height and width."""


class Window:
    """`height` x `width` from (`top`, `left`) of a source, then flipped. All arrays are (B,) or (k, B).

    The source is the row; or, once there are `boxes`, what those parts of the row become when they are resized.
    """

    def __init__(self, batch: int, height: Sides, width: Sides) -> None:
        """The whole row, unflipped."""
        self.height, self.width = height, width
        self.top, self.left = np.zeros(batch, np.int64), np.zeros(batch, np.int64)
        self.flip_rows, self.flip_columns = np.zeros(batch, bool), np.zeros(batch, bool)
        self.bounds: Whole | None = None
        """Where there was padding: top, left, bottom and right of what is seen of the source (4, B); beyond it all is black."""
        self.boxes: Box | None = None
        """The parts of the row."""
        self.resized = 0, 0
        """Height and width that they are resized to."""

    def crop(self, top: Whole, left: Whole, height: int, width: int) -> None:
        """Narrow the window to a part of what is seen now: in a flipped picture, left is right."""
        self.top, self.left = self._place(top, left, height, width)
        self.height, self.width = height, width

    def pad(self, left: int, top: int, right: int, bottom: int) -> None:
        """Widen the window by black pixels, also where the source goes on: a crop has taken that away."""
        seen = np.stack([self.top, self.left, self.top + self.height, self.left + self.width])
        if self.bounds is not None:
            seen = np.concatenate([np.maximum(seen[:2], self.bounds[:2]), np.minimum(seen[2:], self.bounds[2:])])
        self.bounds = np.asarray(seen)
        self.top = self.top - np.where(self.flip_rows, bottom, top)
        self.left = self.left - np.where(self.flip_columns, right, left)
        self.height, self.width = self.height + top + bottom, self.width + left + right

    def resize(self, box: Box, height: int, width: int) -> None:
        """Resize a box of what is seen. Flips are kept: they come after it as well as before it."""
        if self.boxes is not None or self.bounds is not None:
            raise AssertionError("resized twice, or after padding: bind() refuses this")
        self.boxes = *self._place(*box), box[2], box[3]
        self.top, self.left = np.zeros_like(self.top), np.zeros_like(self.left)
        self.resized = self.height, self.width = height, width

    def seen(self) -> tuple[Box, Whole | None]:
        """What of the source is seen, and where that lies in the picture: (2, B); None where it is all of it."""
        if self.bounds is None:
            return (self.top, self.left, self.height, self.width), None
        start = np.stack([self.top, self.left])
        size = np.stack([np.broadcast_to(side, self.top.shape) for side in (self.height, self.width)])
        low, high = (np.clip(edge, self.bounds[:2], np.maximum(self.bounds[:2], self.bounds[2:])) for edge in (start, start + size))
        flipped = np.stack([self.flip_rows, self.flip_columns])
        place = np.where(flipped, start + size - high, low - start).clip(0, size)
        return (*low, *(high - low)), place

    def _place(self, top: Whole, left: Whole, height: Sides, width: Sides) -> tuple[Whole, Whole]:
        """Where a part of what is seen begins in the source."""
        return (
            self.top + np.where(self.flip_rows, self.height - height - top, top),
            self.left + np.where(self.flip_columns, self.width - width - left, left),
        )
