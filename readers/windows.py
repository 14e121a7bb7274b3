"""Copies windows of mapped rows into a batch in few calls: a thread that copies should not wait for Python's lock after each picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from readers.layout import Index, Sides
from readers.strips import flipped, strip_height, strips

MOST_NUMEL = 1 << 62
"""Numbers that torch can count in one tensor, overlapping ones too."""
FLIPPED_NBYTES = 2 << 20
"""Of flipped pictures that wait for their copy: they should still be in the cache when it comes."""

Flip = tuple[int, ...]


def copy_windows(source: torch.Tensor, starts: Index, line: Sides, *, flips: Sequence[Flip], out: torch.Tensor) -> None:
    """Fill `out` (B, h, w, C), contiguous, with windows of flat `source`, cast to its type.

    Args:
        source: all rows, numbers of one type.
        starts: where in it each window begins (B,).
        line: numbers from one line of a window to the next, the same for all or (B,).
        flips: for each picture the axes that are turned round: 0 for rows, 1 for columns.
        out: of any type.
    """
    batch, height, width, channels = out.shape
    whole = strip_height(out[0]) == height
    plain = source.dtype == out.dtype and not any(flips)
    if isinstance(line, int) and whole and plain and _copied_at_once(source, starts, line, out):
        return
    shape, lines = (height, width, channels), np.broadcast_to(line, starts.shape)
    group = max(1, FLIPPED_NBYTES // (height * width * channels * source.dtype.itemsize))
    images = out.unbind(0)
    for first in range(0, batch, group):
        last = first + group
        places = zip(starts[first:last].tolist(), lines[first:last].tolist(), strict=True)
        pictures = [torch.as_strided(source, shape, (line, channels, 1), start) for start, line in places]
        pictures = [flipped(picture, flip) if flip else picture for picture, flip in zip(pictures, flips[first:last], strict=True)]
        pairs = [images[first:last], pictures] if whole else [_cut(images[first:last]), _cut(pictures)]
        torch._foreach_copy_(*pairs)  # a loop of copies, which lets go of Python's lock once


def _copied_at_once(source: torch.Tensor, starts: Index, line: int, out: torch.Tensor) -> bool:
    """False where there are more numbers than torch can count."""
    batch, height, width, channels = out.shape
    windows = len(source) - ((height - 1) * line + width * channels) + 1
    if windows * height * width * channels >= MOST_NUMEL:
        return False
    # every window that there could be, overlapping: a look at the source, made of nothing
    every = torch.as_strided(source, (windows, height, width * channels), (1, line, 1))
    for some, index in strips(out.view(batch, height, width * channels), torch.from_numpy(starts)):
        torch.index_select(every, 0, index, out=some)
    return True


def _cut(pictures: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [part for picture in pictures for (part,) in strips(picture)]
