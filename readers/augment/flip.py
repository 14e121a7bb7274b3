"""Flips, with torchvision's names and distributions."""

from __future__ import annotations

from dataclasses import dataclass

from readers.augment.step import Augment, Uniform, check_probability
from readers.augment.window import Sides, Window


@dataclass(frozen=True)
class _Flip(Augment):
    p: float = 0.5

    def bind(self, height: Sides, width: Sides) -> tuple[Sides, Sides]:
        """See `Augment.bind`."""
        check_probability(self, self.p)
        return height, width


@dataclass(frozen=True)
class RandomHorizontalFlip(_Flip):
    """Left and right change places with probability `p`."""

    def apply(self, window: Window, uniform: Uniform) -> None:
        """See `Augment.apply`."""
        window.flip_columns ^= uniform() < self.p


@dataclass(frozen=True)
class RandomVerticalFlip(_Flip):
    """Top and bottom change places with probability `p`."""

    def apply(self, window: Window, uniform: Uniform) -> None:
        """See `Augment.apply`."""
        window.flip_rows ^= uniform() < self.p
