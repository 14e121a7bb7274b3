"""Parts of rows, one after the other: as they are stored, decoded, or resized. Each is to be used before the next is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import torch

from readers.augment import Box, Sides
from readers.jpeg import Decoder, scale_for
from readers.layout import Index
from readers.levels import Levels
from readers.resize import Resize
from readers.rows import Rows
from readers.scratch import scratch
from readers.values import STORED


def parts(rows: Rows, index: Index, box: Box) -> Iterator[torch.Tensor]:
    """A part of each row (h, w, C), in the stored type; of JPEGs, levels."""
    if rows.manifest.encoding == "jpeg":
        for levels, (top, left, height, width) in zip(_decoded(rows, index), each_box(box, index), strict=True):
            yield torch.from_numpy(levels[top : top + height, left : left + width])
    elif rows.io == "pread":
        yield from _read(rows, index, box)
    else:
        yield from _mapped(rows, index, box)


def resized(rows: Rows, index: Index, boxes: Box, size: tuple[int, int]) -> Iterator[torch.Tensor]:
    """A box of each row, as levels, resized: (h, w, C).

    The box is cut out before it is resized, as torchvision does: Pillow's `resize(box=)` would look beyond its edges.
    """
    resize = Resize(*size, rows.manifest.channels)
    if rows.manifest.encoding == "raw":
        levels = Levels(rows.manifest, int(np.max(boxes[2])), int(np.max(boxes[3])))
        for pixels in parts(rows, index, boxes):
            yield resize(levels(pixels))
        return
    each = list(each_box(boxes, index))
    scales = [scale_for((height, width), size) for _, _, height, width in each]
    for picture, (top, left, height, width), scale in zip(_decoded(rows, index, scales), each, scales, strict=True):
        if scale == 1:
            cut = scratch("cut", height * width * picture.shape[2]).reshape(height, width, -1)
            np.copyto(cut, picture[top : top + height, left : left + width])
            yield resize(cut)
        else:
            yield resize.inside(picture, tuple(side / scale for side in (top, left, top + height, left + width)))


def decode_rows(rows: Rows, index: Index, out: torch.Tensor) -> None:
    """Decode whole rows, which are JPEGs, straight into `out` (B, H, W, C), uint8, contiguous."""
    for _ in _decoded(rows, index, into=list(out.numpy())):
        pass


def check_files(rows: Rows, index: Index) -> None:
    """Decode rows, which are JPEGs, for nothing but to see that it can be done.

    Raises:
        PrebakeError: one cannot be decoded, or is of another size; names it.
    """
    for _ in _decoded(rows, index):
        pass


def each_box(box: Box, index: Index) -> Iterator[tuple[int, int, int, int]]:
    """Top, left, height and width of a box in each row."""
    top, left, height, width = (_each(side, index) for side in box)
    return zip(top, left, height, width, strict=True)


def _decoded(
    rows: Rows,
    index: Index,
    scales: Iterable[int] = itertools.repeat(1),
    into: Iterable[npt.NDArray[np.uint8] | None] = itertools.repeat(None),
) -> Iterator[npt.NDArray[np.uint8]]:
    decode, layout = Decoder(rows.manifest.channels), rows.layout
    height, width = (_each(side, index) for side in layout.sizes(index))
    for i, data, high, wide, scale, memory in zip(index.tolist(), rows.stored(index), height, width, scales, into, strict=False):
        try:
            levels = decode(data, high, wide, scale=scale, into=memory)
        except ValueError as error:
            raise layout.named(f"shard {layout.shard_name(i)}: {error}: copy the whole bake again, or bake again", i) from error
        yield levels


def _each(side: Sides, index: Index) -> list[int]:
    whole: list[int] = np.broadcast_to(side, index.shape).tolist()
    return whole


def _mapped(rows: Rows, index: Index, box: Box) -> Iterator[torch.Tensor]:
    """A look at mapped memory."""
    manifest = rows.manifest
    _, width = rows.layout.sizes(index)
    stored, item, channels = STORED[manifest.dtype], manifest.row.itemsize, manifest.channels
    starts = rows.addresses(index) + (box[0] * width + box[1]) * channels * item
    aligned = not (starts % item).any()
    source = rows.arena.view(stored if aligned else torch.uint8)
    unit = item if aligned else 1
    pixel = channels * item // unit
    lines, shapes = _each(width, index), zip(_each(box[2], index), _each(box[3], index), strict=True)
    for start, line, (high, across) in zip((starts // unit).tolist(), lines, shapes, strict=True):
        pixels = torch.as_strided(source, (high, across, pixel), (line * pixel, pixel, 1), start)
        # tiny rows inside LMDB's pages: bytes first, then a look at them as numbers
        yield pixels if aligned else pixels.clone(memory_format=torch.contiguous_format).view(stored)


def _read(rows: Rows, index: Index, box: Box) -> Iterator[torch.Tensor]:
    """The same by plain reads, of whole lines into memory that is used again for the next row."""
    manifest = rows.manifest
    width = np.broadcast_to(rows.layout.sizes(index)[1], index.shape)
    line = width * manifest.channels * manifest.row.itemsize
    read = rows.read(index, np.asarray(box[0] * line), np.asarray(np.broadcast_to(box[2], index.shape) * line))
    for lines, wide, (_, left, height, across) in zip(read, width.tolist(), each_box(box, index), strict=True):
        yield lines.view(STORED[manifest.dtype]).view(height, wide, manifest.channels)[:, left : left + across]
