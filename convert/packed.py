"""What became of a shard: the file, its rows, and what was done to its pictures; also as a line of the journal says it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.contracts import Offsets, Pixels
from convert.hashes import NBYTES
from convert.journal import Fields
from convert.manifest import Shard
from convert.manifest.fields import items, need, table, text, whole
from convert.manifest.parts import shard_of

CHECKSUM = re.compile("[0-9a-f]{64}")


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
    """From a line of the journal; None if something is wrong with it: a type, or a length that does not go with the shard."""
    try:
        made_by = table(fields.get("pillow", {}))
        packed = _packed({name: value for name, value in fields.items() if name not in ("number", "pillow")})
        return packed if all(isinstance(version, str) for version in made_by.values()) and _agrees(packed) else None
    except (KeyError, TypeError, ValueError):
        return None


def _packed(fields: Fields) -> Packed:
    """Each field is of its type, or there is a ValueError."""
    shard = shard_of(table(fields.pop("shard")), 0)
    count = shard.count
    arrays = {
        "offsets": _array(fields.pop("offsets"), np.int64, (count,)),
        "lengths": _array(fields.pop("lengths"), np.int64, (count,)),
        "stored": _array(fields.pop("stored"), np.int32, (count, 2)),
    }
    sizes = _array(fields.pop("sizes"), np.int32, (count, 2))
    need(sizes is not None, "no sizes")
    numbers = [whole(item) for item in items(fields.pop("items"))]
    rejects = [(whole(item), _said(reason), _said(detail)) for item, reason, detail in map(items, items(fields.pop("rejects")))]
    seen = Counter({what: whole(often) for what, often in table(fields.pop("seen")).items()})
    hashes = fields.pop("hashes")
    need(isinstance(hashes, bytes), "hashes are bytes")
    need(not fields, f"unknown fields {sorted(fields)}")
    return Packed(shard=shard, items=numbers, sizes=sizes, rejects=rejects, seen=seen, hashes=hashes, **arrays)  # type: ignore[arg-type]


def _said(value: Any) -> str:
    """Text that a table takes."""
    text(value).encode("utf-8", "surrogateescape")
    return str(value)


def _array(value: Any, dtype: type[np.generic], shape: tuple[int, ...]) -> npt.NDArray[Any] | None:
    need(value is None or (isinstance(value, np.ndarray) and (value.dtype, value.shape) == (dtype, shape)), f"no {dtype} {shape}")
    return None if value is None else np.asarray(value)


def _agrees(packed: Packed) -> bool:
    """Whether what is told of the rows goes with what is told of the file."""
    shard, count = packed.shard, packed.shard.count
    told = len(packed.items) == count and len(packed.rejects) == shard.rejected and len(packed.hashes) in (0, NBYTES * count)
    if not count or not told:
        return told and shard.bytes == 0 and packed.offsets is None
    if packed.offsets is not None:
        ends = packed.offsets if packed.lengths is None else packed.offsets + packed.lengths
        placed = shard.stride is None and packed.offsets.min() >= 0 and ends.max() <= shard.bytes
    else:
        placed = shard.stride is not None and packed.lengths is None
    least = min(array.min() for array in (packed.sizes, packed.stored, packed.lengths) if array is not None)
    measured = least > 0 and (packed.stored is None) == (packed.lengths is None)
    return bool(placed and measured and CHECKSUM.fullmatch(shard.checksum))


def suits(packed: Packed, pixels: Pixels, *, hashed: bool) -> bool:
    """Whether a shard that was restored has rows as they are to be, all inside of its file."""
    shard, count = packed.shard, packed.shard.count
    if len(packed.hashes) != (NBYTES * count if hashed else 0):
        return False
    if not count or not pixels.even:
        return not count or packed.lengths is not None
    if packed.offsets is not None:
        return packed.lengths is None and bool(packed.offsets.max() + pixels.nbytes <= shard.bytes)
    try:
        return packed.lengths is None and shard_of(vars(shard), pixels.nbytes) == shard
    except ValueError:
        return False
