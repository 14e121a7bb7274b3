"""The one copy: from the mapped rows into the batch, cropped, flipped, cast and normalised on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from convert.manifest import Manifest
from readers.augment import Window
from readers.rows import Index, Rows
from readers.windows import copy_windows

STORED = {"float16": torch.float16, "float32": torch.float32, "uint8": torch.uint8, "uint16": torch.uint16}


class Normalise:
    """Levels to normalised values: `level * scale + shift`, along a line of pixels so that it runs in whole vectors."""

    def __init__(self, manifest: Manifest, width: int) -> None:
        """For lines of `width` pixels."""
        mean, std = (torch.tensor(values, dtype=torch.float64, device="cpu") for values in (manifest.mean, manifest.std))
        top = torch.iinfo(STORED[manifest.dtype]).max
        self._scale, self._shift = (1 / (top * std)).float().repeat(width), (-mean / std).float().repeat(width)

    def __call__(self, images: torch.Tensor) -> None:
        """Normalise float32 levels (H, W, C), contiguous, in place."""
        lines = images.view(images.shape[0], -1)
        torch.addcmul(self._shift, lines, self._scale, out=lines)


def gather(rows: Rows, index: Index, window: Window, out: torch.Tensor) -> None:
    """Copy the windows of rows into `out` (B, h, w, C), a contiguous tensor of a floating type, or of the stored type.

    One strided copy for each picture, which casts as it copies: as fast as `index_select` on overlapping windows where nothing is cast
    or flipped, and faster where something is. A flip goes by way of a picture-sized copy that stays in the cache.
    """
    manifest = rows.manifest
    stored = STORED[manifest.dtype]
    _, width, channels = manifest.shape
    item = manifest.row.itemsize
    starts = rows.addresses(index) + (window.top * width + window.left) * channels * item
    normalise = None if manifest.normalized or out.dtype == stored else Normalise(manifest, window.width)
    scratch = torch.empty(out.shape[1:], dtype=torch.float32, device="cpu") if normalise and out.dtype != torch.float32 else None
    aligned = not (starts % item).any()
    source = rows.arena.view(stored if aligned else torch.uint8)
    unit = item if aligned else 1
    shape = (window.height, window.width, channels * item // unit)
    stride = (width * channels * item // unit, channels * item // unit, 1)
    flips = [tuple(dim for dim, on in ((1, rows_too), (2, columns)) if on) for rows_too, columns in _flips(window)]
    if aligned and normalise is None:
        copy_windows(source, starts // item, stride[0], flips=[tuple(dim - 1 for dim in flip) for flip in flips], out=out)
        return
    for start, flip, image in zip((starts // unit).tolist(), flips, out.unbind(0), strict=True):
        pixels = torch.as_strided(source, shape, stride, start)
        if not aligned:  # tiny rows inside LMDB's pages: bytes first, then a look at them as numbers
            pixels = pixels.clone(memory_format=torch.contiguous_format).view(stored)
        if flip:
            pixels = pixels.permute(2, 0, 1).flip(flip).permute(1, 2, 0)
        if normalise is None:
            image.copy_(pixels)
        else:
            levels = image if scratch is None else scratch
            levels.copy_(pixels)
            normalise(levels)
            if scratch is not None:
                image.copy_(scratch)


def _flips(window: Window) -> list[tuple[bool, bool]]:
    return list(zip(window.flip_rows.tolist(), window.flip_columns.tolist(), strict=True))


def read_row(rows: Rows, index: int) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
    """One whole row as levels (H, W, C), exact for every dtype: uint16 where that is stored, else uint8."""
    manifest = rows.manifest
    height, width, channels = manifest.shape
    out = torch.empty((1, height, width, channels), dtype=STORED[manifest.dtype], device="cpu")
    gather(rows, np.array([index], np.int64), Window(1, height, width), out)
    return out[0].numpy() if manifest.dtype == "uint16" else manifest.to_levels(out[0].numpy())
