"""What the numbers of a batch mean."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from convert.errors import PrebakeError
from convert.manifest import Manifest

STORED = {"float16": torch.float16, "float32": torch.float32, "uint8": torch.uint8, "uint16": torch.uint16}


class Values(NamedTuple):
    """Floating values are `(level / highest - mean) / std`, channel by channel; highest is 255, or 65535 in bakes of uint16."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def affine(self, highest: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Scale and shift (C,), float64, by which levels become values: `level * scale + shift`."""
        mean, std = (torch.tensor(numbers, dtype=torch.float64, device="cpu") for numbers in self)
        return 1 / (highest * std), -mean / std

    def tensors(self, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and std (C, 1, 1) on the device of a tensor, in its type, float32 at least; not to be changed."""
        return _tensors(self, torch.promote_types(like.dtype, torch.float32), like.device)


@functools.cache  # a GPU gets them once: whoever sends them waits for all that its stream has to do
def _tensors(values: Values, dtype: torch.dtype, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.inference_mode(False):  # they are used outside of it, too
        mean, std = (torch.tensor(numbers, dtype=dtype, device=device).reshape(-1, 1, 1) for numbers in values)
    return mean, std


def baked_values(manifest: Manifest) -> Values:
    """Those of the bake itself."""
    return Values(manifest.mean, manifest.std)


def check_statistics(mean: Sequence[float], std: Sequence[float], channels: int) -> Values:
    """A user's own.

    Raises:
        PrebakeError: they are not such.
    """
    try:
        values = Values(tuple(float(number) for number in mean), tuple(float(number) for number in std))
    except (TypeError, ValueError):
        values = Values((), ())
    good = len(values.mean) == len(values.std) == channels
    good = good and all(0 <= number <= 1 for number in values.mean) and all(0 < number < math.inf for number in values.std)
    if not good:
        raise PrebakeError(
            f"mean={mean!r}, std={std!r}: give {channels} numbers each, for levels from 0 to 1 (0 to 255: divide by 255); std above 0"
        )
    return values


def check_floating(dtype: Any, manifest: Manifest, *, levels: bool) -> torch.dtype:
    """A type for values, from a user's; with `levels` it is for none.

    Raises:
        PrebakeError: it is no floating type, or holds too few digits for 16-bit levels.
    """
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise PrebakeError(f'dtype={dtype!r}: values need one of torch\'s floating types; for whole levels, open with pixels="uint8"')
    if manifest.dtype == "uint16" and not levels and torch.finfo(dtype).eps > 1 / 65535:
        raise PrebakeError(f"dtype={dtype} is too coarse for the 16-bit levels of this bake: use torch.float32")
    return dtype
