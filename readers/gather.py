"""The one copy: from the stored rows into the batch, cropped, flipped, cast and normalised on the way."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch

from readers.augment import Window
from readers.levels import Conversion
from readers.parts import decode_rows, each_box, parts, resized
from readers.rows import Index, Rows
from readers.strips import copy, flipped
from readers.values import STORED, Values, baked_values
from readers.windows import copy_windows


def gather(rows: Rows, index: Index, window: Window, *, values: Values, out: torch.Tensor) -> None:
    """Put the windows of rows into `out` (B, h, w, C), a contiguous tensor: of a floating type, or of the levels' own.

    Of raw rows, one strided copy for each picture, which casts as it copies: as fast as `index_select` on overlapping windows where
    nothing is cast or flipped, and faster where something is. A flip goes by way of a picture-sized copy that stays in the cache.
    """
    seen, places = window.seen()
    convert = Conversion(rows.manifest, values, out, levels=window.boxes is not None)
    if window.boxes is None:
        if places is None and convert.plain and _straight(rows, index, window, out):
            return
        pictures = parts(rows, index, seen)
    else:
        cuts = each_box(seen, index)
        pictures = (
            picture[top : top + height, left : left + width]
            for picture, (top, left, height, width) in zip(resized(rows, index, window.boxes, window.resized), cuts, strict=True)
        )
    at = itertools.repeat(None) if places is None else places.T.tolist()
    for pixels, flip, place, image in zip(pictures, _flips(window), at, out.unbind(0), strict=False):
        if flip:  # under the same name: the copy of the picture before is free by now, and its memory, still in the cache, is used again
            pixels = flipped(pixels, flip)
        if place is None and convert.plain:
            copy(image, pixels)
        else:
            convert(image, pixels, place)


def _straight(rows: Rows, index: Index, window: Window, out: torch.Tensor) -> bool:
    """Fill `out` with no step between, where that is possible; else False."""
    if rows.manifest.encoding == "raw":
        return _copied(rows, index, window, out)
    whole = all(np.all(np.equal(side, made)) for side, made in zip(rows.layout.sizes(index), out.shape[1:3], strict=True))
    if not whole or out.dtype != torch.uint8 or window.flip_rows.any() or window.flip_columns.any():
        return False
    decode_rows(rows, index, out)
    return True


def _copied(rows: Rows, index: Index, window: Window, out: torch.Tensor) -> bool:
    """Copy windows as they are, in few calls; False where their rows are no aligned numbers in mapped memory."""
    _, width = rows.layout.sizes(index)
    channels, item = rows.manifest.channels, rows.manifest.row.itemsize
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


def read_row(rows: Rows, index: int) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
    """One whole row as levels (H, W, C), exact for every dtype: uint16 where that is stored, else uint8."""
    manifest, place = rows.manifest, np.array([index], np.int64)
    height, width = (int(np.max(side)) for side in rows.layout.sizes(place))
    out = torch.empty((1, height, width, manifest.channels), dtype=STORED[manifest.dtype], device="cpu")
    gather(rows, place, Window(1, height, width), values=baked_values(manifest), out=out)
    return out[0].numpy() if manifest.dtype == "uint16" else manifest.to_levels(out[0].numpy())
