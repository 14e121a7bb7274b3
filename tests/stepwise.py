"""The oracle for crops, flips and resizing: torchvision's functions, with numbers that our steps drew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL
import torch
from torchvision.transforms import functional as vision

from readers import CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip

SIMD = ".post" in PIL.__version__
"""Whether Pillow is Pillow-SIMD, whose filter rounds as torch's does; Pillow's own differs by a level in some pixels."""


def resized_alike(ours: npt.NDArray[Any], pillows: npt.NDArray[Any]) -> bool:
    """Whether levels are Pillow's: to the bit, if that can be."""
    away = np.abs(ours.astype(np.int64) - pillows)
    return not away.any() if SIMD or pillows.dtype != np.uint8 else bool(away.max() <= 2 and away.mean() < 0.25)


def sides(padding: Any) -> tuple[int, int, int, int]:
    """Left, top, right, bottom, as torchvision's `pad` understands it."""
    return (0,) * 4 if padding is None else (padding,) * 4 if isinstance(padding, int) else (*padding, *padding)[:4]


def padded(image: torch.Tensor, step: RandomCrop, black: Sequence[Any]) -> torch.Tensor:
    """torchvision's `pad`, with each channel's black."""
    border = list(sides(step.padding))
    return torch.stack([vision.pad(plane[None], border, fill=float(value))[0] for plane, value in zip(image, black, strict=True)])


def one_after_the_other(image: torch.Tensor, steps: Sequence[Any], draws: Iterator[float], black: Sequence[Any]) -> torch.Tensor:
    """What steps make of one picture (C, H, W)."""
    for step in steps:
        if isinstance(step, CenterCrop):
            image = vision.center_crop(image, step.size)
        elif isinstance(step, RandomCrop):
            assert isinstance(step.size, tuple)
            image = padded(image, step, black)
            top, left = (int(next(draws) * (image.shape[axis] - step.size[axis - 1] + 1)) for axis in (1, 2))
            image = vision.crop(image, top, left, *step.size)
        elif isinstance(step, RandomHorizontalFlip):
            image = vision.hflip(image) if next(draws) < step.p else image
        elif isinstance(step, RandomVerticalFlip):
            image = vision.vflip(image) if next(draws) < step.p else image
    return image
