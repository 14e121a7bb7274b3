"""Reads a source's files: what a file has against it for good is a reject; what may be otherwise soon ends the run."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from convert.contracts import RejectError
from convert.errors import PrebakeError, printable
from convert.stamp import NO_FILE, Stamp, changed, stamp_of

ITS_OWN = (errno.EACCES, errno.EPERM, errno.EIO)
"""What one file may have against it while others can be read: nobody may read it, or its sector is bad."""
NO_MORE = "it is no regular file any more"
UNREAD = ("broken_symlink", "not_regular_file", "unreadable")
"""Reasons that the system had: it may have none any more, though the file is the same."""


def read_item(root: Path, key: str, stamp: Stamp | None = None, *, by_time: bool = True) -> bytes:
    """A file's bytes; with a `stamp`, only if it still is what it was when it was listed (without `by_time`, by its size).

    Raises:
        RejectError: broken_symlink, not_regular_file or unreadable. With a regular file's stamp only
            that reading it is forbidden, or that its disk cannot.
        PrebakeError: it was changed, or was a file and cannot be read now: the fault is the disk's or the network's, not the picture's.
    """
    return _read(root, key, -1, stamp, by_time=by_time)


def read_start(root: Path, key: str, count: int, stamp: Stamp | None = None, *, by_time: bool = True) -> bytes:
    """A file's first bytes, `count` of them or all.

    Raises:
        RejectError: as `read_item`.
        PrebakeError: as `read_item`.
    """
    return _read(root, key, count, stamp, by_time=by_time)


def is_as_listed(root: Path, key: str, stamp: Stamp) -> bool:
    """Look at a file once more: whether its size and its time are what they were when it was listed, or it is no more.

    Raises:
        PrebakeError: it has another size.
    """
    try:
        now = stamp_of((root / key).stat())
    except OSError:
        return True
    if now == NO_FILE:
        return True
    if changed(stamp, now, by_time=False):
        raise was_changed(root / key)
    return stamp == now


def was_changed(path: Path) -> PrebakeError:
    """The error that a file is not what it was when it was listed."""
    return PrebakeError(f"{printable(path)} was changed while prebake ran; start again when nobody writes there")


def _away(path: Path, why: str | None) -> PrebakeError:
    """The error that a file was there, and cannot be read now."""
    remedy = "start again once it is there as it was, or with an empty file in its place, which is left out as a reject"
    return PrebakeError(f"{printable(path)} cannot be read any more ({why}): {remedy}")


def _read(root: Path, key: str, count: int, stamp: Stamp | None, *, by_time: bool) -> bytes:
    with _opened(root / key, was_file=stamp not in (None, NO_FILE)) as file:
        data: bytes | None = file.read(count)
        if data is None:  # some of the kernel's own files say that they are regular, and wait for more like a pipe
            raise RejectError("unreadable", "it has no data to read now")
        # Afterwards: it may be written to while it is read.
        if stamp is not None and changed(stamp, stamp_of(os.fstat(file.fileno())), by_time=by_time):
            raise was_changed(root / key)
        return data


@contextmanager
def _opened(path: Path, *, was_file: bool) -> Iterator[FileIO]:
    """A file, unbuffered. What the system has against it is a reject, unless it was a file and may be one again."""
    try:
        with FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK)) as file:  # a FIFO must not hang the run
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                if was_file:
                    raise _away(path, NO_MORE)
                raise RejectError("not_regular_file", "a pipe, socket or device")
            yield file
    except OSError as error:
        regular, why = _is_regular(path), error.strerror or str(error)
        if was_file and not (regular and error.errno in ITS_OWN):
            raise _away(path, NO_MORE if regular is False else why) from error
        raise RejectError(_unopened(path, regular), why) from error


def _is_regular(path: Path) -> bool | None:
    """Whether a regular file is there; None if the system does not say."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return None


def _unopened(path: Path, regular: bool | None) -> str:
    """Why a file cannot be opened: a socket never can, and a terminal only by a process that has one."""
    if regular is None:
        return "broken_symlink" if os.path.islink(path) else "unreadable"  # noqa: PTH114 - which raises where a folder may not be entered
    return "unreadable" if regular else "not_regular_file"
