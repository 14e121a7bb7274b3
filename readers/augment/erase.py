"""RandomErasing, with torchvision's distribution, on a batch's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from convert.errors import PrebakeError
from readers.augment.attempts import Range, attempt, first, place
from readers.augment.step import Uniform, check_probability, check_range
from readers.augment.window import Whole
from readers.strips import copy

Chosen = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RandomErasing:
    """With probability `p`, a box of random area, aspect and place becomes `value`: as torchvision's after `Normalize`.

    `scale`: the box's area over the picture's; `ratio`: height over width. `value` is among the data set's values: in normalised ones 0
    is the mean; one number, one for each channel, or "random": normal noise for each pixel, from a generator that is seeded for each
    picture by a number from `uniform`.
    """

    p: float = 0.5
    scale: Range = (0.02, 0.33)
    ratio: Range = (0.3, 3.3)
    value: float | Sequence[float] | Literal["random"] = 0.0

    def check(self, channels: int, levels: bool) -> None:
        """Refuse options that make no sense; `levels`: for batches of whole levels.

        Raises:
            PrebakeError: they make none.
        """
        check_probability(self, self.p)
        check_range(self, "scale", self.scale, 1)
        check_range(self, "ratio", self.ratio)
        if self.value == "random" and not levels:
            return
        try:
            numbers = np.array([] if isinstance(self.value, str) else self.value, np.float64)
        except (TypeError, ValueError):
            numbers = np.array([])
        good = numbers.shape in {(), (1,), (channels,)} and bool(np.isfinite(numbers).all())
        if levels and good:
            good = bool(((numbers >= 0) & (numbers <= 255) & (numbers == np.rint(numbers))).all())
        if not good:
            kinds = 'from 0 to 255, whole, for pixels="uint8"' if levels else 'or "random"'
            raise PrebakeError(f"{self}: value is one number, or one for each of {channels} channels, {kinds}")

    def apply(self, images: torch.Tensor, uniform: Uniform) -> None:
        """Erase in a batch (B, C, H, W), in place."""
        box, chosen, seeds = self.draw(images.shape[2], images.shape[3], uniform)
        values = None if self.value == "random" else torch.as_tensor(self.value, dtype=images.dtype, device=images.device)
        for k in np.flatnonzero(chosen).tolist():
            top, left, height, width = box[:, k].tolist()
            part = images[k, :, top : top + height, left : left + width].permute(1, 2, 0)
            if values is None:
                noise = torch.Generator().manual_seed(int(seeds[k]))
                copy(part, torch.randn((height, width, len(images[k])), generator=noise, device="cpu"))
            else:
                copy(part, values.expand_as(part))

    def draw(self, height: int, width: int, uniform: Uniform) -> tuple[Whole, Chosen, Whole]:
        """Top, left, height and width (4, B) of boxes; whether there is one; a seed for each."""
        wanted = uniform() < self.p
        seeds = (uniform() * (1 << 53)).astype(np.int64) if self.value == "random" else np.zeros(len(wanted), np.int64)
        high, wide = attempt(height * width, self.scale, self.ratio, uniform)
        fits = (high < height) & (wide < width)
        box_height, box_width = first(fits, high, wide)
        chosen = wanted & fits.any(axis=0)
        top, left = place(height, box_height, uniform), place(width, box_width, uniform)
        return np.stack([top, left, box_height, box_width]), chosen, seeds
