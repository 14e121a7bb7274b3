"""What this process may use: cores as affinity and cgroups allow, and memory."""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def _numbers(*names: str) -> list[list[int]]:
    """The numbers in files of these names, in this process's cgroup and in those above it; files without a limit are left out."""
    try:
        lines = Path("/proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        own = CGROUP / controllers / path.lstrip("/")
        for group in [own, *(above for above in own.parents if above.is_relative_to(CGROUP))]:
            try:
                words = [word for name in names for word in (group / name).read_text("utf-8").split()]
            except OSError:
                continue
            if all(word.isdigit() for word in words):  # neither "max" nor -1
                found.append([int(word) for word in words])
    return found


def cores() -> int:
    """Cores that this process may keep busy; at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    quotas = _numbers("cpu.max") + _numbers("cpu.cfs_quota_us", "cpu.cfs_period_us")
    return max(1, min([count, *(math.ceil(quota / period) for quota, period in quotas)]))


def memory() -> int:
    """Bytes of memory that this process may use: the machine's, cut down to the cgroup's limit."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([total, *(limit for (limit,) in _numbers("memory.max") + _numbers("memory.limit_in_bytes"))])
