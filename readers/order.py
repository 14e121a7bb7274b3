"""Which picture stands at each position of an epoch: in order, shuffled, in shuffled blocks, or drawn by weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from convert.errors import PrebakeError
from readers import keyed
from readers.rows import Index

Kind = Literal["sequential", "shuffle", "quasi"]
KINDS = ("sequential", "shuffle", "quasi")
BLOCK_NBYTES = 4 << 20
"""Of a block of neighbouring rows, which a disk reads in one go."""
WINDOW = 64
"""Blocks among which pictures are shuffled."""


class Order:
    """An epoch's order over `count` pictures, evaluated for any positions alone.

    quasi: the file's rows, turned by a random offset, are cut into blocks; the blocks are shuffled; every 64 blocks make a window, whose
    pictures are shuffled. So a window is read from the disk block by block. Rows that do not fill a block come in the last window.
    """

    def __init__(
        self, kind: Kind, count: int, *, seed: int, mean_nbytes: int, stored: Index | None, weights: npt.NDArray[np.float64] | None
    ) -> None:
        """For `count` pictures, whose rows in the bake are `stored` (N,), or 0 up to N; with `weights` (N,), drawn with replacement."""
        self.kind, self._count, self._seed = kind, count, seed
        self._block = max(1, BLOCK_NBYTES // mean_nbytes)
        self._by_place = np.argsort(stored, kind="stable") if kind == "quasi" and stored is not None else None
        self._heights = None if weights is None else np.cumsum(weights)

    @property
    def stretch(self) -> int:
        """How many positions are best read together: those of a window, or 1."""
        return self._block * WINDOW if self.kind == "quasi" else 1

    def at(self, epoch: int, position: Index) -> Index:
        """Which picture (B,), from 0 up to N, is at some positions (B,); beyond the end it begins anew."""
        if self._heights is not None:
            height = keyed.uniform(position, keyed.key(self._seed, epoch, 1)) * self._heights[-1]
            drawn = np.searchsorted(self._heights, height, side="right")
            last = np.searchsorted(self._heights, self._heights[-1])  # of a weight above 0: a product may be rounded up to the sum
            return np.asarray(np.minimum(drawn, last))
        position = position % self._count
        if self.kind == "sequential":
            return position
        if self.kind == "quasi":
            row = self._quasi(epoch, position)
            return row if self._by_place is None else self._by_place[row]
        return keyed.permute(position, self._count, keyed.key(self._seed, epoch, 2))

    def _quasi(self, epoch: int, position: Index) -> Index:
        """The number of the row in the file's order."""
        size, window = self.stretch, position // self.stretch
        inside = np.empty_like(position)
        for number in np.unique(window).tolist():
            here = window == number
            length = min(size, self._count - number * size)
            inside[here] = keyed.permute(position[here] - number * size, length, keyed.key(self._seed, epoch, 3, number))
        slot, within = np.divmod(window * size + inside, self._block)
        whole = self._count // self._block
        block = slot.copy()
        block[slot < whole] = keyed.permute(slot[slot < whole], whole, keyed.key(self._seed, epoch, 4))
        turn = keyed.key(self._seed, epoch, 5) % self._count
        return (block * self._block + within + turn) % self._count


def kind_of(order: str | None, shuffle: bool) -> Kind:
    """The order that is meant.

    Raises:
        PrebakeError: there is none of this name, or both say different things.
    """
    if order is None:
        return "shuffle" if shuffle else "sequential"
    for kind in KINDS:
        if order == kind and not (shuffle and kind == "sequential"):
            return kind  # type: ignore[return-value]
    if order in KINDS:
        raise PrebakeError(f'shuffle=True and order="{order}" exclude each other: give one of them')
    raise PrebakeError(f"order={order!r}: choose one of {', '.join(KINDS)}")


def checked_weights(weights: str | Sequence[float] | npt.NDArray[Any] | None, labels: Callable[[], Index | None], count: int) -> Any:
    """Weights (N,), float64, from a user's; "balanced" makes every class that is there as likely as another; None stays None.

    Raises:
        PrebakeError: they are no weights for `count` pictures.
    """
    if weights is None:
        return None
    if isinstance(weights, str):
        found = labels() if weights == "balanced" else None
        if found is None:
            raise PrebakeError(f'weights={weights!r}: give "balanced", for pictures with labels, or {count} numbers')
        return 1 / np.bincount(found)[found]
    try:
        given = weights.detach().cpu().numpy() if isinstance(weights, torch.Tensor) else weights
        numbers = np.array(given, np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (count,) or not (np.isfinite(numbers).all() and (numbers >= 0).all() and numbers.sum() > 0):
        raise PrebakeError(f'weights=: give "balanced", or {count} numbers, one for each picture, none below 0 and not all 0')
    return numbers
