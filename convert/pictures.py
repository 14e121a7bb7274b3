"""Whether pictures are what they were when shards were made of them: by size and time, by their contents, by what the system says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert.contracts import RejectError
from convert.hashes import NBYTES, hash_of
from convert.packed import Packed
from convert.plan import Plan
from convert.reading import UNREAD, read_item, read_start
from convert.stamp import NO_FILE, Stamp
from convert.threads import Wanted


def changed_items(there: Plan, plan: Plan, *, by_time: bool) -> npt.NDArray[np.int64]:
    """The items whose files have another size or time than they had; without `by_time`, size alone."""
    if there.stamps is None or plan.stamps is None or there.stamps.shape != plan.stamps.shape:
        return np.arange(len(plan.keys))
    old, new = there.stamps, plan.stamps
    no_file = (old[:, 1] == NO_FILE[1]) | (new[:, 1] == NO_FILE[1])
    return np.flatnonzero((old[:, 0] != new[:, 0]) | ((old[:, 1] != new[:, 1]) & (no_file | by_time)))


def read_otherwise(plan: Plan, packed: Packed) -> tuple[int, str] | None:
    """The first rejected item that the system did not let be read, and of which it says something else now; and why it was rejected.

    Size and time are as before: a permission was given, a network drive is back.

    Raises:
        PrebakeError: it was changed meanwhile, or went away.
    """
    for item, reason, detail in packed.rejects:
        if reason in UNREAD and _said(plan, item) != (reason, detail):
            return item, reason
    return None


def _said(plan: Plan, item: int) -> tuple[str, str] | None:
    """Why a file cannot be read; None if it can."""
    try:
        read_start(Path(plan.root), plan.keys[item], 1, plan.stamp_of(item), by_time=False)
    except RejectError as error:
        return error.reason, error.detail
    return None


def other_content(plan: Plan, packed: Packed, wanted: Wanted) -> int | None:
    """The first item whose file holds something else than was baked. Of rejected ones no hash is known: their size must do.

    Raises:
        PrebakeError: one was changed meanwhile, or went away.
    """
    for place, item in enumerate(packed.items):
        wanted()
        known = packed.hashes[NBYTES * place : NBYTES * (place + 1)]
        if not is_same(Path(plan.root), plan.keys[item], known, plan.stamp_of(item)):
            return item
    return None


def is_same(root: Path, key: str, known: bytes, stamp: Stamp | None) -> bool:
    """Whether a file may be read and has this hash.

    Raises:
        PrebakeError: its size is not that of the stamp, with which it was listed, or it went away.
    """
    try:
        return hash_of(read_item(root, key, stamp, by_time=False)) == known
    except RejectError:
        return False
