"""Checks a user's `augment=`: what each step is, whether it makes sense for the pictures, and the order of steps."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from convert.errors import PrebakeError, printable
from readers.augment.crop import RandomCrop
from readers.augment.erase import RandomErasing
from readers.augment.pixels import BatchTransform, InPixels
from readers.augment.resize import RandomResizedCrop
from readers.augment.step import Augment
from readers.augment.window import Sides

Step = Augment | RandomErasing | InPixels | BatchTransform


def bind(steps: Iterable[Step] | Step | None, shape: tuple[int, int, int], *, levels: bool = False) -> tuple[Step, ...]:
    """The steps, for rows (H, W, C) and, with `levels`, batches of whole levels.

    Raises:
        PrebakeError: a step makes no sense there, or comes too late.
    """
    bound: tuple[Step, ...] = () if steps is None else tuple(steps) if isinstance(steps, Iterable) else (steps,)
    height: Sides
    width: Sides
    height, width, channels = shape
    for place, step in enumerate(bound):
        before = bound[:place]
        if isinstance(step, Augment):
            _check_order(step, before)
            height, width = step.bind(height, width)
        elif isinstance(step, RandomErasing):
            step.check(channels, levels)
        elif isinstance(step, InPixels):
            step.check()
        else:
            _check_callable(step)
    return bound


def _check_order(step: Augment, before: tuple[Step, ...]) -> None:
    late = next((other for other in before if not isinstance(other, Augment)), None)
    if late is not None:
        what = f"put {step} before {printable(repr(late))}"
        raise PrebakeError(f"augment=: {what}: crops, flips and resizing come first, where they cost one copy")
    if not isinstance(step, RandomResizedCrop):
        return
    for other in before:
        if isinstance(other, RandomResizedCrop) or (isinstance(other, RandomCrop) and any(other.borders)):
            raise PrebakeError(f"augment=: {step} cannot follow {other}: pictures are resized once, and padded after that")


def _check_callable(step: object) -> None:
    """Torchvision's transforms expect pixels; ours and a user's own take what there is."""
    parts = step.modules() if isinstance(step, torch.nn.Module) else [step]
    vision = any(str(getattr(part, "__module__", "")).startswith("torchvision.") for part in parts)
    if vision or isinstance(step, type) or not callable(step):
        name = getattr(step, "__name__", type(step).__name__)
        raise PrebakeError(
            f"augment= takes readers' own steps and functions of a normalised batch, not {name}. What expects pixels goes into "
            "InPixels(...), which calls it once for a batch, or to transform=, which gets each picture as RGB with 8-bit levels"
        )
