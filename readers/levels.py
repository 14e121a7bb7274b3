"""The way from stored numbers to exact levels, and to the values of a batch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from convert.manifest import Manifest
from readers.scratch import scratch
from readers.strips import copy, strips
from readers.values import STORED, Values, baked_values


class _Affine:
    """`numbers * scale + shift`, channel by channel, along lines of pixels so that it runs in whole vectors."""

    def __init__(self, scale: torch.Tensor, shift: torch.Tensor, width: int) -> None:
        """`scale` and `shift` (C,), float64."""
        self._scale, self._shift = scale.float().repeat(width), shift.float().repeat(width)
        self._length = len(self._scale)

    def __call__(self, lines: torch.Tensor, out: torch.Tensor | None = None) -> None:
        """On float32 (h, w * C), where w is up to the width: in place, or into other memory."""
        length = lines.shape[1]
        whole = length == self._length  # slicing costs more than looking
        scale, shift = (self._scale, self._shift) if whole else (self._scale[:length], self._shift[:length])
        torch.addcmul(shift, lines, scale, out=lines if out is None else out)


def _float32(use: str, count: int) -> torch.Tensor:
    return torch.from_numpy(scratch(use, 4 * count).view(np.float32))


def _float64(numbers: Sequence[float]) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64, device="cpu")


def _levels_of(manifest: Manifest, width: int, add: float) -> _Affine:
    """From normalised values to levels, off by less than 1/4 (see `Manifest.to_levels`), plus something."""
    return _Affine(255 * _float64(manifest.std), 255 * _float64(manifest.mean) + add, width)


def _values_of(manifest: Manifest, values: Values, width: int) -> _Affine:
    """From levels to values."""
    top = torch.iinfo(torch.uint8 if manifest.normalized else STORED[manifest.dtype]).max
    return _Affine(*values.affine(top), width)


class Levels:
    """Takes the levels, exact, out of stored pixels, one part of a row after the other."""

    def __init__(self, manifest: Manifest, height: int, width: int) -> None:
        """For parts of rows of a bake, up to a size."""
        self._affine = _levels_of(manifest, width, 0.5) if manifest.normalized else None
        self._buffer = _float32("levels", height * width * manifest.channels if manifest.normalized else 0)

    def __call__(self, pixels: torch.Tensor) -> npt.NDArray[Any]:
        """From stored pixels (h, w, C): the same, contiguous, uint8 or uint16."""
        if self._affine is None:
            return np.ascontiguousarray(pixels.numpy())
        copied = self._buffer[: pixels.numel()].view(pixels.shape)
        for part, some in strips(copied, pixels):
            part.copy_(some)
            self._affine(part.view(len(part), -1))
        with np.errstate(invalid="ignore"):  # a damaged row holds anything
            return copied.numpy().astype(np.uint8)  # cuts off: a half was added


class Conversion:
    """Puts pictures into a batch: cast, and turned from stored numbers into the values that are asked for."""

    def __init__(self, manifest: Manifest, values: Values, out: torch.Tensor, *, levels: bool) -> None:
        """For a batch `out` (B, h, w, C), contiguous: levels if its type is a whole one, else values.

        With `levels`, pictures come as levels, whatever the bake stores.
        """
        _, height, width, channels = out.shape
        whole = not out.dtype.is_floating_point
        self._normalized = manifest.normalized and not levels
        same = whole if not self._normalized else not whole and values == baked_values(manifest)
        self._manifest = manifest
        self._to_levels = _levels_of(manifest, width, 0.5 * whole) if self._normalized and not same else None
        self._to_values = None if same or whole else _values_of(manifest, values, width)
        self._scratch: torch.Tensor | None = None
        if not same:  # also for float32: a batch is larger than the cache, and better written once
            self._scratch = _float32("values", height * width * channels).view(height, width, channels)
        self._width = width
        self.plain = same
        """Whether there is nothing to do but `copy_`, where nothing is black."""

    def __call__(self, image: torch.Tensor, pixels: torch.Tensor, place: Sequence[int] | None) -> None:
        """Fill a picture of the batch with pixels (h, w, C); with a place (top, left), by less than all of it, and black around."""
        work = image if self._scratch is None else self._scratch
        if place is None:
            copy(work, pixels)
        else:
            self._frame(work, pixels, *place)
        if not self.plain:
            for part, made in strips(work, image):
                self._turn(part, made)

    def _turn(self, work: torch.Tensor, image: torch.Tensor) -> None:
        """Stored numbers into values, and those into a part of the picture, if they are not there."""
        lines = work.view(len(work), -1)
        if self._to_levels is not None:
            self._to_levels(lines)
        if self._to_values is not None:
            if self._to_levels is not None:
                np.rint(lines.numpy(), out=lines.numpy())  # torch would use threads for that already in one line
            if image.dtype == torch.float32:
                self._to_values(lines, image.view(len(image), -1))
                return
            self._to_values(lines)
        _cast(work, image)

    @functools.cached_property
    def _black(self) -> torch.Tensor:
        """A line (W * C) of what a black pixel comes as."""
        mean, std = _float64(self._manifest.mean), _float64(self._manifest.std)
        return (-mean / std if self._normalized else 0 * mean).to(STORED[self._manifest.dtype]).repeat(self._width)

    def _frame(self, work: torch.Tensor, pixels: torch.Tensor, top: int, left: int) -> None:
        """Pixels at their place, and black lines around it."""
        lines = work.view(len(work), -1)
        height, width, channels = pixels.shape
        middle = lines[top : top + height]
        for part in (lines[:top], lines[top + height :], middle[:, : left * channels], middle[:, (left + width) * channels :]):
            if part.numel():
                part.copy_(self._black[: part.shape[1]])
        copy(work[top : top + height, left : left + width], pixels)


def _cast(work: torch.Tensor, image: torch.Tensor) -> None:
    if image.dtype == torch.uint8:
        with np.errstate(invalid="ignore"):  # a damaged row holds anything
            np.copyto(image.numpy(), work.numpy(), casting="unsafe")  # cuts off; four times as fast as torch's
    else:
        image.copy_(work)
