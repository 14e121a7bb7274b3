"""memmap: one `.npy` file per shard, an array of shape (n, H, W, C).

    bytes 0..127    the .npy header, version 1.0, padded to 128 bytes
    then            n rows of H * W * C values, C order, little-endian

`np.load(path, mmap_mode="r")` reads it. Labels are in the data set's `targets.npy`.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from convert.contracts import Add, Format, Offsets, Options, Sample, ShardSpec
from convert.formats import npy_header, read_npy_header, row_offsets, write_all


@contextmanager
def write_shard(path: Path, spec: ShardSpec, options: Options) -> Iterator[Add]:
    """See `convert.contracts.WriteShard`. Plain writes: on a full disk a mapping would die of SIGBUS."""
    del options
    count = 0
    with path.open("wb", buffering=0) as file:
        write_all(file.fileno(), npy_header(spec.pixels, spec.capacity))

        def add(sample: Sample) -> None:
            nonlocal count
            write_all(file.fileno(), sample.pixels)
            count += 1

        yield add
        os.pwrite(file.fileno(), npy_header(spec.pixels, count), 0)


def locate(path: Path) -> Offsets:
    """See `convert.contracts.Format.locate`."""
    with path.open("rb") as file:
        shape, dtype = read_npy_header(file)
        first = file.tell()
    return row_offsets(path, first, shape[0] if shape else 0, math.prod(shape[1:]) * dtype.itemsize)


FORMAT = Format(
    summary="NumPy arrays, mapped into memory",
    suffix=".npy",
    requires=None,
    write_shard=write_shard,
    locate=locate,
    footprint=lambda row, _: row,
)
