"""How far each shard is: a small file that workers write and the parent reads, whatever executor runs them."""

import os
from pathlib import Path

import numpy as np

WIDTH = 2
"""int64 values for each shard: pictures looked at, and rejected."""


def create(path: Path, shards: int) -> None:
    """Begin at zero."""
    np.zeros((shards, WIDTH), "<i8").tofile(path)


def totals(path: Path) -> tuple[int, int]:
    """Pictures looked at and rejected so far, in all shards."""
    done, rejected = np.fromfile(path, "<i8").reshape(-1, WIDTH).sum(axis=0)
    return int(done), int(rejected)


class Meter:
    """One shard's place in the file."""

    def __init__(self, path: Path, shard: int) -> None:
        self._fd = os.open(path, os.O_WRONLY)
        self._at = shard * WIDTH * 8

    def set(self, done: int, rejected: int) -> None:
        """Say how far the shard is. Two numbers, one write."""
        os.pwrite(self._fd, np.array([done, rejected], "<i8").tobytes(), self._at)

    def close(self) -> None:
        """Let the file go."""
        os.close(self._fd)
