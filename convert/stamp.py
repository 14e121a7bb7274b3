"""By what a change of a file is noticed: its size, and when it was changed last."""

from __future__ import annotations

import os
import stat

Stamp = tuple[int, int]
"""Size in bytes, and when it was changed last, in ns since 1970."""
NO_FILE: Stamp = (0, -(1 << 63))
"""The stamp of what is no regular file: a pipe, a socket, a link that leads nowhere."""


def stamp_of(info: os.stat_result) -> Stamp:
    """The stamp of what the system says of a name."""
    return (info.st_size, info.st_mtime_ns) if stat.S_ISREG(info.st_mode) else NO_FILE


def changed(before: Stamp, now: Stamp, *, by_time: bool = True) -> bool:
    """Whether two stamps are of different contents, most likely; without `by_time`, by size alone."""
    return before != now if by_time or NO_FILE in (before, now) else before[0] != now[0]
