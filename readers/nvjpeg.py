"""JPEG rows decoded by a CUDA device: threads only read the files and draw the boxes; the device decodes, cuts and resizes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from convert.errors import PrebakeError, printable
from readers.augment import Augment, RandomCrop
from readers.fill import Fill
from readers.layout import Index
from readers.parts import check_files, each_box

Box = tuple[int, int, int, int]
"""Top, left, height and width."""


class Undecoded(NamedTuple):
    """A picture of a batch, as a file."""

    file: torch.Tensor
    """The JPEG's bytes, on the CPU."""
    part: Box
    """Of the row."""
    resized: tuple[int, int] | None
    """What that becomes; None: it is not resized."""
    seen: Box
    """Of what it became; not looked at where it is not resized."""


class NvJpeg:
    """Makes batches of levels on a device. Its decoder is not libjpeg-turbo: pixels are its own."""

    def __init__(self, fill: Fill, device: torch.device) -> None:
        """For a data set.

        Raises:
            PrebakeError: its rows are no JPEGs, or a step cannot be taken on the device.
        """
        if fill.rows.manifest.encoding != "jpeg":
            raise PrebakeError('decode="nvjpeg": the rows of this bake are pixels, not JPEGs: leave decode= out')
        padded = any(isinstance(step, RandomCrop) and any(step.borders) for step in fill.steps)
        if padded or not fill.plain:
            raise PrebakeError(
                f'decode="nvjpeg" takes crops without padding, RandomResizedCrop and flips, not {printable(repr(fill.steps))}: '
                "leave decode= out, or do the rest to each batch"
            )
        self._fill, self._device = fill, device

    def take(self, places: Index, *, epoch: int, positions: Index, note: Augment) -> list[Undecoded]:
        """Rows of the bake as files, with what the steps say of each; `note` is a last step, see `Fill.leave`.

        Raises:
            PrebakeError: a row cannot be read.
        """
        window = self._fill.look(places, epoch=epoch, positions=positions, note=note)
        seen = list(each_box(window.seen()[0], places))
        parts = seen if window.boxes is None else each_box(window.boxes, places)
        resized = None if window.boxes is None else window.resized
        files = [torch.from_numpy(row.copy()) for row in self._fill.rows.stored(places)]
        return [Undecoded(file, part, resized, one) for file, part, one in zip(files, parts, seen, strict=True)]

    def make(self, batch: Sequence[Undecoded], places: Index) -> torch.Tensor:
        """Levels (B, C, h, w), channels_last, uint8, on the device.

        Raises:
            PrebakeError: a row cannot be decoded.
        """
        height, width, channels = self._fill.size
        made = torch.empty((len(batch), height, width, channels), dtype=torch.uint8, device=self._device).permute(0, 3, 1, 2)
        for image, one, picture in zip(made, batch, self._decoded(batch, places), strict=True):
            pixels = _cut(picture, one.part)
            if one.resized is not None:
                pixels = torch.nn.functional.interpolate(pixels[None].float(), one.resized, mode="bilinear", antialias=True)[0]
                pixels = _cut(pixels, one.seen).round_().clamp_(0, 255)
            image.copy_(pixels)
        return made

    def _decoded(self, batch: Sequence[Undecoded], places: Index) -> list[torch.Tensor]:
        from torchvision.io import decode_jpeg

        rows = self._fill.rows
        mode = "RGB" if rows.manifest.channels == 3 else "GRAY"
        try:
            with warnings.catch_warnings():  # deprecated for a package that is not everywhere; there is nothing a user could do
                warnings.simplefilter("ignore", DeprecationWarning)
                pictures: list[torch.Tensor] = decode_jpeg([one.file for one in batch], mode, device=self._device)
        except RuntimeError as error:
            check_files(rows, places)  # names the one that is broken
            raise PrebakeError(f'decode="nvjpeg": {printable(error)}: leave decode= out') from error
        sizes = zip(*(np.broadcast_to(side, places.shape).tolist() for side in rows.layout.sizes(places)), strict=True)
        if any(tuple(picture.shape[1:]) != size for picture, size in zip(pictures, sizes, strict=True)):
            check_files(rows, places)
        return pictures


def _cut(picture: torch.Tensor, box: Box) -> torch.Tensor:
    top, left, height, width = box
    return picture[:, top : top + height, left : left + width]


def decoding_for(decode: str, fill: Fill, device: torch.device | None) -> NvJpeg | None:
    """What decodes on a device; None where the CPU does.

    Raises:
        PrebakeError: no such word, no CUDA device, or see `NvJpeg`.
    """
    if decode == "cpu":
        return None
    if decode != "nvjpeg":
        raise PrebakeError(f'decode={decode!r}: choose "cpu", or "nvjpeg" for JPEG rows on a CUDA device')
    if device is None:
        raise PrebakeError('decode="nvjpeg" decodes on a CUDA device: give device="cuda", or leave decode= out')
    return NvJpeg(fill, device)
