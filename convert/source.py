"""Finds the pictures below a folder, and the class of each: the first folder below the root, as in torchvision's ImageFolder."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert.contracts import RejectError
from convert.errors import PrebakeError, printable

EXTENSIONS = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".mpo", ".ppm", ".pgm")
"""The extension decides whether a file is looked at; its content decides what it is."""
JUNK = ("__MACOSX", "@eaDir", "$RECYCLE.BIN", "System Volume Information")


@dataclass
class Source:
    """The pictures below `root`, in ImageFolder's order: by class, folder and name."""

    root: Path
    keys: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    """Class folders that hold pictures, sorted; a flat folder has none."""
    counts: list[int] = field(default_factory=list)
    """Pictures in each of them."""
    ignored: Counter[str] = field(default_factory=Counter)
    """What was passed over, and how often."""

    def labels(self, classes: tuple[str, ...]) -> npt.NDArray[np.int64]:
        """One label for each key, as places in `classes`."""
        number = {name: label for label, name in enumerate(classes)}
        return np.repeat(np.array([number[name] for name in self.folders], np.int64), self.counts)


def scan(root: Path) -> Source:
    """Look at every name below a folder once; no file is opened.

    Raises:
        PrebakeError: no such folder, or no pictures in it.
    """
    if not root.is_dir():
        raise PrebakeError(f"{printable(root)}: {'not a folder' if root.exists() else 'no such folder'}")
    source = Source(root)
    folders, files = _listing(root, source)
    for folder in folders:
        before = len(source.keys)
        for key, size in _walk(root, folder, source):
            source.keys.append(key)
            source.sizes.append(size)
        if len(source.keys) > before:
            source.folders.append(folder)
            source.counts.append(len(source.keys) - before)
        else:
            source.ignored["folders without pictures"] += 1
    if source.keys:
        source.ignored["pictures outside class folders"] += len(files)
    else:
        source.keys, source.sizes = [name for name, _ in files], [size for _, size in files]
    if not source.keys:
        raise PrebakeError(f"{printable(root)}: no pictures in it (looked for {' '.join(EXTENSIONS)})")
    source.ignored = +source.ignored
    return source


def _listing(path: Path, source: Source) -> tuple[list[str], list[tuple[str, int]]]:
    """A folder's sub-folders, and its pictures with their sizes, both sorted by name."""
    folders, files = [], []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name in JUNK:
                    source.ignored["hidden and system files"] += 1
                elif _is_folder(entry):
                    folders.append(entry.name)
                elif entry.name.lower().endswith(EXTENSIONS):
                    files.append((entry.name, _size(entry)))
                else:
                    source.ignored["files of other kinds"] += 1
    except OSError as error:
        raise PrebakeError(f"{printable(path)} cannot be listed: {error.strerror}") from error
    return sorted(folders), sorted(files)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:  # a dangling link: rejected by name when it is read
        return 0


def _walk(root: Path, folder: str, source: Source) -> Iterator[tuple[str, int]]:
    """Keys and sizes below one class folder, in the order of `sorted(os.walk(...))`; links are followed, loops are not."""
    found: list[tuple[str, list[tuple[str, int]]]] = []
    base = root.stat()
    todo = [(folder, frozenset([(base.st_dev, base.st_ino)]))]
    while todo:
        path, above = todo.pop()
        full = root / path
        try:
            info = full.stat()
        except OSError as error:
            raise PrebakeError(f"{printable(full)} cannot be entered: {error.strerror}") from error
        here = (info.st_dev, info.st_ino)
        if here in above:
            source.ignored["links back to a folder above"] += 1
            continue
        folders, files = _listing(full, source)
        found.append((path, files))
        todo += [(f"{path}/{name}", above | {here}) for name in folders]
    for path, files in sorted(found):
        yield from ((f"{path}/{name}", size) for name, size in files)


def read_item(root: Path, key: str) -> bytes:
    """A file's bytes.

    Raises:
        RejectError: broken_symlink, not_regular_file or unreadable.
    """
    path = root / key
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # a FIFO must not hang the run
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RejectError("not_regular_file", "a pipe, socket or device")
            return file.read()
    except OSError as error:
        reason = "broken_symlink" if path.is_symlink() and not path.exists() else "unreadable"
        raise RejectError(reason, error.strerror or str(error)) from error
