"""Plain writes: on a full disk they fail with an error, where a mapping dies."""

import os
from typing import Any


def write_all(fd: int, data: Any) -> None:
    """Write all of a buffer: `os.write` may stop short without an error.

    Raises:
        OSError: the disk is full, or broken.
    """
    rest = memoryview(data).cast("B")
    while rest:
        rest = rest[os.write(fd, rest) :]
