"""Makes a batch: where each augmentation step looks, then the one copy."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from readers.augment import Augment, Uniform, Window
from readers.gather import gather
from readers.rows import Index, Rows


def render(rows: Rows, index: Index, steps: Sequence[Augment], *, uniform: Uniform, out: torch.Tensor) -> None:
    """Fill `out` (B, h, w, C), contiguous, with augmented rows.

    Args:
        rows: a bake.
        index: rows of it (B,), in range.
        steps: bound to the bake's size, see `readers.augment.bind`.
        uniform: called by each step for each number that it draws, always in the same order: one in [0, 1) for each picture.
        out: of a floating type, or of the stored one; (h, w) is `render_size`.
    """
    window = _window(rows, len(index), steps, uniform)
    gather(rows, index, window, out)


def render_size(rows: Rows, steps: Sequence[Augment]) -> tuple[int, int, int]:
    """(h, w, C) of a picture after the steps."""
    height, width, channels = rows.manifest.shape
    for step in steps:
        height, width = step.bind(height, width)
    return height, width, channels


def _window(rows: Rows, batch: int, steps: Sequence[Augment], uniform: Uniform) -> Window:
    height, width, _ = rows.manifest.shape
    window = Window(batch, height, width)
    for step in steps:
        step.apply(window, uniform)
    return window
