"""What a data set can be told, and whether that makes sense together."""

from __future__ import annotations

from typing import Any

import torch

from convert.errors import PrebakeError
from convert.manifest import Manifest
from readers.augment import bind
from readers.rows import Rows
from readers.values import STORED, Values, check_floating, check_statistics

NAMES = ("augment", "transform", "return_index", "dtype", "mean", "std", "pixels")
PIXELS = ("normalized", "unit", "uint8")


def checked(options: dict[str, Any], rows: Rows) -> dict[str, Any]:
    """The options, and what follows from them: `values`, and `made`, the type of a batch.

    Raises:
        PrebakeError: they make no sense.
    """
    manifest = rows.manifest
    values, made = _values(options, manifest), _type(options, manifest)
    augment = bind(options["augment"], (*rows.layout.largest, manifest.channels), levels=not made.is_floating_point)
    if augment and options["transform"]:
        raise PrebakeError("augment= and transform= exclude each other: put crops and flips into the transform, or leave it out")
    return options | {"augment": augment, "values": values, "made": made}


def check_names(options: dict[str, Any]) -> None:
    """Refuse what is not an option."""
    unknown = sorted(set(options) - set(NAMES))
    if unknown:
        raise PrebakeError(f"with_() knows {', '.join(NAMES[:-1])} and {NAMES[-1]}, not {', '.join(unknown)}")


def _values(options: dict[str, Any], manifest: Manifest) -> Values:
    mean, std, pixels = options["mean"], options["std"], options["pixels"]
    if pixels not in PIXELS:
        raise PrebakeError(f'pixels={pixels!r}: choose "normalized", "unit" (levels from 0 to 1) or "uint8" (levels as stored)')
    channels = manifest.channels
    if pixels == "normalized":
        return check_statistics(manifest.mean if mean is None else mean, manifest.std if std is None else std, channels)
    if mean is not None or std is not None:
        raise PrebakeError(f'pixels="{pixels}" is not normalised: leave mean= and std= out')
    return Values((0.0,) * channels, (1.0,) * channels)


def _type(options: dict[str, Any], manifest: Manifest) -> torch.dtype:
    dtype = check_floating(options["dtype"], manifest, levels=options["pixels"] == "uint8")
    if options["pixels"] != "uint8":
        return dtype
    if dtype != torch.float32:
        raise PrebakeError(f'pixels="uint8" and dtype={dtype} exclude each other')
    return torch.uint8 if manifest.normalized else STORED[manifest.dtype]
