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
        if dataset.classes != other.classes:
            raise PrebakeError(f"{printable(path)} has other classes than {other!r}: bake it again with --like")
        for name in ("pixels", "mean", "std"):
            if getattr(dataset, name) != getattr(other, name):
                remedy = "open both with the same mean=, std= and pixels=, or bake it again with --like"
                raise PrebakeError(f"{printable(path)} has other {name} than {other!r}: {remedy}")
    return dataset
