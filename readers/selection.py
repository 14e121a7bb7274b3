"""Which pictures of a data set a Loader reads: all of them, or some, in an order of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from convert.errors import PrebakeError, printable
from readers.dataset import BakedDataset
from readers.rows import Index


class Selection:
    """Numbers from 0 up to `count`, and the pictures that they stand for."""

    def __init__(self, dataset: BakedDataset, indices: Sequence[int] | npt.NDArray[Any] | None) -> None:
        """All of a data set, or those at some indices, which may repeat; a boolean mask works too.

        Raises:
            IndexError: an index is outside of the data set.
            PrebakeError: nothing is left.
        """
        try:
            self._index = None if indices is None else dataset.numbers(indices)
        except TypeError as error:
            raise PrebakeError(f"Loader: indices= are whole numbers, or a mask: {printable(error)}") from error
        part = dataset if self._index is None else dataset.subset(self._index)
        self.count = len(part)
        self.stored: Index | None = part._index  # noqa: SLF001 - one of its own
        """Rows of the bake (N,); None for all of them."""
        self._rows = dataset._rows  # noqa: SLF001
        if not self.count:
            raise PrebakeError("Loader: there are no pictures to load")

    def places(self, numbers: Index) -> Index:
        """Rows of the bake."""
        return numbers if self.stored is None else self.stored[numbers]

    def index(self, numbers: Index) -> Index:
        """Indices in the data set."""
        return numbers if self._index is None else self._index[numbers]

    def labels(self) -> Index | None:
        """A label for each number, if pictures have labels.

        Raises:
            PrebakeError: they have values instead.
        """
        return self._rows.labels(self.stored) if self._rows.labelled else None
