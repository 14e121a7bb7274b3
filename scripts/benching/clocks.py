"""Tells what a step's time goes to: on a CPU by its clock, on a GPU by events, which nothing has to wait for."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

PARTS = ("waiting", "copying", "computing")
Marks = np.ndarray[Any, np.dtype[np.float64]]


class Clock:
    """Marks moments. On a GPU a mark is when the GPU gets there, so that waiting is what the GPU waits, not the loop."""

    def __init__(self, device: str) -> None:
        """No mark yet."""
        self._device = device if device.startswith("cuda") else None
        self._marks: list[Any] = []

    def mark(self) -> None:
        """Now, or in the GPU's order of work."""
        if self._device is None:
            self._marks.append(time.perf_counter())
            return
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._device))
        self._marks.append(event)

    def synchronize(self) -> None:
        """Wait for the device: at the borders of an epoch only."""
        if self._device is not None:
            torch.cuda.synchronize(self._device)

    def parts(self) -> dict[str, Marks]:
        """Seconds (S,) of S steps that went to each of PARTS; marks are one at the beginning, and one after each part."""
        if self._device is None:
            moments = np.array(self._marks)
        else:
            moments = np.array([self._marks[0].elapsed_time(event) / 1e3 for event in self._marks])
        steps = np.diff(moments).reshape(-1, len(PARTS))
        return {name: steps[:, column] for column, name in enumerate(PARTS)}


def shares(steps: dict[str, Marks]) -> dict[str, float]:
    """The part of all the steps' time that went to each of PARTS; `steps` as `Clock.parts` gives them."""
    total = sum(float(took.sum()) for took in steps.values())
    return {name: float(took.sum()) / total for name, took in steps.items()}
