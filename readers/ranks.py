"""Divides an epoch among the ranks of a training: who takes which positions, in how many steps."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass

import numpy as np
import torch

from convert.errors import PrebakeError, printable
from readers.rows import Index


@dataclass(frozen=True)
class Share:
    """One rank's part of what is left of an epoch, from position `start` on.

    Positions are dealt out in turn, so all ranks together have taken `start + steps * batch * world` of them after some steps. Training
    (`even`): every rank takes as many steps of as many samples; positions beyond the end wrap around, at most `world - 1` of them.
    `drop_last` takes full batches only. Otherwise each position is taken once, and ranks differ by one sample at most.
    """

    count: int
    start: int
    batch: int
    rank: int
    world: int
    even: bool
    drop_last: bool

    def since(self, start: int) -> Share:
        """What is left from another position on."""
        return dataclasses.replace(self, start=start)

    @property
    def samples(self) -> int:
        """Of this rank."""
        left = self.count - self.start
        if self.drop_last:
            return left // (self.batch * self.world) * self.batch
        return -(-(left if self.even else left - self.rank) // self.world)

    @property
    def steps(self) -> int:
        """Batches of this rank."""
        return -(-self.samples // self.batch)

    def positions(self, step: int, steps: int = 1) -> Index:
        """The positions in the epoch of a step, or of several, int64."""
        stop = min((step + steps) * self.batch, self.samples)
        return self.start + np.arange(step * self.batch, stop, dtype=np.int64) * self.world + self.rank

    def taken(self, steps: int) -> int:
        """How many positions all ranks have taken together after some steps."""
        return min(self.count, self.start + steps * self.batch * self.world)


def find_ranks(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """This process's rank and how many there are: as given, as `torch.distributed` says, or 0 of 1.

    Raises:
        PrebakeError: only one of them is given, they make no sense, or a launcher started several ranks that do not know each other.
    """
    if rank is None and world_size is None:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank(), torch.distributed.get_world_size()
        world = os.environ.get("WORLD_SIZE", "1")
        if world != "1":
            raise PrebakeError(
                f"WORLD_SIZE={printable(world)}, but torch.distributed is not initialised: every rank would load the same pictures. "
                "Call init_process_group first, or give rank= and world_size="
            )
        return 0, 1
    if rank is None or world_size is None or not 0 <= rank < world_size:
        raise PrebakeError(f"rank={rank}, world_size={world_size}: give both, with rank from 0 up to world_size")
    return rank, world_size


def local_ranks(world: int) -> int:
    """How many of the ranks share this machine's cores: as torchrun says; else one for each GPU; without GPUs all of them."""
    told = os.environ.get("LOCAL_WORLD_SIZE", "")
    if told.isdigit() and int(told) > 0:
        return int(told)
    return min(world, torch.cuda.device_count() or world)
