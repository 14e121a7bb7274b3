"""Makes a batch: where each augmentation step looks, the one copy, and what is done to the copy."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from readers.augment import Augment, InPixels, RandomErasing, Step, Uniform, Window
from readers.augment.pixels import call
from readers.gather import gather
from readers.rows import Index, Rows
from readers.values import Values


def render(rows: Rows, index: Index, steps: Sequence[Step], *, values: Values, uniform: Uniform, out: torch.Tensor) -> None:
    """Fill `out` (B, h, w, C), contiguous, with augmented rows, up to the first step that needs the whole batch: see `finish`.

    Args:
        rows: a bake.
        index: rows of it (B,), in range.
        steps: bound to the bake's shape, see `readers.augment.bind`.
        values: what floating numbers in `out` mean.
        uniform: called by each step for each number that it draws, always in the same order: one in [0, 1) for each picture.
        out: of a floating type, or of the levels' own, uint8 or uint16; (h, w) is `render_size`.
    """
    height, width, _ = rows.manifest.shape
    window = Window(len(index), height, width)
    first = _for_each(steps)
    for step in first:
        if isinstance(step, Augment):
            step.apply(window, uniform)
    gather(rows, index, window, values=values, out=out)
    for step in first:
        if isinstance(step, RandomErasing):
            step.apply(out.permute(0, 3, 1, 2), uniform)


def finish(images: torch.Tensor, steps: Sequence[Step], *, values: Values, uniform: Uniform) -> torch.Tensor:
    """A rendered batch (B, C, H, W) after the steps that need all of it: the first function of a batch and what follows that.

    Args:
        images: on any device; may be changed in place.
        steps: the same as `render`'s.
        values: the same as `render`'s.
        uniform: goes on where `render`'s ended: other numbers, please.

    Raises:
        PrebakeError: a function returned no batch of as many pictures.
    """
    for step in steps[len(_for_each(steps)) :]:
        if isinstance(step, RandomErasing):
            step.apply(images, uniform)
        elif isinstance(step, InPixels):
            images = step.apply(images, values)
        elif not isinstance(step, Augment):
            images = call(step, images)
    return images


def render_size(rows: Rows, steps: Sequence[Step]) -> tuple[int, int, int]:
    """(h, w, C) of a rendered picture; functions of a batch may still change it."""
    height, width, channels = rows.manifest.shape
    for step in steps:
        if isinstance(step, Augment):
            height, width = step.bind(height, width)
    return height, width, channels


def _for_each(steps: Sequence[Step]) -> list[Augment | RandomErasing]:
    """The steps before the first function of a batch."""
    first = list[Augment | RandomErasing]()
    for step in steps:
        if not isinstance(step, Augment | RandomErasing):
            break
        first.append(step)
    return first
