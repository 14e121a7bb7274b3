"""Labels a source by a table: its rows are matched to the pictures, and targets and columns put in the source's order."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, counted, printable
from convert.labels.asked import Asked
from convert.labels.classes import Names
from convert.labels.columns import path_columns, picture_paths
from convert.labels.match import match
from convert.labels.read import read_table
from convert.labels.table import Table
from convert.labels.targets import Targets, make_targets
from convert.manifest import Target
from convert.source import Source


@dataclass(frozen=True)
class Labelled:
    """The pictures that have a row, and what the table says of them, in the source's order."""

    source: Source
    target: Target
    targets: Targets
    """int64 (N,) labels or float32 (N, K) values."""
    classes: Names
    columns: dict[str, list[str]]

    @property
    def digest(self) -> str:
        """SHA-256 of targets and columns, in hex."""
        digest = hashlib.sha256(self.targets.astype(self.targets.dtype.newbyteorder("<")).tobytes())
        for name, cells in self.columns.items():
            for text in (name, *cells):
                digest.update(f"{len(text)} {text}\n".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


def label(source: Source, asked: Asked, *, names: Names | None = None, whose: str = "") -> Labelled:
    """Label the pictures of a source by a table.

    Args:
        source: scanned with `by_folder=False`.
        asked: the table, and how it is to be read.
        names: the classes in label order, if they are given.
        whose: who gives them, for errors.

    Raises:
        PrebakeError: the table cannot be read, a row fits no picture, a label is missing or unknown; names file and line.
        UsageError: options that contradict each other.
    """
    asked.check()
    table = read_table(asked.file)
    alone = asked.path is None and asked.file.suffix.lower() == ".txt" and len(table.columns) == 1
    paths = [] if alone else path_columns(table, asked.path)
    made = make_targets(table, asked, paths, names=names, whose=whose)
    items = _in_order(source, table) if alone else match(source.keys, source.root, table, picture_paths(table, asked.path))
    order = np.argsort(items)
    by = "in the order of the names" if alone else f"by {', '.join(map(printable, paths))}"
    said = f"{printable(asked.file.name)}, {made.said}, {by}"
    return Labelled(
        source=dataclasses.replace(source.take(items[order], "pictures without a row"), labelled=said),
        target=Target("class", 1) if asked.kind == "class" else Target("values", len(made.classes)),
        targets=made.targets[order],
        classes=made.classes,
        columns={name: [cells[row] for row in order.tolist()] for name, cells in table.columns.items()},
    )


def _in_order(source: Source, table: Table) -> npt.NDArray[np.int64]:
    """The picture of each row where rows name none: they go by the order of the sorted file names."""
    count = len(source.keys)
    if len(table) != count:
        raise PrebakeError(
            f"{printable(table.path)} has {counted(len(table), 'label')} without names, and {printable(source.root)} "
            f"has {counted(count, 'picture')}: one for each is needed, in the order of the sorted file names"
        )
    if deep := next((key for key in source.keys if "/" in key), None):
        raise PrebakeError(f"{printable(table.path)} has labels without names: those fit one flat folder, and there is {printable(deep)}")
    return np.arange(count)
