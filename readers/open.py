"""Opens a bake with the class that fits its format."""

from __future__ import annotations

import os
from typing import Any

from convert.errors import PrebakeError, printable
from convert.manifest import Manifest, read_manifest
from readers.dataset import BakedDataset, class_for


def open_dataset(
    path: str | os.PathLike[str], *, like: BakedDataset | str | os.PathLike[str] | None = None, **options: Any
) -> BakedDataset:
    """Open a bake, whatever its format.

    Args:
        path: the folder that was baked.
        like: another data set or bake, whose classes and statistics this one must share: a validation set must mean the same by label 7.
        options: see `BakedDataset`.

    Raises:
        PrebakeError: not a finished bake, or unlike `like`.
    """
    manifest = read_manifest(path)
    if like is not None:
        other = like if isinstance(like, BakedDataset) else open_dataset(like)
        _compare(path, manifest, other)
    return class_for(manifest.format)(path, **options)


def _compare(path: str | os.PathLike[str], manifest: Manifest, other: BakedDataset) -> None:
    there = other.manifest
    names = "classes" if manifest.target.kind == "class" else "columns of values"
    pairs = {
        "colours": (manifest.colour, there.colour),
        "targets": (manifest.target.kind, there.target.kind),
        names: (manifest.classes, there.classes),
        "mean": (manifest.mean, there.mean),
        "std": (manifest.std, there.std),
    }
    for name, (here, like) in pairs.items():
        if here != like:
            raise PrebakeError(f"{printable(path)} has other {name} than {other!r}: bake it again with --like")
