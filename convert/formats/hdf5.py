"""HDF5: one file per shard.

    images      (n, H, W, C), contiguous, little-endian: at one offset, row after row
    targets     (n,) int64 labels or (n, K) float32 values, contiguous (none where the data set has neither)
    keys        with --with-keys: (n,) variable-length UTF-8 strings, the pictures' paths in the source
    attributes  of the file: count, layout ("HWC")

Times are not tracked, so that the same rows give the same bytes. h5py writes no pixel: on a full disk it dies of SIGSEGV. It lays the
file out, with early allocation and no fill; the rows are written at the offset that it says.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from convert.contracts import Add, Format, Offsets, Option, Options, Sample, ShardSpec
from convert.formats import write_all

SLACK = 1 << 20
"""Bytes for HDF5's own structures."""
LABEL = 8


def _target(spec: ShardSpec) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of a row's target."""
    return ((spec.target.width,), np.dtype("<f4")) if spec.target.kind == "values" else ((), np.dtype("<i8"))


def _prove_room(path: Path, nbytes: int) -> None:
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


def _create(path: Path, spec: ShardSpec, count: int) -> tuple[int, int]:
    """Let h5py lay a file out for `count` rows; it writes none, so the file is sparse. Returns the offsets of images and targets."""
    import h5py  # imported when used

    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    layout.set_obj_track_times(False)
    with h5py.File(path, "w") as file:
        file.attrs["count"] = count
        file.attrs["layout"] = "HWC"
        offsets = []
        kinds: list[tuple[bytes, tuple[int, ...], Any]] = [(b"images", spec.pixels.shape or (), spec.pixels.numpy)]
        if spec.target.kind != "none":
            kinds.append((b"targets", *_target(spec)))
        for name, shape, dtype in kinds:
            space = h5py.h5s.create_simple((count, *shape))
            offsets.append(h5py.h5d.create(file.id, name, h5py.h5t.py_create(dtype), space, layout).get_offset())
    return offsets[0], offsets[-1]


def _lay_out(path: Path, spec: ShardSpec) -> tuple[int, int]:
    """Make the file, with room on the disk for a full shard. Returns the offsets of images and targets."""
    path.touch()
    _prove_room(path, spec.capacity * spec.pixels.nbytes + SLACK)
    offsets = _create(path, spec, spec.capacity)
    with path.open("rb+") as file:
        os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    return offsets


def _shrink(path: Path, spec: ShardSpec, first: int, count: int) -> int:
    """Make a file for fewer rows than it has room for (pictures were rejected). Returns the offset of targets.

    The rows stay where they are: all that lies around them is taken from a file that is laid out for that many, and holds none.
    """
    pattern = path.with_name(path.name.replace(".partial", ".layout.partial"))
    try:
        begin, targets = _create(pattern, spec, count)
        if begin != first:
            raise AssertionError(f"HDF5 puts {count} rows at {begin}, and {spec.capacity} at {first}")
        with pattern.open("rb") as new, path.open("rb+", buffering=0) as file:
            write_all(file.fileno(), new.read(first))
            end = first + count * spec.pixels.nbytes
            new.seek(end)
            file.seek(end)
            write_all(file.fileno(), new.read())
            file.truncate()
    finally:
        pattern.unlink(missing_ok=True)
    return targets


@contextmanager
def write_shard(path: Path, spec: ShardSpec, options: Options) -> Iterator[Add]:
    """See `convert.contracts.WriteShard`."""
    import h5py  # imported when used

    first, at = _lay_out(path, spec)
    targets: list[int | tuple[float, ...]] = []
    keys: list[bytes] = []
    count = 0
    with path.open("rb+", buffering=0) as file:
        file.seek(first)

        def add(sample: Sample) -> None:
            nonlocal count
            write_all(file.fileno(), sample.row)
            count += 1
            if sample.target is not None:
                targets.append(sample.target)
            if options.get("with_keys"):
                keys.append(sample.key.encode("utf-8", "surrogateescape"))

        yield add
    if 0 < count < spec.capacity:
        at = _shrink(path, spec, first, count)
    with path.open("rb+", buffering=0) as file:
        file.seek(at)
        write_all(file.fileno(), np.array(targets, _target(spec)[1]))
    if keys:
        _prove_room(path, sum(map(len, keys)) + 64 * len(keys) + SLACK)
        with h5py.File(path, "r+") as table:
            table.create_dataset("keys", data=keys, dtype=h5py.string_dtype())


def locate(path: Path, lengths: Offsets) -> Offsets:
    """See `convert.contracts.Format.locate`."""
    import h5py  # imported when used

    with h5py.File(path, "r") as file:
        return np.asarray(int(file["images"].id.get_offset()) + np.cumsum(lengths) - lengths)


FORMAT = Format(
    summary="HDF5 files",
    suffix=".h5",
    requires="h5py",
    write_shard=write_shard,
    locate=locate,
    footprint=lambda row, _even, _options: row + LABEL,
    options=(Option("with-keys", "Also store the pictures' paths, as a data set called keys."),),
)
