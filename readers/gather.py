"""The one copy: from the mapped rows into the batch, cropped, flipped, cast and normalised on the way."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image

from readers.augment import Box, Window
from readers.levels import Conversion, Levels
from readers.picture import to_picture
from readers.rows import Index, Rows
from readers.strips import copy, flipped
from readers.values import STORED, Values, baked_values
from readers.windows import copy_windows


def gather(rows: Rows, index: Index, window: Window, *, values: Values, out: torch.Tensor) -> None:
    """Copy the windows of rows into `out` (B, h, w, C), a contiguous tensor: of a floating type, or of the levels' own.

    One strided copy for each picture, which casts as it copies: as fast as `index_select` on overlapping windows where nothing is cast
    or flipped, and faster where something is. A flip goes by way of a picture-sized copy that stays in the cache.
    """
    seen, places = window.seen()
    convert = Conversion(rows.manifest, values, out, levels=window.boxes is not None)
    if window.boxes is None:
        if places is None and convert.plain and _copied(rows, index, window, out):
            return
        pictures = _stored(rows, index, seen)
    else:
        pictures = map(_cut, _resized(rows, index, window.boxes, window.source), *seen[:2], *map(_each, seen[2:]))
    at = itertools.repeat(None) if places is None else places.T.tolist()
    for pixels, flip, place, image in zip(pictures, _flips(window), at, out.unbind(0), strict=False):
        if flip:  # under the same name: the copy of the picture before is free by now, and its memory, still in the cache, is used again
            pixels = flipped(pixels, flip)
        if place is None and convert.plain:
            copy(image, pixels)
        else:
            convert(image, pixels, place)


def _copied(rows: Rows, index: Index, window: Window, out: torch.Tensor) -> bool:
    """Copy windows as they are, in few calls; False where their rows are no aligned numbers in mapped memory."""
    _, width, channels = rows.manifest.shape
    item = rows.manifest.row.itemsize
    if rows.io == "pread":
        return False
    starts = rows.addresses(index) + (window.top * width + window.left) * channels * item
    if (starts % item).any():
        return False
    source = rows.arena.view(STORED[rows.manifest.dtype])
    copy_windows(source, starts // item, width * channels, flips=_flips(window), out=out)
    return True


def _flips(window: Window) -> list[tuple[int, ...]]:
    """The axes of (h, w, C) in which each picture is flipped."""
    kinds = (), (1,), (0,), (0, 1)
    return [kinds[kind] for kind in (2 * window.flip_rows + window.flip_columns).tolist()]


def _each(side: int | Index) -> Iterable[int]:
    return itertools.repeat(side) if isinstance(side, int) else side.tolist()


def _cut(picture: torch.Tensor, top: int, left: int, height: int, width: int) -> torch.Tensor:  # noqa: PLR0917 - as many as a box has
    return picture[top : top + height, left : left + width]


def _stored(rows: Rows, index: Index, box: Box) -> Iterator[torch.Tensor]:
    """A part of each row, as it is stored: (h, w, C), a look at mapped memory."""
    manifest = rows.manifest
    stored = STORED[manifest.dtype]
    if rows.io == "pread":
        yield from _read(rows, index, box)
        return
    _, width, channels = manifest.shape
    item = manifest.row.itemsize
    starts = rows.addresses(index) + (box[0] * width + box[1]) * channels * item
    aligned = not (starts % item).any()
    source = rows.arena.view(stored if aligned else torch.uint8)
    unit = item if aligned else 1
    pixel = channels * item // unit
    stride = (width * pixel, pixel, 1)
    for start, *shape in zip((starts // unit).tolist(), *map(_each, box[2:]), itertools.repeat(pixel), strict=False):
        pixels = torch.as_strided(source, shape, stride, start)
        # tiny rows inside LMDB's pages: bytes first, then a look at them as numbers
        yield pixels if aligned else pixels.clone(memory_format=torch.contiguous_format).view(stored)


def _read(rows: Rows, index: Index, box: Box) -> Iterator[torch.Tensor]:
    """The same by plain reads, of whole lines into memory that is used again for the next row."""
    _, width, channels = rows.manifest.shape
    top, left, height, wide = (np.broadcast_to(side, index.shape) for side in box)
    shapes = zip(left.tolist(), height.tolist(), wide.tolist(), strict=True)
    for lines, (start, high, across) in zip(rows.read_lines(index, top, height), shapes, strict=True):
        yield lines.view(STORED[rows.manifest.dtype]).view(high, width, channels)[:, start : start + across]


def _resized(rows: Rows, index: Index, boxes: Box, size: tuple[int, int]) -> Iterator[torch.Tensor]:
    """A box of each row, as levels, resized: (h, w, C).

    The box is cut out before it is resized, as torchvision does: Pillow's `resize(box=)` would look beyond its edges.
    """
    height, width = size
    levels = Levels(rows.manifest)
    for pixels in _stored(rows, index, boxes):
        picture = to_picture(levels(pixels)).resize((width, height), Image.Resampling.BILINEAR)
        yield torch.from_numpy(np.array(picture)).view(height, width, -1)


def read_row(rows: Rows, index: int) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
    """One whole row as levels (H, W, C), exact for every dtype: uint16 where that is stored, else uint8."""
    manifest = rows.manifest
    height, width, channels = manifest.shape
    out = torch.empty((1, height, width, channels), dtype=STORED[manifest.dtype], device="cpu")
    gather(rows, np.array([index], np.int64), Window(1, height, width), values=baked_values(manifest), out=out)
    return out[0].numpy() if manifest.dtype == "uint16" else manifest.to_levels(out[0].numpy())
