"""Times one epoch of a feed, and what it costs."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
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


def checksum(labels: list[torch.Tensor | None], count: int) -> str:
    """CRC-32 of the first labels, as text; of nothing where there are none."""
    there = [part.cpu() for part in labels if part is not None]
    return "none" if not there else f"{zlib.crc32(torch.cat(there)[:count].numpy().tobytes()):08x}"


def run(batches: Iterator[Any], work: Work, device: str, *, meter: Meter, checked: int) -> Timed:
    """Take all batches, work on each, and say how long it took; `checked` is how many labels the checksum is of."""
    clock, labels, pictures = Clock(device), [], 0
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
            labels.append(target)
        clock.synchronize()
        seconds = time.perf_counter() - began
        after = meter.spent()
    return Timed(
        seconds,
        pictures,
        clock.parts(),
        checksum(labels, checked),
        cpu=after.cpu - before.cpu,
        disk=after.disk - before.disk,
        own=peak.own,
        mapped=peak.mapped,
        gpu=gpu.seen(),
    )
