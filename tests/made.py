"""Makes bakes that hold given levels, of any type and colour, by writing a memmap shard by hand."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from conftest import bake
from PIL import Image

from convert.manifest import MANIFEST

Statistics = tuple[tuple[float, ...], tuple[float, ...]]
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def made(folder: Path, levels: npt.NDArray[Any], dtype: str, statistics: Statistics = (MEAN, STD), *, shift: int = 0) -> Path:
    """A bake of levels (N, H, W, C), in their order, all of one class; `shift`: its rows begin so many bytes later."""
    count, height, width, channels = levels.shape
    mean, std = (numbers[:channels] for numbers in statistics)
    rows = stored(levels, dtype, statistics)
    (folder / "source" / "one").mkdir(parents=True)
    for number in range(count):
        Image.new("RGB", (8, 8)).save(folder / "source" / "one" / f"{number:04d}.png")
    manifest = bake(folder / "source", folder / "baked", size=(8, 8), shards=1)
    buffer = io.BytesIO()
    buffer.write(b"!" * shift)
    np.save(buffer, rows)
    first = buffer.tell() - rows.nbytes
    shard = dataclasses.replace(manifest.shards[0], bytes=buffer.tell(), first=first, stride=rows[0].nbytes)
    (folder / "baked" / shard.name).write_bytes(buffer.getvalue())
    changed = dataclasses.replace(
        manifest,
        shape=(height, width, channels),
        dtype=dtype,
        colour="gray" if channels == 1 else "RGB",
        mean=mean,
        std=std,
        normalized=dtype.startswith("float"),
        shards=(shard,),
    )
    (folder / "baked" / MANIFEST).write_text(changed.to_json())
    return folder / "baked"


def stored(levels: npt.NDArray[Any], dtype: str, statistics: Statistics = (MEAN, STD)) -> npt.NDArray[Any]:
    """Levels (..., C) as rows hold them."""
    mean, std = (np.array(numbers[: levels.shape[-1]]) for numbers in statistics)
    return np.asarray(((levels / 255 - mean) / std if dtype.startswith("float") else levels).astype(dtype))


def noise(seed: int, *shape: int, dtype: str = "uint8") -> npt.NDArray[Any]:
    """Random levels, each as likely."""
    top = np.iinfo(dtype).max
    return np.random.default_rng(seed).integers(0, top, shape, endpoint=True).astype(dtype)
