"""What a crop, a flip or a resize is: a step that only says where each picture of a batch is looked at.

So any sequence of them costs one copy. They know nothing of colour.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError
from readers.augment.window import Sides, Window

Uniform = Callable[[], npt.NDArray[np.float64]]
"""Draws one number in [0, 1) for each picture of the batch. Each step calls it equally often, whatever the pictures and the numbers are."""


class TooSmallError(PrebakeError):
    """A picture is smaller than what is cut out of it."""

    def __init__(self, message: str, number: int = 0) -> None:  # of one argument, as pickle makes it again
        super().__init__(message)
        self.number = number
        """Which of the pictures that were looked at."""


class Augment(ABC):
    """One step of `augment=`."""

    def bind(self, height: Sides, width: Sides) -> tuple[Sides, Sides]:
        """Check that the step makes sense for pictures of these sizes, one or (B,); returns the sizes after it.

        Raises:
            TooSmallError: one is smaller than what is cut out of it.
            PrebakeError: the step makes no sense for any.
        """
        return height, width

    @abstractmethod
    def apply(self, window: Window, uniform: Uniform) -> None:
        """Take the step for a batch."""


def check_probability(step: object, p: float) -> None:
    """Refuse a probability that is none."""
    if not 0 <= p <= 1:
        raise PrebakeError(f"{step}: a probability is from 0 to 1")


def check_range(step: object, name: str, pair: Sequence[float], highest: float = math.inf) -> None:
    """Refuse what is not two numbers above 0, in order, up to `highest`."""
    try:
        low, high = pair
        good = 0 < low <= high <= highest and high < math.inf
    except (TypeError, ValueError):
        good = False
    if not good:
        up_to = "" if highest == math.inf else f", up to {highest:g}"
        raise PrebakeError(f"{step}: {name} is (lowest, highest), above 0{up_to}")
