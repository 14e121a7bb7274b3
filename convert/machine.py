"""What this machine lets the process use: cores, memory and disk, as affinity and cgroups allow."""

import math
import os
import shutil
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
UNLIMITED = 1 << 60


def _groups(controller: str) -> list[Path]:
    """This process's cgroup folders and those above it: version 2, or version 1's for one controller."""
    try:
        lines = Path("/proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, names, path = line.split(":", 2)
        if not names or controller in names.split(","):
            base = CGROUP / names if names else CGROUP
            own = base / path.lstrip("/")
            found += [own, *(p for p in own.parents if p.is_relative_to(base))]
    return found


def _words(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").split()
    except OSError:
        return []


def cores() -> int:
    """Cores that this process may keep busy: affinity, cut down to the cgroup's quota; at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    for group in _groups("cpu"):
        words = _words(group / "cpu.max") or _words(group / "cpu.cfs_quota_us") + _words(group / "cpu.cfs_period_us")
        if len(words) == 2 and words[0] not in ("max", "-1"):
            count = min(count, math.ceil(int(words[0]) / int(words[1])))
    return max(1, count)


def memory() -> int:
    """Bytes of memory that this process may use: the machine's, cut down to the cgroup's limit."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for group in _groups("memory"):
        words = _words(group / "memory.max") or _words(group / "memory.limit_in_bytes")
        if words and words[0] != "max" and int(words[0]) < UNLIMITED:
            total = min(total, int(words[0]))
    return total


def free_disk(path: Path) -> int:
    """Free bytes on the disk that a path is, or will be, on."""
    while not path.exists():
        path = path.absolute().parent
    return shutil.disk_usage(path).free
