"""Writers alone, with rows of lengths at the edges of their pages, blocks and collections: stock libraries read them back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import lmdb
import numpy as np
import numpy.typing as npt
import pytest
import stock_rows

from convert.contracts import Pixels, Sample, ShardSpec
from convert.manifest import Target
from convert.registry import load_format

LABELS = Target("class", 1)
EDGES = [1, 2, 7, 8, 9, 383, 384, 385, 511, 512, 2031, 2032, 4047, 4048, 4049, 4055, 4056, 4057, 4063, 4064, 4065, 4079, 4080, 4081, 70_001]


def written(path: Path, format: str, rows: list[npt.NDArray[Any]], pixels: Pixels, *, capacity: int = 0, keys: bool = False) -> list[int]:
    """A shard of these rows; returns their offsets."""
    writer = load_format(format)
    spec = ShardSpec(3, capacity or len(rows), pixels, LABELS)
    with writer.write_shard(path, spec, {"with_keys": keys}) as add:
        for number, row in enumerate(rows):
            add(Sample(f"k{number}", row, number))
    return [int(offset) for offset in writer.locate(path, np.array([row.nbytes for row in rows]))]


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
@pytest.mark.parametrize("capacity", [0, 2 * len(EDGES)])
def test_edges(format: str, dtype: str, capacity: int, tmp_path: Path) -> None:
    random, pixels = np.random.default_rng(0), Pixels(None, None, 1, dtype)
    rows = [random.integers(1, 200, (1, nbytes, 1)).astype(dtype) for nbytes in EDGES]
    path = tmp_path / f"shard{load_format(format).suffix}.partial"
    offsets = written(path, format, rows, pixels, capacity=capacity, keys=format != "memmap")
    shape = stock_rows.Shape(dtype, 1, False, offsets, [row.nbytes for row in rows], [[1, size] for size in EDGES])
    for row, found in zip(rows, stock_rows.READ[format](path, shape), strict=True):
        assert found.dtype == row.dtype
        assert np.array_equal(found, row)
    data = path.read_bytes()
    assert all(data[offset : offset + row.nbytes] == row.tobytes() for offset, row in zip(offsets, rows, strict=True))


def test_lmdb_has_room_for_rows_that_nobody_foresaw(tmp_path: Path) -> None:
    """More than its address space at first: it grows, and the same way each time."""
    row = np.arange(1 << 22, dtype=np.uint8).reshape(1 << 11, 1 << 11, 1)
    for name in "ab":
        written(tmp_path / name, "lmdb", [row + number for number in range(40)], Pixels(None, None, 1, "uint8"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with lmdb.open(str(tmp_path / "a"), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        for number in range(40):
            assert txn.get(b"%08d" % number) == (row + number).tobytes()
            assert txn.get(b"size:%08d" % number) == b"2048 2048"


def test_hdf5_files_stay_whole_when_h5py_goes_on_writing(tmp_path: Path) -> None:
    rows = [np.full((2, 700, 3), number, np.uint8) for number in range(9)]
    path = tmp_path / "shard.h5.partial"
    written(path, "hdf5", rows, Pixels(None, None, 3, "uint8"))
    with h5py.File(path, "r+") as file:
        file["more"] = np.arange(100_000)
        file["images"][4] = np.arange(50, dtype=np.uint8)
        file["images"][5] = np.arange(50_000, dtype=np.uint16).astype(np.uint8)
    with h5py.File(path, "r") as file:
        assert np.array_equal(file["more"], np.arange(100_000))
        for number in (0, 1, 2, 3, 6, 7, 8):
            assert np.array_equal(file["images"][number], rows[number].reshape(-1))
        assert len(file["images"][4]) == 50
        assert len(file["images"][5]) == 50_000
        assert file["targets"][:].tolist() == list(range(9))


def test_hdf5_without_prebake(tmp_path: Path) -> None:
    """In a process of its own, whose HDF5 has not written the file."""
    rows = [np.full((1, 100 * number + 1, 1), number, np.uint8) for number in range(60)]
    written(tmp_path / "shard.h5.partial", "hdf5", rows, Pixels(None, None, 1, "uint8"), capacity=64)
    code = "import h5py, sys; f = h5py.File(sys.argv[1]); print([(len(row), int(row[-1])) for row in f['images']] )"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "shard.h5.partial"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([(100 * number + 1, number) for number in range(60)])


def test_hdf5_values_beside_jpegs(tmp_path: Path) -> None:
    rows = [np.arange(40 + number, dtype=np.uint8) for number in range(5)]
    path = tmp_path / "shard.h5.partial"
    spec = ShardSpec(0, 7, Pixels(8, 8, 3, "uint8", "jpeg"), Target("values", 2))
    with load_format("hdf5").write_shard(path, spec, {}) as add:
        for number, row in enumerate(rows):
            add(Sample("", row, (number, float("nan"))))
    with h5py.File(path, "r") as file:
        assert set(file) == {"images", "targets"}
        assert file["targets"].dtype == np.float32
        assert np.array_equal(file["targets"][:], [[number, np.nan] for number in range(5)], equal_nan=True)
        assert all(np.array_equal(found, row) for found, row in zip(file["images"][:], rows, strict=True))
