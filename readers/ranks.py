"""Which process of a training this is, and how many there are."""

from __future__ import annotations

import os

from torch import distributed

from convert.errors import PrebakeError


def place(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Rank and world size: as given, else torch.distributed's, else the environment's RANK and WORLD_SIZE, else 0 of 1.

    Raises:
        PrebakeError: only one of them is known, or they make no sense.
    """
    found: tuple[object, object] = rank, world_size
    if found == (None, None) and distributed.is_available() and distributed.is_initialized():
        found = distributed.get_rank(), distributed.get_world_size()
    elif found == (None, None):
        found = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if found == (None, None):
        return 0, 1
    try:
        number, count = (int(str(part)) for part in found)
    except ValueError:
        number, count = 0, 0
    if not 0 <= number < count:
        raise PrebakeError(f"rank {found[0]} of world_size {found[1]} makes no sense: give both, the rank from 0 on")
    return number, count
