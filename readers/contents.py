"""What a data set holds, without its pixels: classes, labels, keys, and parts of it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, counted, printable
from convert.manifest import Manifest
from readers.gather import read_row
from readers.indices import inside, numbers
from readers.query import select
from readers.rows import Index, Rows
from readers.split import divide, divide_groups


class Contents:
    """Rows of a bake, all or some of them, in an order."""

    def __init__(self, rows: Rows) -> None:
        """All rows, in the bake's order."""
        self._rows = rows
        self._index: Index | None = None

    def __len__(self) -> int:
        return self._rows.manifest.count if self._index is None else len(self._index)

    def __repr__(self) -> str:
        shape = "any size" if self._rows.manifest.shape is None else "x".join(map(str, self._rows.manifest.shape))
        of = "" if self._index is None else f" of {self._rows.manifest.count}"
        rows = f"{len(self)}{of} rows of {shape} {self._rows.manifest.dtype}{', JPEG' * (self._rows.manifest.encoding == 'jpeg')}"
        what = counted(len(self.classes), "value" if self._rows.manifest.target.kind == "values" else "class")
        return f"{type(self).__name__}({printable(self._rows.folder)!r}: {rows}, {what})"

    @property
    def manifest(self) -> Manifest:
        """What the bake says of itself."""
        return self._rows.manifest

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Height and width of each row in pixels (N, 2), int64, as `subset((ds.sizes >= 224).all(axis=1))` needs them."""
        index = np.arange(len(self)) if self._index is None else self._index
        return np.stack([np.broadcast_to(side, index.shape) for side in self._rows.layout.sizes(index)], axis=1).astype(np.int64)

    @property
    def classes(self) -> list[str]:
        """The classes' names, in label order; or the names of the values' columns."""
        return list(self._rows.manifest.classes)

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class."""
        return {name: label for label, name in enumerate(self._rows.manifest.classes)}

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

    @property
    def columns(self) -> list[str]:
        """The names of the columns of `samples.csv`: those of every bake, then the user's own."""
        return list(self._rows.table.columns)

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column of `samples.csv` (N,), in the order of this data set: a copy.

        int64 where all cells are whole numbers, float64 where all are numbers or blank (NaN), else texts, as Python objects. Cells that
        would lose something as a number, such as 007, make it texts; so are `key`, `shard` and `class`.

        Raises:
            PrebakeError: no such column; the file is missing or damaged.
        """
        column = self._rows.table.column(name)
        return column.copy() if self._index is None else column[self._index]

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
        return numbers(indices, len(self))

    def where(self, expression: str) -> Self:
        """The rows for which an expression over columns is true, such as `fold != 0 and sex in ('f', 'x')`.

        It knows comparisons, `in`, `and`, `or`, `not`, `+ - * / %`, and `backticks` around names that are no words. A blank among
        numbers is NaN: never less, more or equal.

        Raises:
            PrebakeError: the expression is not understood, compares a text with a number, or is true for no row.
        """
        return self.subset(select(expression, self.columns, self.column))

    def split(
        self,
        fraction: float,
        *,
        seed: int = 0,
        stratify: bool = False,
        group: str | Sequence[Any] | npt.NDArray[Any] | None = None,
    ) -> tuple[Self, Self]:
        """Two parts, the first with `fraction` of the rows, the same for ever for one seed.

        Args:
            fraction: above 0, below 1.
            seed: of the draw, 32 bits.
            stratify: whether each class is divided alike.
            group: a column, or a value for each row: rows that share one come into the same part. A row whose value is blank is a group
                by itself. Sizes are then as near to `fraction` as whole groups allow; how is told in `readers.split.divide_groups`.

        Raises:
            PrebakeError: one part would be empty; no such column; no classes to stratify by.
        """
        targets = self._rows.labels(self._index) if stratify else None
        if group is None:
            first, second = divide(len(self), fraction, seed, targets)
        else:
            names = self.column(group) if isinstance(group, str) else np.asarray(group)
            if names.shape != (len(self),):
                raise PrebakeError(f"split(group=...) takes a column's name or {len(self)} values, not {names.shape}")
            first, second = divide_groups(names, fraction, seed, targets)
        return self.subset(first), self.subset(second)

    def _view(self, index: Index | None, **changed: Any) -> Self:
        """The same, but for the rows and some attributes; what was computed for other rows is left behind."""
        other = object.__new__(type(self))
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name != "targets"}, _index=index, **changed)
        return other

    def _place(self, indices: Sequence[SupportsIndex] | npt.NDArray[Any]) -> Index:
        """Rows of the bake, for indices of this data set, which may be negative. Now and then, shards are looked at again."""
        self._rows.look_again(if_due=True)
        index = inside(indices, len(self))
        return index if self._index is None else self._index[index]
