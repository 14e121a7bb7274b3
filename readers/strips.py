"""Cuts pictures into strips of lines so small that torch computes on each in the calling thread.

torch shares out larger work among OpenMP's threads. A picture gains nothing by that, and it waits for all of them: on a machine that is
busy much longer than its copy takes, and for ever in a process that was forked after its parent had used them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

GRAIN = 1 << 15
"""Numbers from which on torch uses threads (`at::internal::GRAIN_SIZE`)."""


def strip_height(picture: torch.Tensor) -> int:
    """Lines of a strip of a picture (h, ...): all of them where torch uses no other thread, as in a Loader's threads or on a GPU."""
    if torch.get_num_threads() == 1 or picture.numel() < GRAIN or not picture.is_cpu:
        return len(picture)
    return max(1, (GRAIN - 1) * len(picture) // picture.numel())


def strips(*pictures: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    """The strips of pictures (h, ...) of one height side by side; the first picture is as large as any."""
    height = strip_height(pictures[0])
    if height == len(pictures[0]):
        return iter((pictures,))
    return zip(*(torch.split(picture, height) for picture in pictures), strict=True)


def copy(out: torch.Tensor, picture: torch.Tensor) -> None:
    """Copy a picture into another (h, w, C), and cast it."""
    if out.dtype == picture.dtype == torch.uint8:
        np.copyto(out.numpy(), picture.numpy())  # line by line, half of torch's time
        return
    if strip_height(out) == len(out):
        out.copy_(picture)
        return
    for to, part in strips(out, picture):
        to.copy_(part)


def flipped(picture: torch.Tensor, flip: Sequence[int]) -> torch.Tensor:
    """A copy of a picture (h, w, C) with some axes turned round: 0 for rows, 1 for columns."""
    axes = [axis + 1 for axis in flip]  # of (C, h, w), for which torch has a fast way
    height, step = len(picture), strip_height(picture)
    if step == height:
        return picture.permute(2, 0, 1).flip(axes).permute(1, 2, 0)
    out = torch.empty(picture.shape, dtype=picture.dtype, device="cpu")
    for first in range(0, height, step):
        last = min(first + step, height)
        part = picture[height - last : height - first] if 0 in flip else picture[first:last]
        out[first:last] = part.permute(2, 0, 1).flip(axes).permute(1, 2, 0)
    return out


def planes(picture: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A copy of a picture (h, w, C) as (C, h, w), contiguous, cast to a type if one is given."""
    height, width, channels = picture.shape
    out = torch.empty((channels, height, width), dtype=dtype or picture.dtype, device="cpu")
    copy(out.permute(1, 2, 0), picture)
    return out
