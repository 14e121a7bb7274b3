"""memmap: one `.npy` file per shard, an array of shape (n, H, W, C).

    bytes 0..127    the .npy header, version 1.0, padded to 128 bytes
    then            n rows of H * W * C values, C order, little-endian

Rows that differ in size lie end to end in an array of one dimension; JPEGs do, as bytes. The data set's `offsets.npy`, `lengths.npy` and
`sizes.npy` say where each begins, in bytes of the file, and how large it is.

`np.load(path, mmap_mode="r")` reads it. Labels are in the data set's `targets.npy`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from convert.contracts import Add, Format, Offsets, Options, Sample, ShardSpec
from convert.formats import NPY_HEADER, npy_header
from convert.writes import write_all


@contextmanager
def write_shard(path: Path, spec: ShardSpec, options: Options) -> Iterator[Add]:
    """See `convert.contracts.WriteShard`. Plain writes: on a full disk a mapping would die of SIGBUS."""
    del options
    pixels = spec.pixels
    dtype = pixels.numpy if pixels.encoding == "raw" else np.dtype(np.uint8)
    count = nbytes = 0
    with path.open("wb", buffering=0) as file:
        file.write(bytes(NPY_HEADER))

        def add(sample: Sample) -> None:
            nonlocal count, nbytes
            write_all(file.fileno(), sample.row)
            count += 1
            nbytes += sample.row.nbytes

        yield add
        shape = (count, *pixels.shape) if pixels.even and pixels.shape else (nbytes // dtype.itemsize,)
        os.pwrite(file.fileno(), npy_header(dtype, shape), 0)


def locate(path: Path, lengths: Offsets) -> Offsets:
    """See `convert.contracts.Format.locate`."""
    if path.stat().st_size != NPY_HEADER + lengths.sum():
        raise AssertionError(f"{path.name} holds something else than {lengths.sum()} bytes of rows")
    return NPY_HEADER + np.cumsum(lengths) - lengths


FORMAT = Format(
    summary="NumPy arrays, mapped into memory",
    suffix=".npy",
    requires=None,
    write_shard=write_shard,
    locate=locate,
    footprint=lambda row, _even, _options: row,
)
