"""Makes bakes whose rows differ in size, or are JPEGs, of given pictures, by writing a memmap shard by hand."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from made import made, stored

from convert.manifest import MANIFEST, Jpeg, SideFile, read_manifest


def made_free(folder: Path, pictures: Sequence[npt.NDArray[Any]], dtype: str = "uint8") -> Path:
    """A bake of raw rows of any size, from levels (H, W, C)."""
    channels = pictures[0].shape[2]
    rows = [stored(levels, dtype).tobytes() for levels in pictures]
    return _written(folder, rows, np.dtype(dtype), pictures=pictures, shape=None, channels=channels)


def made_jpegs(
    folder: Path, rows: Sequence[bytes], sizes: Sequence[tuple[int, int]], *, channels: int = 3, one_shape: bool = False
) -> Path:
    """A bake of JPEG files, given with their heights and widths."""
    pictures = [np.empty((*size, channels), np.uint8) for size in sizes]
    shape = pictures[0].shape if one_shape else None
    return _written(folder, rows, np.dtype(np.uint8), pictures=pictures, shape=shape, channels=channels, jpeg=Jpeg())


def _written(
    folder: Path,
    rows: Sequence[bytes],
    dtype: np.dtype[Any],
    *,
    pictures: Sequence[npt.NDArray[Any]],
    shape: Any,
    channels: int,
    jpeg: Jpeg | None = None,
) -> Path:
    out = made(folder, np.zeros((len(rows), 4, 4, channels), dtype), dtype.name)
    manifest = read_manifest(out)
    buffer = io.BytesIO()
    np.save(buffer, np.frombuffer(b"".join(rows), np.uint8 if jpeg else dtype))
    lengths = np.array([len(row) for row in rows], np.int64)
    first = buffer.tell() - int(lengths.sum())
    (out / manifest.shards[0].name).write_bytes(buffer.getvalue())
    tables: dict[str, npt.NDArray[Any]] = {"offsets.npy": first + np.concatenate([[0], lengths.cumsum()[:-1]])}
    if jpeg:
        tables["lengths.npy"] = lengths
    if shape is None:
        tables["sizes.npy"] = np.array([picture.shape[:2] for picture in pictures], np.int32)
    files = list(manifest.files)
    for name, table in tables.items():
        np.save(out / name, table)
        files.append(SideFile(name, (out / name).stat().st_size, "0" * 64))
    changed = dataclasses.replace(
        manifest,
        encoding="jpeg" if jpeg else "raw",
        jpeg=jpeg,
        shape=shape,
        resize="center-crop" if shape else "short",
        side=None if shape else 48,
        shards=(dataclasses.replace(manifest.shards[0], bytes=buffer.tell(), first=None, stride=None),),
        files=tuple(files),
    )
    (out / MANIFEST).write_text(changed.to_json())
    return out
