"""Reads shards with the stock libraries alone: the oracle for every format. Nothing of prebake is imported here."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import h5py
import lmdb
import numpy as np
import webdataset

Rows = tuple[list[np.ndarray[Any, Any]], list[int]]


def read_memmap(path: Path, dtype: str, shape: tuple[int, ...]) -> Rows:
    """By `np.load`; labels are in targets.npy, for the whole set."""
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    assert array.dtype == dtype
    assert array.shape[1:] == shape
    return list(array), []


def read_lmdb(path: Path, dtype: str, shape: tuple[int, ...]) -> Rows:
    """By a cursor over the environment."""
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        items = {bytes(key).decode(): bytes(value) for key, value in txn.cursor()}
    names = sorted(name for name in items if name.isdigit())
    assert names == [f"{row:08d}" for row in range(len(names))]
    images = [np.frombuffer(items[name], np.dtype(dtype).newbyteorder("<")).reshape(shape) for name in names]
    return images, [int(items[f"label:{name}"]) for name in names if f"label:{name}" in items]


def read_hdf5(path: Path, dtype: str, shape: tuple[int, ...]) -> Rows:
    """By h5py."""
    with h5py.File(path, "r") as file:
        assert file["images"].dtype == dtype
        assert file["images"].chunks is None
        assert file["images"].shape[1:] == shape
        return list(file["images"][:]), file["targets"][:].tolist() if "targets" in file else []


def read_webdataset(path: Path, dtype: str, shape: tuple[int, ...]) -> Rows:
    """By the webdataset library, with its own decoders; and by tarfile, whose header fields must be neutral."""
    samples = list(webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False).decode())
    with tarfile.open(path) as tar:
        members = tar.getmembers()
        assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, 0, "", "")}
        first = np.load(io.BytesIO(tar.extractfile(members[0]).read()))  # type: ignore[union-attr]
    assert np.array_equal(first, samples[0]["npy"], equal_nan=True)
    assert first.dtype == dtype
    assert first.shape == shape
    return [sample["npy"] for sample in samples], [sample["cls"] for sample in samples if "cls" in sample]


READ = {"memmap": read_memmap, "lmdb": read_lmdb, "hdf5": read_hdf5, "webdataset": read_webdataset}
