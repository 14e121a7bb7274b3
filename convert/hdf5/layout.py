"""Lets h5py lay out a shard's file, and makes sure that the disk has room before it does."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from convert.contracts import ShardSpec
from convert.hdf5.heap import REFERENCE
from convert.writes import write_all

SLACK = 1 << 20
"""Bytes for HDF5's own structures."""
BESIDE = REFERENCE.itemsize + 8
"""Bytes of a row of its own length outside of the heap: the reference, height and width."""


def target_type(spec: ShardSpec) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of a row's target."""
    return ((spec.target.width,), np.dtype("<f4")) if spec.target.kind == "values" else ((), np.dtype("<i8"))


def prove_room(path: Path, nbytes: int) -> None:
    """Reserve bytes behind the file's end and let them go: HDF5 must not be the one that finds the disk full.

    Raises:
        OSError: the disk is full.
    """
    with path.open("rb+") as file:
        end = os.fstat(file.fileno()).st_size
        try:
            os.posix_fallocate(file.fileno(), end, nbytes)
        finally:
            os.ftruncate(file.fileno(), end)


def _kinds(spec: ShardSpec) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Name, shape of a row, and type of each data set."""
    import h5py  # imported when used

    pixels, coded = spec.pixels, spec.pixels.encoding == "jpeg"
    kinds: dict[str, tuple[tuple[int, ...], Any]] = {"images": (pixels.shape or (), pixels.numpy)}
    if not pixels.even:
        kinds["images"] = (), h5py.vlen_dtype(np.dtype(np.uint8) if coded else pixels.numpy)
    if pixels.shape is None and not coded:
        kinds["sizes"] = (2,), np.dtype("<i4")
    if spec.target.kind != "none":
        kinds["targets"] = target_type(spec)
    return kinds


def _create(path: Path, spec: ShardSpec, count: int) -> dict[str, int]:
    """Let h5py lay a file out for `count` rows; it writes none, so the file is sparse. Returns the data sets' offsets."""
    import h5py  # imported when used

    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    if spec.pixels.even:  # HDF5 wants references to be filled: with zeros, which are none
        layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    layout.set_obj_track_times(False)
    with h5py.File(path, "w", libver="earliest") as file:  # what any HDF5 reads, and `convert.hdf5.heap` adds to
        file.attrs["count"] = count
        file.attrs["layout"] = "HWC"
        offsets = {}
        for name, (shape, dtype) in _kinds(spec).items():
            kind, space = h5py.h5t.py_create(dtype, logical=True), h5py.h5s.create_simple((count, *shape))
            offsets[name] = int(h5py.h5d.create(file.id, name.encode(), kind, space, layout).get_offset())
    return offsets


def lay_out(path: Path, spec: ShardSpec) -> dict[str, int]:
    """Make the file, with room on the disk for all of a full shard, or for all but rows of unknown length. Returns the offsets."""
    path.touch()
    prove_room(path, spec.capacity * (spec.pixels.nbytes if spec.pixels.even else BESIDE) + SLACK)
    offsets = _create(path, spec, spec.capacity)
    with path.open("rb+") as file:
        os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    return offsets


def shrink(path: Path, spec: ShardSpec, first: int, count: int) -> dict[str, int]:
    """Make a file for fewer rows than it has room for (pictures were rejected). Returns the offsets.

    The rows stay where they are, from `first` on: all that lies around them is taken from a file that is laid out for that many, and
    holds none.
    """
    pattern = path.with_name(path.name.replace(".partial", ".layout.partial"))
    try:
        offsets = _create(pattern, spec, count)
        with pattern.open("rb") as new, path.open("rb+", buffering=0) as file:
            if not spec.pixels.even:  # the rows are behind all of it
                write_all(file.fileno(), new.read().ljust(first, b"\0"))
                return offsets
            if offsets["images"] != first:
                raise AssertionError(f"HDF5 puts {count} rows at {offsets['images']}, and {spec.capacity} at {first}")
            write_all(file.fileno(), new.read(first))
            end = first + count * spec.pixels.nbytes
            new.seek(end)
            file.seek(end)
            write_all(file.fileno(), new.read())
            file.truncate()
    finally:
        pattern.unlink(missing_ok=True)
    return offsets
