"""Looks at the GPU's own counters meanwhile, where pynvml is installed."""

from __future__ import annotations

import contextlib
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
                self._thread = threading.Thread(target=self._watch, args=(importlib.import_module("pynvml"),), daemon=True)
                self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, nvml: Any) -> None:
        # By UUID: CUDA_VISIBLE_DEVICES gives torch numbers of its own. Where the driver does not tell (MIG, containers), nothing is said.
        with contextlib.suppress(nvml.NVMLError, AttributeError):
            nvml.nvmlInit()
            handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(self._device).uuid}")
            while not self._end.wait(PAUSE):
                used, memory = nvml.nvmlDeviceGetUtilizationRates(handle).gpu, nvml.nvmlDeviceGetMemoryInfo(handle).used
                self._used.append(used)
                self._memory.append(memory)

    def seen(self) -> dict[str, float]:
        """`utilisation` (percent, NVML), `memory` (bytes on the card, NVML) and `allocated` (bytes, torch), as far as they are known."""
        found: dict[str, float] = {}
        if self._used:
            found = {"utilisation": sum(self._used) / len(self._used), "memory": max(self._memory)}
        if self._device.type == "cuda":
            found["allocated"] = float(torch.cuda.max_memory_allocated(self._device))
        return found
