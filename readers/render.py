"""Makes a batch: where each augmentation step looks, the one copy, and what is done to the copy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from convert.errors import PrebakeError
from readers.augment import Augment, InPixels, RandomErasing, Sides, Step, TooSmallError, Uniform, Window
from readers.augment.pixels import call
from readers.gather import gather
from readers.rows import Index, Rows
from readers.values import Values


def render(rows: Rows, index: Index, steps: Sequence[Step], *, values: Values, uniform: Uniform, out: torch.Tensor) -> None:
    """Fill `out` (B, h, w, C), contiguous, with augmented rows, up to the first step that needs the whole batch: see `finish`.

    Args:
        rows: a bake.
        index: rows of it (B,), in range.
        steps: bound to the bake, see `readers.augment.bind`; they make pictures of one size.
        values: what floating numbers in `out` mean.
        uniform: called by each step for each number that it draws, always in the same order: one in [0, 1) for each picture.
        out: of a floating type, or of the levels' own, uint8 or uint16; (h, w) is `render_size`.
    """
    gather(rows, index, look(rows, index, steps, uniform), values=values, out=out)
    for step in _for_each(steps):
        if isinstance(step, RandomErasing):
            step.apply(out.permute(0, 3, 1, 2), uniform)


def look(rows: Rows, index: Index, steps: Sequence[Step], uniform: Uniform) -> Window:
    """Where the steps look at each row; arguments as `render`'s."""
    window = Window(len(index), *rows.layout.sizes(index))
    for step in _for_each(steps):
        if isinstance(step, Augment):
            step.apply(window, uniform)
    return window


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


def render_size(rows: Rows, steps: Sequence[Step], index: Index) -> tuple[int, int, int]:
    """(h, w, C) of rendered pictures of some rows; functions of a batch may still change it.

    Raises:
        PrebakeError: a row is smaller than what is cut out of it, or pictures would differ in size.
    """
    try:
        height, width = size_after(steps, *rows.layout.sizes(index))
    except TooSmallError as error:
        i = int(index[error.number])
        what = f"shard {rows.layout.shard_name(i)}: {error} or --upscale; RandomResizedCrop takes any row, subset() leaves rows out"
        raise rows.layout.named(what, i) from None
    high, wide = (np.broadcast_to(side, index.shape) for side in (height, width))
    if (high != high[:1]).any() or (wide != wide[:1]).any():
        other = int(((high != high[0]) | (wide != wide[0])).argmax())
        raise PrebakeError(
            f"pictures of one batch differ in size ({high[0]}x{wide[0]}, {high[other]}x{wide[other]}): add RandomResizedCrop(224), "
            "RandomCrop(224) or CenterCrop(224) to augment=, or take them one by one"
        )
    return int(high[0]), int(wide[0]), rows.manifest.channels


def size_after(steps: Sequence[Step], height: Sides, width: Sides) -> tuple[Sides, Sides]:
    """What pictures of a size, or of sizes (B,), become.

    Raises:
        TooSmallError: one is smaller than what is cut out of it.
    """
    for step in steps:
        if isinstance(step, Augment):
            height, width = step.bind(height, width)
    return height, width


def _for_each(steps: Sequence[Step]) -> list[Augment | RandomErasing]:
    """The steps before the first function of a batch."""
    first = list[Augment | RandomErasing]()
    for step in steps:
        if not isinstance(step, Augment | RandomErasing):
            break
        first.append(step)
    return first
