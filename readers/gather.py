"""The one copy: from the mapped rows into the batch, cropped, flipped, cast and normalised on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from convert.manifest import Manifest
from readers.augment import Window
from readers.rows import Index, Rows

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
    normalise = None if manifest.normalized or out.dtype == stored else Normalise(manifest, window.width)
    scratch = torch.empty(out.shape[1:], dtype=torch.float32, device="cpu") if normalise and out.dtype != torch.float32 else None
    flips = [tuple(dim for dim, on in ((1, rows_too), (2, columns)) if on) for rows_too, columns in _flips(window)]
    pictures = _read(rows, index, window) if rows.io == "pread" else _mapped(rows, index, window)
    for pixels, flip, image in zip(pictures, flips, out.unbind(0), strict=True):
        turned = pixels.permute(2, 0, 1).flip(flip).permute(1, 2, 0) if flip else pixels
        if normalise is None:
            image.copy_(turned)
        else:
            levels = image if scratch is None else scratch
            levels.copy_(turned)
            normalise(levels)
            if scratch is not None:
                image.copy_(scratch)


def _mapped(rows: Rows, index: Index, window: Window) -> Iterator[torch.Tensor]:
    """The window of each row as it is stored, (h, w, C): a look at mapped memory."""
    stored = STORED[rows.manifest.dtype]
    _, width, channels = rows.manifest.shape
    item = rows.manifest.row.itemsize
    starts = rows.addresses(index) + (window.top * width + window.left) * channels * item
    aligned = not (starts % item).any()
    source = rows.arena.view(stored if aligned else torch.uint8)
    unit = item if aligned else 1
    shape = (window.height, window.width, channels * item // unit)
    stride = (width * channels * item // unit, channels * item // unit, 1)
    for start in (starts // unit).tolist():
        pixels = torch.as_strided(source, shape, stride, start)
        # tiny rows inside LMDB's pages: bytes first, then a look at them as numbers
        yield pixels if aligned else pixels.clone(memory_format=torch.contiguous_format).view(stored)


def _read(rows: Rows, index: Index, window: Window) -> Iterator[torch.Tensor]:
    """The same by plain reads, of whole lines into memory that is used again for the next row."""
    _, width, channels = rows.manifest.shape
    lefts = window.left.tolist()
    for lines, left in zip(rows.read_lines(index, window.top, np.full_like(index, window.height)), lefts, strict=True):
        yield lines.view(STORED[rows.manifest.dtype]).view(window.height, width, channels)[:, left : left + window.width]


def _flips(window: Window) -> list[tuple[bool, bool]]:
    return list(zip(window.flip_rows.tolist(), window.flip_columns.tolist(), strict=True))


def read_row(rows: Rows, index: int) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
    """One whole row as levels (H, W, C), exact for every dtype: uint16 where that is stored, else uint8."""
    manifest = rows.manifest
    height, width, channels = manifest.shape
    out = torch.empty((1, height, width, channels), dtype=STORED[manifest.dtype], device="cpu")
    gather(rows, np.array([index], np.int64), Window(1, height, width), out)
    return out[0].numpy() if manifest.dtype == "uint16" else manifest.to_levels(out[0].numpy())
