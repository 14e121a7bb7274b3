"""Divides a data set in two, by class or not, the same way for ever."""

from __future__ import annotations

import numpy as np

from convert.errors import PrebakeError
from readers.rows import Index


def divide(count: int, fraction: float, seed: int, targets: Index | None) -> tuple[Index, Index]:
    """Two sorted sets of indices; the first holds `round(fraction * count)`.

    With `targets`, each class is divided by the same fraction, rounded so that the total is right (largest remainder). The draw is
    NumPy's RandomState, whose stream is frozen.

    Raises:
        PrebakeError: one part would be empty.
    """
    total = round(fraction * count) if 0 < fraction < 1 else 0
    if not 0 < total < count:
        raise PrebakeError(f"split({fraction}) of {count} pictures leaves one part empty: give a fraction between 0 and 1")
    if not 0 <= seed < 1 << 32:
        raise PrebakeError(f"split(seed={seed}): a seed is from 0 to {(1 << 32) - 1}")
    order = np.random.RandomState(seed).permutation(count)
    if targets is None:
        chosen = order[:total]
    else:
        _, number, sizes = np.unique(targets, return_inverse=True, return_counts=True)
        quota = sizes * (total / count)
        take = np.floor(quota).astype(np.int64)
        most = np.argsort(take - quota, kind="stable")  # largest remainder first
        take[most[: total - int(take.sum())]] += 1
        by_class = order[np.argsort(number[order], kind="stable")]
        rank = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen = by_class[rank < np.repeat(take, sizes)]
    first = np.zeros(count, bool)
    first[chosen] = True
    return np.flatnonzero(first), np.flatnonzero(~first)
