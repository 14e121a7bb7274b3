"""Looks at the GPU's own counters meanwhile, where pynvml is installed."""

from __future__ import annotations

import importlib
import importlib.util
import threading
from typing import Any

import torch

PAUSE = 0.1


class Gpu:
    """Mean utilisation and the most memory while the block runs; nothing on a CPU."""

    def __init__(self, device: str) -> None:
        """Of one device."""
        self._device = torch.device(device)
        self._used: list[float] = []
        self._memory: list[float] = []
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Gpu:
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
            if importlib.util.find_spec("pynvml") is not None:
                nvml: Any = importlib.import_module("pynvml")
                nvml.nvmlInit()
                # By UUID: CUDA_VISIBLE_DEVICES gives torch numbers of its own.
                uuid = f"GPU-{torch.cuda.get_device_properties(self._device).uuid}"
                self._thread = threading.Thread(target=self._watch, args=(nvml, nvml.nvmlDeviceGetHandleByUUID(uuid)), daemon=True)
                self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, nvml: Any, handle: Any) -> None:
        while not self._end.wait(PAUSE):
            self._used.append(nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
            self._memory.append(nvml.nvmlDeviceGetMemoryInfo(handle).used)

    def seen(self) -> dict[str, float]:
        """`utilisation` (percent, NVML), `memory` (bytes on the card, NVML) and `allocated` (bytes, torch), as far as they are known."""
        found: dict[str, float] = {}
        if self._used:
            found = {"utilisation": sum(self._used) / len(self._used), "memory": max(self._memory)}
        if self._device.type == "cuda":
            found["allocated"] = float(torch.cuda.max_memory_allocated(self._device))
        return found
