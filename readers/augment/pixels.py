"""InPixels: lends a batch's values, as pixels, to a transform that expects those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from convert.errors import PrebakeError, printable
from readers.values import Values

BatchTransform = Callable[[torch.Tensor], torch.Tensor]
"""Gets a batch (B, C, H, W) and returns one: it may have another size and type, but as many pictures."""


@dataclass(frozen=True)
class InPixels:
    """Applies `transform` to a batch (B, C, H, W) of pixels: de-normalised before it, and normalised again after it.

    Args:
        transform: such as one of `torchvision.transforms.v2`, or a Compose of them. It is called once for a batch: torchvision's draw one
            jitter for all of its pictures.
        dtype: what it gets: float32 in [0, 1], or `torch.uint8`. What it returns may be either.
    """

    transform: BatchTransform
    dtype: torch.dtype = torch.float32

    def check(self) -> None:
        """Refuse options that make no sense.

        Raises:
            PrebakeError: they make none.
        """
        if not callable(self.transform) or isinstance(self.transform, type):
            raise PrebakeError(f"InPixels wraps a transform that can be called with a batch, not {printable(repr(self.transform))}")
        if self.dtype not in {torch.float32, torch.uint8}:
            raise PrebakeError(f"InPixels(dtype={self.dtype}): a transform gets torch.float32 in [0, 1], or torch.uint8")

    def apply(self, images: torch.Tensor, values: Values) -> torch.Tensor:
        """Take the step; the batch is changed in place where its size stays.

        Raises:
            PrebakeError: the transform returned no batch of as many pictures and channels.
        """
        after = call(self.transform, self._given(images, values))
        if after.ndim != 4 or after.shape[1] != images.shape[1]:
            raise PrebakeError(f"{printable(repr(self))} returned {tuple(after.shape)} for a batch {tuple(images.shape)}")
        result = self._taken(after, images.dtype, values)
        if after.shape == images.shape:
            return images.copy_(result)
        return result.to(images.dtype).contiguous(memory_format=torch.channels_last)

    def _given(self, images: torch.Tensor, values: Values) -> torch.Tensor:
        if not images.dtype.is_floating_point:
            pixels = images.float().div_(torch.iinfo(images.dtype).max)
        else:
            mean, std = values.tensors(images)
            pixels = torch.addcmul(mean, images.to(mean.dtype), std).clamp_(0, 1)
        return pixels.mul_(255).round_().to(torch.uint8) if self.dtype == torch.uint8 else pixels.float()

    def _taken(self, pixels: torch.Tensor, dtype: torch.dtype, values: Values) -> torch.Tensor:
        unit = pixels.float() / 255 if pixels.dtype == torch.uint8 else pixels.float()
        if not dtype.is_floating_point:
            return unit.mul(torch.iinfo(dtype).max).round_().clamp_(0, torch.iinfo(dtype).max)
        mean, std = values.tensors(unit)
        return (unit - mean) / std


def call(transform: BatchTransform, images: torch.Tensor) -> torch.Tensor:
    """What a batch transform returns.

    Raises:
        PrebakeError: it is no batch of as many pictures.
    """
    after = transform(images)
    if not isinstance(after, torch.Tensor) or after.ndim < 1 or len(after) != len(images):
        got = f"a tensor {tuple(after.shape)}" if isinstance(after, torch.Tensor) else type(after).__name__
        raise PrebakeError(f"{printable(repr(transform))} in augment= gets a batch {tuple(images.shape)} and must return one, not {got}")
    return after
