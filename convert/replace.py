"""Writes files so that each is there whole or not at all, whatever ends the process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file to be written; it takes the place of the other once it is whole and on the disk. When writing fails, the other stays.

    Its name is on the disk, too, when this returns.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.unlink(missing_ok=True)  # of a process that was killed, or a link that leads elsewhere
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
        sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def all_replaced(folder: Path) -> Iterator[Path]:
    """A folder for several files; each takes its place in `folder`, whole, once all of them are on the disk."""
    partial = folder / f"{os.getpid()}.partial"
    partial.mkdir()
    try:
        yield partial
        names = sorted(path.name for path in partial.iterdir())
        for name in names:
            with (partial / name).open("rb") as file:
                os.fsync(file.fileno())
        for name in names:
            (partial / name).rename(folder / name)
        sync(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def sync(folder: Path) -> None:
    """Put a folder's names on the disk."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
