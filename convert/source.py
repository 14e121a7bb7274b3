"""Finds the pictures below a folder, and the class of each: the first folder below the root, as in torchvision's ImageFolder."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from convert.manifest import Keys
from convert.stamp import Stamp
from convert.walk import EXTENSIONS, Pictures, Walk


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

    def stamp(self, item: int) -> Stamp:
        """Size and time of one picture's file."""
        return int(self.sizes[item]), int(self.times[item])

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
