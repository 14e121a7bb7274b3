"""One run at a time writes into a folder: a lock that says who holds it, and that no dead process keeps.

The kernel's own lock on the file (flock) is what counts: it goes when its process does, however that ends, and no child inherits it.
What the file says is for people, and for where the kernel cannot know: a disk that is shared with other machines.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from convert.errors import PrebakeError, printable
from convert.links import check_plain

LOCK = "lock"
LOOKS = 20
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""A file system that knows no locks says one of these."""


@contextmanager
def locked(work: Path, out: Path) -> Iterator[None]:
    """Hold the lock in a work folder, which must exist; `out` is what it guards, for people.

    Raises:
        PrebakeError: another process holds it, or one on another machine may.
    """
    path = work / LOCK
    fd = _taken(path, out)
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(_self()).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(fd)


def check_free(work: Path, out: Path) -> None:
    """Look whether the lock could be had, and a run could write there; nothing is written.

    Raises:
        PrebakeError: as `locked`; or a link or a special file is in the work folder.
    """
    check_plain(work)
    with suppress(FileNotFoundError, NotADirectoryError):
        fd = _opened(work / LOCK)
        try:
            _take(fd, work / LOCK, out)
        finally:
            os.close(fd)


def _opened(path: Path, flags: int = 0) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o666)
    except IsADirectoryError:
        raise PrebakeError(f"{printable(path)} is a folder, where prebake keeps a file: move it away, and run this again") from None


def _taken(path: Path, out: Path) -> int:
    """The file, open and locked."""
    while True:
        fd = _opened(path, os.O_CREAT)
        try:
            _take(fd, path, out)
            if os.path.samestat(os.fstat(fd), path.lstat()):
                return fd
        except FileNotFoundError:  # its last holder has removed it meanwhile: again, with a new one
            pass
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _take(fd: int, path: Path, out: Path) -> None:
    """Lock a file, unless somebody holds it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _held(fd, out) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        if _lives(_holder(fd)):
            raise _held(fd, out) from None
    holder = _holder(fd)
    if holder and not _is_here(holder):
        raise PrebakeError(f"OUT {printable(out)} may be being written by {_who(holder)}: if that run has ended, remove {printable(path)}")


def _held(fd: int, out: Path) -> PrebakeError:
    """The error that somebody holds it. Who has it only just now may not have written its name yet."""
    for _ in range(LOOKS):
        if _holder(fd):
            break
        time.sleep(0.05)
    who = _who(_holder(fd))
    return PrebakeError(f"OUT {printable(out)} is being written by another prebake ({who}): wait for its end, or choose another OUT")


def _who(holder: dict[str, Any]) -> str:
    return f"pid {printable(holder.get('pid', 'unknown'))} on {printable(holder.get('host', 'an unknown host'))}"


def _holder(fd: int) -> dict[str, Any]:
    """What the file says; nothing, if it was never finished."""
    try:
        found = json.loads(os.pread(fd, 4096, 0))
    except (ValueError, RecursionError):  # nested so deep that nobody meant it
        return {}
    return found if isinstance(found, dict) else {}


def _self() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": os.uname().nodename, "boot": _boot(), "started": _started(os.getpid())}


def _is_here(holder: dict[str, Any]) -> bool:
    """Whether the holder is, or was, on this machine: containers have names of their own, and share the kernel's boot."""
    return holder.get("boot") == _boot() or holder.get("host") == os.uname().nodename


def _lives(holder: dict[str, Any]) -> bool:
    """Whether the very process is still there; its number alone may be another's by now."""
    return holder.get("boot") == _boot() and holder.get("started") == _started(holder.get("pid")) is not None


def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None


def _started(pid: object) -> str | None:
    """When a process began, in the kernel's ticks; None where there is none, or `pid` is no number."""
    if type(pid) is not int:
        return None
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
