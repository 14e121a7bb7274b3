"""One column of `samples.csv` at a time, as an array.

The csv module is not used: it refuses cells above a limit that holds for the whole process, and makes every cell of every column a
Python object. A table that it wrote is divided at the commas and line ends that have an even number of quotes before them.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import mmap
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from readers.cells import text, texts, typed

NAMES = ("shard", "key", "class")
"""Columns of ours that hold names: texts, even if every class is called by a number."""
QUOTE, COMMA, LINE = b'",\n'
BLOCK = 1 << 24
KEPT = 1 << 18
"""A column of more different texts is read again each time: they would be as many Python objects, kept."""

Data = mmap.mmap | bytes


class Table:
    """The columns of a bake's `samples.csv`. Each is read when it is asked for, in the bake's order."""

    def __init__(self, path: Path, count: int, *, mapped: bool = True) -> None:
        """A file, how many rows the manifest promises, and whether it is mapped while it is read, or held in memory."""
        self._path, self._count, self._mapped = path, count, mapped
        self._kept: dict[str, npt.NDArray[Any]] = {}

    @functools.cached_property
    def columns(self) -> list[str]:
        """The columns' names: those of every bake, then the user's own.

        Raises:
            PrebakeError: the table cannot be read, or has no line in it.
        """
        begin = 0
        names: list[str] = []
        with self._opened() as data:
            for block in _separators(data):
                for end, line in block.T.tolist():
                    names.append(text(data[begin:end]))
                    begin = end + 1
                    if line:
                        return names
        raise self._damaged("no line in it")

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column (N,), not to be written to: int64, float64 with NaN for blank cells, or texts as Python objects.

        Raises:
            PrebakeError: no such column; the table cannot be read, or is not what was written.
        """
        if name in self._kept:
            return self._kept[name]
        if name not in self.columns:
            close = difflib.get_close_matches(name, self.columns, n=1, cutoff=0)
            there = ", ".join(map(printable, dict.fromkeys(close + self.columns)))
            raise PrebakeError(f"{printable(self._path)} has no column {printable(name)}; the nearest first, it has {there}")
        codes, cells = self._cells(self.columns.index(name))
        values = texts(cells) if name in NAMES else typed(cells)
        column = values[codes]
        if values.dtype != object or len(values) <= KEPT:
            self._kept[name] = column
        return column

    def _cells(self, number: int) -> tuple[npt.NDArray[np.int64], list[bytes]]:
        """Which of a column's different cells each row has, and these cells."""
        seen: dict[bytes, int] = {}
        with self._opened() as data:
            rows = itertools.islice(self._spans(data, number), 1, None)  # behind the header
            codes = np.fromiter((seen.setdefault(data[begin:end], len(seen)) for begin, end in rows), np.int64)
        if len(codes) != self._count:
            raise self._damaged(f"it has {len(codes)} rows, its manifest says {self._count}")
        return codes, list(seen)

    def _spans(self, data: Data, number: int) -> Iterator[tuple[int, int]]:
        """Where the cells of a column begin, and at which separators they end."""
        width = len(self.columns)
        right = np.arange(width) == width - 1
        rest, lines, last = np.empty((2, 0), np.int64), 0, -1
        for block in _separators(data):
            found = np.concatenate([rest, block], axis=1)
            whole = found.shape[1] // width * width
            rest = found[:, whole:]
            if not whole:
                continue
            ends, is_line = found[:, :whole].reshape(2, -1, width)
            wrong = (is_line != right).any(1)
            if wrong.any():
                raise self._damaged(f"its row {lines + int(wrong.argmax()) - 1} has not {width} cells")
            before = ends[:, number - 1] if number else np.concatenate([[last], ends[:-1, -1]])
            yield from zip((before + 1).tolist(), ends[:, number].tolist(), strict=True)
            lines, last = lines + len(ends), int(ends[-1, -1])
        if last != len(data) - 1:
            raise self._damaged(f"its row {lines - 1} is cut short")

    @contextmanager
    def _opened(self) -> Iterator[Data]:
        try:
            with self._path.open("rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self._mapped else file.read()
        except (OSError, ValueError) as error:
            raise PrebakeError(f"{printable(self._path)} cannot be read: {error}") from error
        with data if isinstance(data, mmap.mmap) else nullcontext():
            yield data

    def _damaged(self, what: str) -> PrebakeError:
        return PrebakeError(f"{printable(self._path)} is damaged ({what}): copy the whole bake again, or bake again with --overwrite")


def _separators(data: Data) -> Iterator[npt.NDArray[np.int64]]:
    """Where cells end, (2, n) for each block of the file: the byte, and whether a line ends with it."""
    quotes_before = 0
    for start in range(0, len(data), BLOCK):
        block = np.frombuffer(data[start : start + BLOCK], np.uint8)
        quotes = np.flatnonzero(block == QUOTE)
        found = np.flatnonzero((block == COMMA) | (block == LINE))
        found = found[(np.searchsorted(quotes, found) + quotes_before) % 2 == 0]
        yield np.stack([found + start, block[found] == LINE])
        quotes_before += len(quotes)
