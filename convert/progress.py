"""How far each shard is, and what was rejected: two small files that workers write and the parent reads, whatever executor runs them."""

import json
import os
from pathlib import Path

import numpy as np

PROGRESS, REJECTS = "progress", "rejects.jsonl"
WIDTH = 2
"""int64 values for each shard: pictures looked at, and rejected."""
Reject = tuple[str, str, str]
"""Key, reason and detail."""


def create(work: Path, shards: int) -> None:
    """Begin at zero."""
    np.zeros((shards, WIDTH), "<i8").tofile(work / PROGRESS)
    (work / REJECTS).touch()


def totals(work: Path) -> tuple[int, int]:
    """Pictures looked at and rejected so far, in all shards."""
    done, rejected = np.fromfile(work / PROGRESS, "<i8").reshape(-1, WIDTH).sum(axis=0)
    return int(done), int(rejected)


def first_rejects(work: Path, count: int) -> list[Reject]:
    """Some of the rejects so far, each once, those of shards that failed later included: a shard that is tried again says them again."""
    found: dict[str, Reject] = {}
    with (work / REJECTS).open(encoding="utf-8") as file:
        for line in file:
            if len(found) == count:
                break
            if line.endswith("\n"):
                key, reason, detail = json.loads(line)
                found.setdefault(key, (key, reason, detail))
    return list(found.values())


class Meter:
    """One shard's place in the files."""

    def __init__(self, work: Path, shard: int) -> None:
        self._fd = os.open(work / PROGRESS, os.O_WRONLY)
        self._rejects = os.open(work / REJECTS, os.O_WRONLY | os.O_APPEND)
        self._at = shard * WIDTH * 8

    def set(self, done: int, rejected: int) -> None:
        """Say how far the shard is. Two numbers, one write."""
        os.pwrite(self._fd, np.array([done, rejected], "<i8").tobytes(), self._at)

    def reject(self, reject: Reject) -> None:
        """Say what was rejected: one line, one write, so that those of several workers do not mix."""
        os.write(self._rejects, json.dumps(reject).encode() + b"\n")

    def close(self) -> None:
        """Let the files go."""
        os.close(self._fd)
        os.close(self._rejects)
