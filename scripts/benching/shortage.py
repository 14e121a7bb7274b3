"""Tells from an error that memory was short, of whatever kind."""

from __future__ import annotations

from convert.errors import PrebakeError

SIGNS = ("out of memory", "killed by signal", "exited unexpectedly", "No space left", "allocate memory", "/dev/shm", "shared memory")
"""What the errors of torch, its workers and the kernel say then."""


class ShortageError(PrebakeError):
    """Something did not fit the memory."""


def no_room(error: BaseException) -> str:
    """The first line of an error that says so; nothing of any other."""
    if not isinstance(error, MemoryError) and not any(sign in str(error) for sign in SIGNS):
        return ""
    return (str(error).strip().splitlines() or ["no memory is left"])[0][:100]
