"""One tar shard from its beginning to its end, by the stock webdataset library, and what its members mean."""

from __future__ import annotations

import functools
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from convert.errors import PrebakeError, printable
from convert.manifest import Manifest
from readers.jpeg import decode_file
from readers.levels import Conversion
from readers.samples import Sample
from readers.shards import ShardError
from readers.strips import planes
from readers.values import STORED, baked_values

BROKEN = (OSError, EOFError, ValueError, tarfile.TarError)
"""What webdataset, tarfile and NumPy raise for a shard that is damaged or cannot be had."""


def read_tar(shard: str, opened: Callable[[str], Any] | None) -> Iterator[dict[str, Any]]:
    """The samples of a shard, as webdataset gives them: `__key__`, `__url__`, and each member's bytes by its extension.

    Args:
        shard: its name or URL.
        opened: opens it by name; None: webdataset does, by URL.

    Raises:
        PrebakeError: it cannot be read to its end.
    """
    from webdataset import tariterators
    from webdataset.gopen import gopen

    found = 0
    try:
        with opened(shard) if opened else gopen(shard) as stream:
            files = tariterators.tar_file_expander([{"url": shard, "stream": stream}])
            for found, sample in enumerate(tariterators.group_by_keys(files), 1):  # noqa: B007 - looked at after the loop
                yield sample
    except ShardError as error:
        raise PrebakeError(str(error)) from error  # of one argument, as torch makes it again in the parent
    except BROKEN as error:
        raise PrebakeError(f"shard {printable(shard)} cannot be read beyond its sample {found}: {printable(error)}") from error


def to_sample(sample: dict[str, Any], manifest: Manifest | None) -> Any:
    """(image, label), or the image alone, as a `BakedDataset` gives them; `manifest` says how levels are normalised.

    Raises:
        PrebakeError: a member is missing or damaged; levels, and no manifest that goes with them.
    """
    try:
        image = _decoded(sample["jpg"], manifest) if "jpg" in sample else _image(sample["npy"], manifest)
        values = json.loads(sample.get("json", "{}")).get("target")
        label = int(sample["cls"]) if "cls" in sample else None
    except (*BROKEN, KeyError) as error:
        what = f"sample {printable(sample['__key__'])} of shard {printable(sample['__url__'])}"
        raise PrebakeError(f"{what} cannot be decoded: {printable(f'{type(error).__name__}: {error}')}") from error
    if values is not None:
        known = [float("nan") if value is None else value for value in values]
        return Sample((image, torch.tensor(known, dtype=torch.float32, device="cpu")))
    return image if label is None else Sample((image, label))


@functools.lru_cache
def _header(head: bytes) -> tuple[torch.dtype, tuple[int, ...]]:
    """Dtype and shape of an array, from the header of its .npy file.

    Once for each that is different: NumPy parses it as Python, which takes as long as the pixels, and Python 3.11 now and then fails at it
    when many objects die meanwhile ("AST constructor recursion depth mismatch").
    """
    stream = io.BytesIO(head)
    np.lib.format.read_magic(stream)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if fortran or len(shape) != 3 or dtype.name not in STORED:
        raise ValueError(f"an array of {dtype} {shape} is no row of a bake")
    return STORED[dtype.name], shape


def _image(data: bytes, manifest: Manifest | None) -> torch.Tensor:
    """A row's .npy file (H, W, C) as float32 (C, H, W), normalised."""
    start = 10 + int.from_bytes(data[8:10], "little")
    stored, shape = _header(data[:start])
    row = torch.frombuffer(bytearray(data), dtype=stored, offset=start).view(shape)  # of bytes that may be written to, or torch warns
    if stored.is_floating_point:
        return planes(row, torch.float32)
    if manifest is None or STORED[manifest.dtype] != stored:
        raise ValueError(f"levels of {stored} need a mean and std: give like=, a bake of such levels")
    return _normalised(row, manifest)


def _decoded(data: bytes, manifest: Manifest | None) -> torch.Tensor:
    """A row's JPEG file as float32 (C, H, W), normalised."""
    if manifest is None:
        raise ValueError("JPEGs need a mean and std: give like=, a bake of uint8")
    return _normalised(torch.from_numpy(decode_file(data, manifest.channels)), manifest)


def _normalised(levels: torch.Tensor, manifest: Manifest) -> torch.Tensor:
    image = torch.empty((1, *levels.shape), dtype=torch.float32, device="cpu")
    Conversion(manifest, baked_values(manifest), image, levels=True)(image[0], levels, None)
    return planes(image[0])
