"""Says on what was measured: machine, versions, and which Pillow."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import torch
import torchvision

from convert import __version__
from convert.image.pillow import pillow_versions
from convert.machine import cores, free_disk, memory


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def storage(folder: Path) -> dict[str, str]:
    """Device and file system that a folder is on."""
    try:
        lines = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return {"device": "unknown", "file_system": "unknown"}
    mounts = [line.split()[:3] for line in lines]
    own = [(device, point, kind) for device, point, kind in mounts if folder.resolve().is_relative_to(point.replace("\\040", " "))]
    device, _, kind = max(own, key=lambda mount: len(mount[1]))
    return {"device": device, "file_system": kind}


def describe(device: str, work: Path, data: Path | None) -> dict[str, Any]:
    """All that a reader of the figures must know."""
    gpu = None
    if device.startswith("cuda"):
        found = torch.cuda.get_device_properties(device)
        gpu = {"name": found.name, "memory": found.total_memory, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}  # type: ignore[no-untyped-call]
    shm = Path("/dev/shm")
    return {
        "node": platform.node(),
        "processor": _processor(),
        "cores": cores(),
        "memory": memory(),
        "load_before": os.getloadavg()[0],
        "shm_free": free_disk(shm) if shm.is_dir() else 0,
        "kernel": platform.release(),
        "gpu": gpu,
        "bakes_on": storage(work),
        "pictures_on": None if data is None else storage(data),
        "python": platform.python_version(),
        "prebake": __version__,
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
        **pillow_versions(),
    }
