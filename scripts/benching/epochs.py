"""Times one epoch of a feed, and what it costs."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from benching.clocks import Clock, Marks
from benching.gpu import Gpu
from benching.meters import Meter, Peak
from benching.work import to_device

Work = Callable[[torch.Tensor, torch.Tensor | None], None]


@dataclass
class Timed:
    """One timed epoch."""

    seconds: float
    pictures: int
    steps: dict[str, Marks]
    """Seconds (S,) of each step, by what they went to."""
    labels: str
    """A checksum of the first labels, in order."""
    first_batch: float = 0.0
    """Seconds from opening to the first batch, workers started."""
    cpu: float = 0.0
    disk: int = 0
    own: int = 0
    """The most memory of the processes, in bytes, without mapped files."""
    mapped: int = 0
    gpu: dict[str, float] = field(default_factory=dict)
    resident: float = 1.0
    """The share of the files that was in memory at the beginning."""


class Labels:
    """A checksum of the first labels, in order. Pictures without labels count as if all had the label 0.

    Labels in the CPU's memory are not kept: small blocks that stay between batches would have malloc take fresh memory for each batch.
    """

    def __init__(self, count: int) -> None:
        """Of `count` labels."""
        self._left, self._sum = count, 0
        self._later: list[torch.Tensor] = []

    def add(self, labels: torch.Tensor | None, pictures: int) -> None:
        """Those of a batch. What is on a GPU is read at the end: nothing may wait for it meanwhile."""
        if self._left <= 0:
            return
        some = torch.zeros(pictures, dtype=torch.int64) if labels is None else labels
        some = some[: self._left]
        self._left -= len(some)
        if some.is_cuda:
            self._later.append(some)
        else:
            self._sum = zlib.crc32(some.numpy().tobytes(), self._sum)

    def checksum(self) -> str:
        """CRC-32, as text."""
        for some in self._later:
            self._sum = zlib.crc32(some.cpu().numpy().tobytes(), self._sum)
        self._later.clear()
        return f"{self._sum:08x}"


def run(batches: Iterable[Any], work: Work, device: str, *, meter: Meter, checked: int) -> Timed:
    """Take all batches, work on each, and say how long it took; `checked` is how many labels the checksum is of.

    The iterator is made inside the clock: torch's DataLoader has its workers begin right then.
    """
    clock, labels, pictures = Clock(device), Labels(checked), 0
    with Gpu(device) as gpu, Peak(meter) as peak:
        before = meter.spent()
        clock.synchronize()
        began = time.perf_counter()
        clock.mark()
        for batch in batches:
            clock.mark()
            images, target = to_device(batch, device)
            clock.mark()
            work(images, target)
            clock.mark()
            pictures += len(images)
            labels.add(target, len(images))
        clock.synchronize()
        seconds = time.perf_counter() - began
        after = meter.spent()
    return Timed(
        seconds,
        pictures,
        clock.parts(),
        labels.checksum(),
        cpu=after.cpu - before.cpu,
        disk=after.disk - before.disk,
        own=peak.own,
        mapped=peak.mapped,
        gpu=gpu.seen(),
    )
