"""What a data set holds, without its pixels: classes, labels, keys, and parts of it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from readers.gather import read_row
from readers.rows import Index, Rows
from readers.split import divide


class Contents:
    """Rows of a bake, all or some of them, in an order."""

    def __init__(self, rows: Rows) -> None:
        """All rows, in the bake's order."""
        self._rows = rows
        self._index: Index | None = None

    def __len__(self) -> int:
        return self._rows.manifest.count if self._index is None else len(self._index)

    def __repr__(self) -> str:
        height, width, channels = self._rows.manifest.shape
        of = "" if self._index is None else f" of {self._rows.manifest.count}"
        rows = f"{len(self)}{of} rows of {height}x{width}x{channels} {self._rows.manifest.dtype}"
        return f"{type(self).__name__}({printable(self._rows.folder)!r}: {rows}, {len(self.classes)} classes)"

    @property
    def classes(self) -> list[str]:
        """The classes' names, in label order; or the names of the values' columns."""
        return list(self._rows.manifest.classes)

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class."""
        return {name: label for label, name in enumerate(self._rows.manifest.classes)}

    @property
    def mean(self) -> tuple[float, ...]:
        """What was subtracted from levels in 0..1, per channel."""
        return self._rows.manifest.mean

    @property
    def std(self) -> tuple[float, ...]:
        """What they were divided by, per channel."""
        return self._rows.manifest.std

    @functools.cached_property
    def targets(self) -> npt.NDArray[Any] | None:
        """The labels (N,), int64, or the values (N, K), float32: a copy; None where the source had neither."""
        return self._rows.targets(self._index) if self._rows.labelled else None

    @property
    def labels(self) -> npt.NDArray[Any] | None:
        """The same as `targets`."""
        return self.targets

    @property
    def class_counts(self) -> npt.NDArray[np.int64]:
        """Pictures in each class (K,), int64."""
        return np.bincount(self._rows.labels(self._index), minlength=len(self.classes)).astype(np.int64)

    @property
    def keys(self) -> Sequence[str]:
        """Each picture's path in the source."""
        return self._rows.keys if self._index is None else self._rows.keys.take(self._index)

    def key(self, index: SupportsIndex) -> str:
        """A picture's path in the source."""
        return self._rows.keys[int(self._place([index])[0])]

    def image(self, index: SupportsIndex) -> npt.NDArray[Any]:
        """A whole row as levels (H, W, C), to look at: uint8, or uint16 in a bake of those; not augmented."""
        return read_row(self._rows, int(self._place([index])[0]))

    def subset(self, indices: Sequence[int] | npt.NDArray[Any]) -> Self:
        """Some of the rows, in the order given; a boolean mask works too."""
        chosen = self.numbers(indices)
        return self._view(chosen if self._index is None else self._index[chosen])

    def numbers(self, indices: Sequence[int] | npt.NDArray[Any]) -> Index:
        """Indices, or a mask, as indices that are not negative (B,), int64.

        Raises:
            IndexError: one is outside of the data set.
            PrebakeError: a mask is not as long as the data set.
        """
        chosen = np.asarray(indices)
        if chosen.dtype == bool:
            if chosen.shape != (len(self),):
                raise PrebakeError(f"a mask for this data set has {len(self)} entries, not {chosen.shape}")
            return np.flatnonzero(chosen)
        return self._inside(chosen)

    def split(self, fraction: float, *, seed: int = 0, stratify: bool = False) -> tuple[Self, Self]:
        """Two parts, the first with `fraction` of the rows; `stratify` divides each class alike. The same for ever for one seed."""
        first, second = divide(len(self), fraction, seed, self._rows.labels(self._index) if stratify else None)
        return self.subset(first), self.subset(second)

    def _view(self, index: Index | None, **changed: Any) -> Self:
        """The same, but for the rows and some attributes; what was computed for other rows is left behind."""
        other = object.__new__(type(self))
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name != "targets"}, _index=index, **changed)
        return other

    def _place(self, indices: Sequence[SupportsIndex] | npt.NDArray[Any]) -> Index:
        """Rows of the bake, for indices of this data set, which may be negative."""
        index = self._inside(indices)
        return index if self._index is None else self._index[index]

    def _inside(self, indices: Sequence[SupportsIndex] | npt.NDArray[Any]) -> Index:
        """Indices that are not negative any more."""
        count = len(self)
        index = _whole(indices)
        outside = (index < -count) | (index >= count)
        if outside.any():
            raise IndexError(f"index {index[outside.argmax()]} is outside of a data set of {count} pictures")
        return np.where(index < 0, index + count, index)


def _whole(indices: Sequence[SupportsIndex] | npt.NDArray[Any]) -> Index:
    """Indices as int64; what is no whole number is a TypeError, as in a list."""
    if isinstance(indices, np.ndarray) and indices.dtype.kind in "iu":
        return indices.astype(np.int64)
    return np.fromiter((operator.index(i) for i in indices), np.int64, len(indices))
