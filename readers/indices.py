"""Which rows a caller means: indices, which may be negative, or a mask."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError
from readers.layout import Index


def numbers(indices: Sequence[int] | npt.NDArray[Any], count: int) -> Index:
    """Indices into `count` pictures, or a mask of them, as indices that are not negative (B,), int64.

    Raises:
        IndexError: one is outside of the data set.
        PrebakeError: a mask is not as long as the data set.
    """
    chosen = np.asarray(indices)
    if chosen.dtype == bool:
        if chosen.shape != (count,):
            raise PrebakeError(f"a mask for this data set has {count} entries, not {chosen.shape}")
        return np.flatnonzero(chosen)
    return inside(chosen, count)


def inside(indices: Sequence[SupportsIndex] | npt.NDArray[Any], count: int) -> Index:
    """Indices into `count` pictures that are not negative any more (B,), int64.

    Raises:
        IndexError: one is outside of the data set.
        TypeError: one is no whole number, as in a list.
    """
    index = _whole(indices)
    outside = (index < -count) | (index >= count)
    if outside.any():
        raise IndexError(f"index {index[outside.argmax()]} is outside of a data set of {count} pictures")
    return np.where(index < 0, index + count, index)


def _whole(indices: Sequence[SupportsIndex] | npt.NDArray[Any]) -> Index:
    if isinstance(indices, np.ndarray) and indices.dtype.kind in "iu":
        return indices.astype(np.int64)
    return np.fromiter((operator.index(i) for i in indices), np.int64, len(indices))
