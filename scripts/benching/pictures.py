"""Chooses the pictures that are measured, and links them into a folder that baking and ImageFolder read alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from convert.source import scan


@dataclass
class Pictures:
    """The chosen pictures of a folder."""

    root: Path
    """Holds a link for each, in its class folder."""
    keys: list[str]
    """Below the root."""
    lead: str
    """What they begin with that is not in the user's folder: `all/`, of a flat one."""
    files: list[Path]
    total: int
    """Pictures in the whole folder."""
    nbytes: int
    """Of the chosen files."""
    classes: Path
    """A file with the names of all class folders: labels are those of the whole folder."""


def choose(data: Path, samples: int, work: Path) -> Pictures:
    """At most `samples` pictures, drawn with a seed. Pictures of a flat folder become one class, `all`.

    Raises:
        PrebakeError: no such folder, or no pictures in it.
    """
    source = scan(data)
    total = len(source.keys)
    chosen = np.arange(total)
    if total > samples:
        chosen = np.sort(np.random.default_rng(0).choice(total, samples, replace=False))
    root, keys, files = work / "pictures", [], []
    for name in source.folders or ["all"]:
        (root / name).mkdir(parents=True)
    for number in chosen.tolist():
        key = source.keys[number]
        link = key if source.folders else f"all/{key}"
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to((data / key).resolve())
        keys.append(link)
        files.append(data / key)
    classes = work / "classes.txt"
    classes.write_text("\n".join(source.folders or ["all"]) + "\n", "utf-8", "surrogateescape")
    return Pictures(root, keys, "" if source.folders else "all/", files, total, int(source.sizes[chosen].sum()), classes)


def read_once(files: list[Path]) -> None:
    """Bring files into the page cache, so that the first bake is not billed for the disk."""
    for path in files:
        with path.open("rb") as file:
            while file.read(1 << 20):
                pass
