"""Looks whether disk, memory and /dev/shm are large enough, before anything is written or started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benching.settings import FOLDER, Settings
from convert.errors import PrebakeError, human, printable
from convert.machine import free_disk, memory

READY = 4
"""Batches that each worker of the tuned folder has ready, if there is room."""


def batch_nbytes(settings: Settings) -> int:
    """Of one batch, float32."""
    return settings.batch * 3 * settings.crop**2 * 4


def ready(settings: Settings) -> int:
    """Batches that each worker of the tuned folder may have ready.

    Raises:
        PrebakeError: /dev/shm cannot hold one for each, or memory not even two.
    """
    if 2 * batch_nbytes(settings) > memory():
        raise PrebakeError(
            f"a batch of {settings.batch:,} takes {human(batch_nbytes(settings))} of {human(memory())} memory: take a smaller --batch-size"
        )
    shm = Path("/dev/shm")
    room = min(free_disk(shm) if shm.is_dir() else 0, memory() // 4)
    most = room // (batch_nbytes(settings) * max(1, settings.workers))
    if not most and settings.workers and FOLDER in settings.formats and settings.data is not None:
        needed = human(batch_nbytes(settings) * settings.workers)
        raise PrebakeError(f"/dev/shm has room for {human(room)}, and workers need {needed}: take a smaller --batch-size, or --workers")
    return int(max(1, min(READY, most)))


def check(work: Path, nbytes: int, say: Callable[[str], None]) -> None:
    """Say how many bytes will be written, and whether they fit.

    Raises:
        PrebakeError: they do not fit the disk.
    """
    if not nbytes:
        return
    free = free_disk(work)
    if nbytes > 0.8 * memory():
        say("memory is too small for all bakes at once: rows called warm may read from the disk")
    say(f"bakes: {human(nbytes)} into {printable(work)} ({human(free)} free; memory {human(memory())})")
    if nbytes > 0.95 * free:
        raise PrebakeError(f"{printable(work)} has {human(free)} free, and {human(nbytes)} are needed: lower --samples, or give --work DIR")
