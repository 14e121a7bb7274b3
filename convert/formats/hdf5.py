"""HDF5: one file per shard.

    images      (n, H, W, C), contiguous, little-endian: at one offset, row after row
                (n,) of variable length, where rows differ: pixels in C order, or a JPEG file as uint8
    sizes       (n, 2) int32 height and width, where raw rows differ in size
    targets     (n,) int64 labels or (n, K) float32 values, contiguous (none where the data set has neither)
    keys        with --with-keys: (n,) variable-length UTF-8 strings, the pictures' paths in the source
    attributes  of the file: count, layout ("HWC")

Times are not tracked, so that the same rows give the same bytes. h5py writes no pixel: on a full disk it dies of SIGSEGV. It lays the
file out, with early allocation; the rows are written at the offset that it says, or behind the end, as `convert.hdf5.heap` says.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from convert.contracts import Add, Array, Format, Offsets, Option, Options, Sample, ShardSpec
from convert.errors import PrebakeError
from convert.hdf5.heap import Heap, collection_size, row_offsets
from convert.hdf5.layout import BESIDE, SLACK, lay_out, prove_room, shrink, target_type
from convert.writes import write_all

LABEL = 8


def _footprint(row: int, even: bool, options: Options) -> int:
    del options
    return LABEL + (row if even else BESIDE + collection_size(row))


@contextmanager
def write_shard(path: Path, spec: ShardSpec, options: Options) -> Iterator[Add]:
    """See `convert.contracts.WriteShard`."""
    offsets = lay_out(path, spec)
    heap = None if spec.pixels.even else Heap(path.stat().st_size)
    first = offsets["images"] if heap is None else heap.end
    targets: list[int | tuple[float, ...]] = []
    sizes: list[tuple[int, ...]] = []
    keys: list[bytes] = []
    with path.open("rb+", buffering=0) as file:
        file.seek(first)

        def add(sample: Sample) -> None:
            if heap is None:
                write_all(file.fileno(), sample.row)
            else:
                heap.append(file.fileno(), sample.row)
            sizes.append(sample.row.shape[:2])
            if options.get("with_keys"):
                keys.append(sample.key.encode("utf-8", "surrogateescape"))
            if sample.target is not None:
                targets.append(sample.target)

        yield add
    if 0 < len(sizes) < spec.capacity:
        offsets = shrink(path, spec, first, len(sizes))
    tables = {"targets": np.array(targets, target_type(spec)[1])}
    if heap is not None:
        heap.close(path)
        tables |= {"images": heap.references, "sizes": np.array(sizes, "<i4")}
    _fill(path, {offset: tables[name] for name, offset in offsets.items() if name in tables})
    if keys:
        _add_keys(path, keys)


def _fill(path: Path, tables: dict[int, Array]) -> None:
    """Write small data sets where they belong."""
    with path.open("rb+", buffering=0) as file:
        for offset, table in tables.items():
            file.seek(offset)
            write_all(file.fileno(), table)


def _add_keys(path: Path, keys: list[bytes]) -> None:
    import h5py  # imported when used

    prove_room(path, sum(map(len, keys)) + 64 * len(keys) + SLACK)
    with h5py.File(path, "r+") as table:
        table.create_dataset("keys", data=keys, dtype=h5py.string_dtype())


def locate(path: Path, lengths: Offsets) -> Offsets:
    """See `convert.contracts.Format.locate`."""
    import h5py  # imported when used

    with h5py.File(path, "r") as file:
        images = _own(file, "images")
        first, ragged = int(images.id.get_offset()), h5py.check_vlen_dtype(images.dtype) is not None
    return row_offsets(path, first, len(lengths)) if ragged else first + np.cumsum(lengths) - lengths


def _own(file: Any, name: str) -> Any:
    """A data set that lies in this very file, in one piece.

    Raises:
        PrebakeError: it lies elsewhere: a link, or storage in another file, could lead anywhere.
    """
    import h5py  # imported when used

    if isinstance(file.get(name, getlink=True), h5py.HardLink):
        found = file[name]
        if isinstance(found, h5py.Dataset) and not found.is_virtual and found.external is None and found.id.get_offset() is not None:
            return found
    raise PrebakeError(f"{Path(file.filename).name} has no {name} of its own, in one piece")


def targets(path: Path) -> list[Any]:
    """See `convert.contracts.Format.targets`."""
    import h5py  # imported when used

    with h5py.File(path, "r") as file:
        return list(_own(file, "targets")[:].tolist()) if "targets" in file else []


FORMAT = Format(
    summary="HDF5 files",
    suffix=".h5",
    requires="h5py",
    write_shard=write_shard,
    locate=locate,
    targets=targets,
    footprint=_footprint,
    options=(Option("with-keys", "Also store the pictures' paths, as a data set called keys."),),
)
