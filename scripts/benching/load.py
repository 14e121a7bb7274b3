"""What the machine does meanwhile: how busy each core is, what the disk reads, and whether the cgroup throttles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from convert.machine import CGROUP


def _cores() -> dict[str, tuple[int, int]]:
    """Ticks that each core was busy, and all."""
    found = {}
    for line in Path("/proc/stat").read_text().splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0] != "cpu":
            ticks = [int(word) for word in words[1:9]]
            found[words[0]] = sum(ticks) - ticks[3] - ticks[4], sum(ticks)
    return found


def _disk() -> int:
    """Bytes read from all disks; partitions and stacked devices are counted in the disk below them only."""
    total = 0
    for line in Path("/proc/diskstats").read_text().splitlines():
        words = line.split()
        if Path(f"/sys/block/{words[2]}").exists() and not words[2].startswith(("loop", "dm-", "md", "ram", "zram")):
            total += 512 * int(words[5])
    return total


def _throttled() -> int:
    """Microseconds that this process's cgroup was made to wait, where it is told."""
    try:
        own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        lines = (CGROUP / own[3:].lstrip("/") / "cpu.stat").read_text().splitlines()
    except (OSError, StopIteration):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("throttled_usec ")), 0)


@dataclass
class Load:
    """The counters at one moment."""

    cores: dict[str, tuple[int, int]]
    disk: int
    throttled: int

    @classmethod
    def now(cls) -> Load:
        """Read them."""
        return cls(_cores(), _disk(), _throttled())

    def until(self, later: Load, seconds: float) -> dict[str, object]:
        """What happened between: `cores`, the busy share of each; `disk_mb_per_s`; `throttled`, the share of the time."""
        busy = []
        for name, (used, all_) in self.cores.items():
            now_used, now_all = later.cores.get(name, (used, all_))
            busy.append((now_used - used) / max(1, now_all - all_))
        return {
            "cores": busy,
            "disk_mb_per_s": (later.disk - self.disk) / seconds / 1e6,
            "throttled": (later.throttled - self.throttled) / 1e6 / seconds,
        }
