"""Drops files from the page cache, and looks how much of them stayed."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

STAYED = 0.05
"""The share of resident pages from which on a row is called warm."""
_MINCORE = ctypes.CDLL(None, use_errno=True).mincore
_MINCORE.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def drop(files: Iterable[Path]) -> None:
    """Ask the kernel to forget the pages of files; dirty ones are written first. Pages that somebody has mapped stay."""
    for path in files:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _pages(path: Path) -> tuple[int, int]:
    """Pages of a file in memory, and all of them. Where the kernel does not tell a stranger, it says that all are."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return 0, 0
        with mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as mapped:
            flags = np.zeros(-(-size // mmap.PAGESIZE), np.uint8)
            view = np.frombuffer(mapped, np.uint8)
            failed = _MINCORE(view.ctypes.data, size, flags.ctypes.data)
            del view  # an mmap with a view cannot be closed
    if failed:
        raise OSError(ctypes.get_errno(), f"mincore failed for {path}")
    return int((flags & 1).sum()), len(flags)


def resident(files: Iterable[Path]) -> float:
    """The share of files' pages that are in memory, by mincore(2)."""
    pages = [_pages(path) for path in files]
    return sum(there for there, _ in pages) / max(1, sum(count for _, count in pages))
