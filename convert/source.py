"""Finds the pictures below a folder, and the class of each: the first folder below the root, as in torchvision's ImageFolder."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert.contracts import RejectError
from convert.errors import PrebakeError, printable
from convert.manifest import Keys
from convert.walk import EXTENSIONS, Pictures, Walk

Stamp = tuple[int, int]
"""Size in bytes, and when it was changed last, in ns since 1970; `NO_TIME` where that is not looked at."""
NO_TIME = -1


@dataclass
class Source:
    """The pictures below `root`, in ImageFolder's order: by class, folder and name."""

    root: Path
    keys: Keys
    sizes: npt.NDArray[np.int64]
    """Of the files, in bytes."""
    times: npt.NDArray[np.int64]
    """When each was changed last, in ns since 1970."""
    folders: list[str]
    """Class folders that hold pictures, sorted; a flat folder has none."""
    counts: list[int]
    """Pictures in each of them."""
    ignored: Counter[str]
    """What was passed over, and how often."""
    beside: list[str]
    """Paths of a few side files that may hold boxes."""
    labelled: str = ""
    """Where labels that are not the folders' names come from, for a person."""

    def labels(self, classes: tuple[str, ...]) -> npt.NDArray[np.int64]:
        """One label for each key, as places in `classes`."""
        number = {name: label for label, name in enumerate(classes)}
        return np.repeat(np.array([number[name] for name in self.folders], np.int64), self.counts)

    def take(self, items: npt.NDArray[np.int64], others: str) -> Source:
        """The source of some of its pictures, by rising place, without class folders; `others` says what the rest is."""
        left = np.setdiff1d(np.arange(len(self.keys)), items)
        keys, ignored = self.keys, Counter(self.ignored)
        if len(left):
            keys = keys.take(items)
            ignored[f"{others}, such as {printable(self.keys[int(left[0])])}"] = len(left)
        return dataclasses.replace(
            self, keys=keys, sizes=self.sizes[items], times=self.times[items], folders=[], counts=[], ignored=ignored
        )


def scan(root: Path, *, by_folder: bool = True) -> Source:
    """Look at every name below a folder once; no file is opened.

    Args:
        root: the folder.
        by_folder: whether its folders are classes. If not, all pictures count, at any depth.

    Raises:
        PrebakeError: no such folder, or no pictures in it.
    """
    if not root.is_dir():
        raise PrebakeError(f"{printable(root)}: {'not a folder' if root.exists() else 'no such folder'}")
    walk, pictures, folders, counts = Walk(root), Pictures(), [], []
    names, flat = walk.list("") if by_folder else ([""], Pictures())
    for name in names:
        before = len(pictures)
        for more in walk.below(name):
            pictures.extend(more)
        if len(pictures) > before:
            folders.append(name)
            counts.append(len(pictures) - before)
        else:
            walk.ignored["folders without pictures"] += 1
    if pictures:
        walk.ignored["pictures outside class folders"] += len(flat)
    elif not flat:
        raise PrebakeError(f"{printable(root)}: no pictures in it (looked for {' '.join(EXTENSIONS)})")
    if not by_folder:
        folders, counts = [], []
    keys, sizes, times = (pictures or flat).finished()
    beside = [path for paths in walk.beside.values() for path in paths]
    return Source(root, keys, sizes, times, folders, counts, +walk.ignored, beside)


@contextmanager
def _opened(root: Path, key: str) -> Iterator[FileIO]:
    """A file, unbuffered; what the system has against it is a reject."""
    path = root / key
    try:
        with FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK)) as file:  # a FIFO must not hang the run
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RejectError("not_regular_file", "a pipe, socket or device")
            yield file
    except OSError as error:
        raise RejectError(_unopened(path), error.strerror or str(error)) from error


def read_item(root: Path, key: str, stamp: Stamp | None = None) -> bytes:
    """A file's bytes; with a `stamp`, only if it still is what it was then.

    Raises:
        RejectError: broken_symlink, not_regular_file or unreadable.
        PrebakeError: it was changed.
    """
    with _opened(root, key) as file:
        data = _read(file, -1)
        if stamp is not None and changed(stamp, stamp_of(os.fstat(file.fileno()))):  # afterwards: it may be written to while it is read
            raise PrebakeError(
                f"{printable(root / key)} was changed while the bake ran; start again when nobody writes there: finished shards are kept"
            )
        return data


def stamp_of(info: os.stat_result) -> Stamp:
    """By which a change of a file is noticed."""
    return info.st_size, info.st_mtime_ns


def changed(before: Stamp, now: Stamp) -> bool:
    """Whether two stamps are of different contents, most likely."""
    return before[0] != now[0] or (NO_TIME not in (before[1], now[1]) and before[1] != now[1])


def read_start(root: Path, key: str, count: int) -> bytes:
    """A file's first bytes, `count` of them or all.

    Raises:
        RejectError: as `read_item`.
    """
    with _opened(root, key) as file:
        return _read(file, count)


def _read(file: FileIO, count: int) -> bytes:
    data: bytes | None = file.read(count)
    if data is None:  # some of the kernel's own files say that they are regular, and wait for more like a pipe
        raise RejectError("unreadable", "it has no data to read now")
    return data


def _unopened(path: Path) -> str:
    """Why a file cannot be opened: a socket never can, and a terminal only by a process that has one."""
    try:
        return "unreadable" if stat.S_ISREG(path.stat().st_mode) else "not_regular_file"
    except OSError:
        return "broken_symlink" if path.is_symlink() else "unreadable"
