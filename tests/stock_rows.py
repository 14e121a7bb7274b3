"""Reads rows of any length with the stock libraries alone: pixels, or JPEG files. Nothing of prebake is imported here."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import lmdb
import numpy as np
import numpy.typing as npt
import webdataset
from PIL import Image

Rows = list[npt.NDArray[Any]]


class Shape(NamedTuple):
    """What a reader must know: how values are stored, and where each row of the shard is and how large."""

    dtype: str
    channels: int
    jpeg: bool
    offsets: list[int]
    lengths: list[int]
    """In bytes."""
    sizes: list[list[int]]


def decoded(data: bytes, shape: Shape) -> npt.NDArray[Any]:
    """By Pillow."""
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.mode == ("RGB" if shape.channels == 3 else "L")
        return np.asarray(picture).reshape(picture.height, picture.width, shape.channels)


def read_memmap(path: Path, shape: Shape) -> Rows:
    """By `np.load`, `offsets.npy` and `lengths.npy`, or the sizes."""
    blob = np.load(path, mmap_mode="r", allow_pickle=False)
    assert blob.ndim == 1
    assert blob.dtype == ("uint8" if shape.jpeg else shape.dtype)
    first = path.stat().st_size - blob.nbytes
    rows = []
    for offset, nbytes, size in zip(shape.offsets, shape.lengths, shape.sizes, strict=True):
        assert (offset - first) % blob.itemsize == 0
        begin = (offset - first) // blob.itemsize
        part = blob[begin : begin + nbytes // blob.itemsize]
        rows.append(decoded(part.tobytes(), shape) if shape.jpeg else part.reshape(*size, shape.channels))
    return rows


def read_lmdb(path: Path, shape: Shape) -> Rows:
    """By keys."""
    rows = []
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        for row in range(len(shape.sizes)):
            value = bytes(txn.get(b"%08d" % row) or b"")
            if shape.jpeg:
                rows.append(decoded(value, shape))
            else:
                size = [int(word) for word in bytes(txn.get(b"size:%08d" % row) or b"").split()]
                rows.append(np.frombuffer(value, shape.dtype).reshape(*size, shape.channels))
        assert txn.get(b"%08d" % len(shape.sizes)) is None
    return rows


def read_hdf5(path: Path, shape: Shape) -> Rows:
    """By h5py."""
    with h5py.File(path, "r") as file:
        images, rows = file["images"], []
        assert h5py.check_vlen_dtype(images.dtype) == ("uint8" if shape.jpeg else shape.dtype)
        assert images.shape == (len(shape.sizes),)
        for row, values in enumerate(images[:]):
            rows.append(decoded(values.tobytes(), shape) if shape.jpeg else values.reshape(*file["sizes"][row], shape.channels))
    return rows


def read_webdataset(path: Path, shape: Shape) -> Rows:
    """By the webdataset library's own decoders."""
    samples = list(webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False).decode("rgb8" if shape.channels == 3 else "l8"))
    with tarfile.open(path) as tar:
        assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in tar.getmembers()} == {(0, 0, 0, "", "")}
    rows = [sample["jpg" if shape.jpeg else "npy"] for sample in samples]
    return [row.reshape(*row.shape[:2], shape.channels) for row in rows]


READ = {"memmap": read_memmap, "lmdb": read_lmdb, "hdf5": read_hdf5, "webdataset": read_webdataset}
