"""Lists folders: the pictures in them, kept as bytes end to end, and what else lies there."""

from __future__ import annotations

import errno
import os
from array import array
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from convert.manifest import Keys
from convert.stamp import NO_FILE, Stamp, stamp_of

EXTENSIONS = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".mpo", ".ppm", ".pgm")
"""The extension decides whether a file is looked at; its content decides what it is."""
JUNK = frozenset(["__MACOSX", "@eaDir", "$RECYCLE.BIN", "System Volume Information"])
SIDE = (".txt", ".xml", ".json")
"""Files that may hold boxes; some are remembered, to be looked at."""
SIDE_EACH, SIDE_ALL = 8, 64
"""So many of each kind are remembered, of one folder and of all."""
BLOCK = 4096
"""Names that are encoded at a time."""
OWN = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM)
"""What a name can have against being looked at, for good. All else is the disk's or the network's, and may be over soon."""


class Pictures:
    """Keys, sizes and times of many pictures, without an object for each: about 24 bytes and the key's own."""

    __slots__ = ("_blob", "_lengths", "_sizes", "_times")

    def __init__(self) -> None:
        self._blob, self._lengths, self._sizes, self._times = bytearray(), array("i"), array("q"), array("q")

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, prefix: str, names: list[str], sizes: array[int], times: array[int]) -> None:
        """Append the pictures of one folder, sorted by name."""
        if not names:
            return
        order = sorted(range(len(names)), key=names.__getitem__)
        self._sizes.frombytes(np.asarray(sizes)[order].tobytes())
        self._times.frombytes(np.asarray(times)[order].tobytes())
        before = len(prefix.encode("utf-8", "surrogateescape"))
        for start in range(0, len(order), BLOCK):
            block = [names[i] for i in order[start : start + BLOCK]]
            text = prefix + prefix.join(block)
            self._blob += text.encode("utf-8", "surrogateescape")
            sizable = block if text.isascii() else [name.encode("utf-8", "surrogateescape") for name in block]
            self._lengths.extend([before + len(name) for name in sizable])

    def extend(self, other: Pictures) -> None:
        """Append all of another's."""
        self._blob += other._blob
        self._lengths.extend(other._lengths)
        self._sizes.extend(other._sizes)
        self._times.extend(other._times)

    def finished(self) -> tuple[Keys, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The keys, each picture's size in bytes, and when it was changed last, in ns; nothing can be added afterwards."""
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum(np.asarray(self._lengths), dtype=np.int64, out=offsets[1:])
        return Keys(np.frombuffer(self._blob, np.uint8), offsets), np.asarray(self._sizes), np.asarray(self._times)


class Walk:
    """One look at every name below a root; no file is opened."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ignored: Counter[str] = Counter()
        """What was passed over, and how often."""
        self.beside: dict[str, list[str]] = {extension: [] for extension in SIDE}
        """Paths of the first side files of each kind that are not empty."""

    def list(self, path: str) -> tuple[list[str], Pictures]:
        """A folder's sub-folders, sorted, and its pictures; the path is relative, empty for the root.

        Raises:
            PrebakeError: the folder cannot be listed, or something in it cannot be looked at.
        """
        prefix = f"{path}/" if path else ""
        folders, names, sizes, times = [], [], array("q"), array("q")
        noted: Counter[str] = Counter()
        try:
            with os.scandir(self.root / path) as entries:
                for entry in entries:
                    name = entry.name
                    if name[0] == "." or name in JUNK:
                        self.ignored["hidden and system files"] += 1
                    elif _is_folder(entry):
                        folders.append(name)
                    elif name.lower().endswith(EXTENSIONS):
                        names.append(name)
                        size, time = _stamp(entry)
                        sizes.append(size)
                        times.append(time)
                    else:
                        self.ignored["files of other kinds"] += 1
                        self._note(prefix, entry, noted)
        except OSError as error:
            raise PrebakeError(
                f"{printable(error.filename or self.root / path)} cannot be listed ({error.strerror}): start again once it can be"
            ) from error
        pictures = Pictures()
        pictures.add(prefix, names, sizes, times)
        return sorted(folders), pictures

    def _note(self, prefix: str, entry: os.DirEntry[str], noted: Counter[str]) -> None:
        """Remember a side file, unless there are enough."""
        kind = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122 - a Path for each of a million names is slow
        if kind in self.beside and noted[kind] < SIDE_EACH and len(self.beside[kind]) < SIDE_ALL and _holds_some(entry):
            noted[kind] += 1
            self.beside[kind].append(prefix + entry.name)

    def below(self, folder: str) -> Iterator[Pictures]:
        """The pictures of a folder and of all below it, in the order of `sorted(os.walk(...))`. Links are followed.

        No folder is entered twice, however many links lead to it: that ends loops, and the work is bounded by the folders there are.
        Real folders come before links, so that a key is a link's path only where there is no other.

        Raises:
            PrebakeError: a folder cannot be entered.
        """
        found: list[tuple[str, Pictures]] = []
        seen = {_identity(self.root)} if folder else set()
        todo, links = deque([folder]), deque[str]()
        while todo or links:
            path = todo.popleft() if todo else links.popleft()
            here = _identity(self.root / path)
            if here in seen:
                self.ignored["links to folders already listed"] += 1
                continue
            seen.add(here)
            folders, pictures = self.list(path)
            if pictures:
                found.append((path, pictures))
            for name in folders:
                inner = f"{path}/{name}" if path else name
                (links if (self.root / inner).is_symlink() else todo).append(inner)
        found.sort(key=lambda pair: pair[0], reverse=True)
        while found:  # what has been taken over takes no room twice
            yield found.pop()[1]


def _identity(folder: Path) -> tuple[int, int]:
    """Device and inode of a folder, whatever link leads there."""
    try:
        info = folder.stat()
    except OSError as error:
        raise PrebakeError(f"{printable(folder)} cannot be entered: {error.strerror}") from error
    return info.st_dev, info.st_ino


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:  # a link to itself
        if error.errno not in OWN:
            raise
        return False


def _holds_some(entry: os.DirEntry[str]) -> bool:
    """Whether a side file is there still, and not empty."""
    try:
        return entry.stat().st_size > 0
    except OSError:
        return False


def _stamp(entry: os.DirEntry[str]) -> Stamp:
    """The stamp of what lies behind a name."""
    try:
        return stamp_of(entry.stat())
    except OSError as error:  # a dangling link: rejected by name when it is read
        if error.errno not in OWN or (error.errno == errno.ENOENT and not entry.is_symlink()):  # it went away after it was listed
            raise
        return NO_FILE
