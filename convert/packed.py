"""What became of a shard: the file, its rows, and what was done to its pictures; also as a line of the journal says it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from convert.contracts import Offsets
from convert.journal import Fields
from convert.manifest import Shard


@dataclass
class Packed:
    """A finished shard, and what became of its items."""

    shard: Shard
    offsets: Offsets | None
    """Where each row begins, when that is irregular."""
    items: list[int]
    """The items that became rows, in order."""
    sizes: npt.NDArray[np.int32]
    """Their sources' heights and widths (n, 2), in pixels, upright."""
    rejects: list[tuple[int, str, str]]
    """(item, reason, detail)."""
    seen: Counter[str]
    """What was done to the pictures that became rows, before they were resized, and how often."""
    hashes: bytes = b""
    """`convert.hashes` of the files that became rows, end to end, unless nobody looks for duplicates."""
    lengths: Offsets | None = None
    """The rows' bytes, unless all have as many."""
    stored: npt.NDArray[np.int32] | None = None
    """The rows' own height and width (n, 2), unless all rows have as many bytes."""


def restored(fields: Fields) -> Packed | None:
    """From a line of the journal; None if something is wrong with it."""
    given = {name: value for name, value in fields.items() if name not in ("number", "pillow")}
    try:
        given["shard"], given["seen"] = Shard(**given["shard"]), Counter(given["seen"])
        given["rejects"] = [tuple(reject) for reject in given["rejects"]]
        return Packed(**given)
    except (KeyError, TypeError, ValueError):
        return None
