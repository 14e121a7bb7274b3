"""Opens a bake with the class that fits its format."""

from __future__ import annotations

import os
from typing import Any

from convert.errors import PrebakeError, printable
from convert.manifest import read_manifest
from readers.dataset import BakedDataset, class_for


def open_dataset(
    path: str | os.PathLike[str], *, like: BakedDataset | str | os.PathLike[str] | None = None, **options: Any
) -> BakedDataset:
    """Open a bake, whatever its format.

    Args:
        path: the folder that was baked.
        like: another data set or bake, whose classes and statistics this one must share: a validation set must mean the same by label 7.
            What is compared are the values that both hand out, so after `mean=`, `std=` and `pixels=`; a path stands for its own.
        options: see `BakedDataset`.

    Raises:
        PrebakeError: not a finished bake, or unlike `like`.
    """
    dataset = class_for(read_manifest(path).format)(path, **options)
    if like is not None:
        other = like if isinstance(like, BakedDataset) else open_dataset(like)
        _compare(path, dataset, other)
    return dataset


def _compare(path: str | os.PathLike[str], dataset: BakedDataset, other: BakedDataset) -> None:
    here, there = dataset.manifest, other.manifest
    names = "classes" if here.target.kind == "class" else "columns of values"
    baked = {
        "colours": (here.colour, there.colour),
        "targets": (here.target.kind, there.target.kind),
        names: (here.classes, there.classes),
    }
    for name, (one, two) in baked.items():
        if one != two:
            raise PrebakeError(f"{printable(path)} has other {name} than {other!r}: bake it again with --like")
    for name in ("pixels", "mean", "std"):
        if getattr(dataset, name) != getattr(other, name):
            remedy = "open both with the same mean=, std= and pixels=, or bake it again with --like"
            raise PrebakeError(f"{printable(path)} has other {name} than {other!r}: {remedy}")
