"""LMDB: one single-file environment per shard (`subdir=False`).

    00000012          the pixels of row 12 of this shard: H * W * C values, C order, little-endian; or a JPEG file
    __meta__          JSON: {"count", "dtype", "encoding", "layout", "shape"}; the shape is null where rows differ in size
    size:00000012     "H W", where raw rows differ in size
    label:00000012    the label in decimal digits, or a JSON list of values (none where the data set has neither)
    key:00000012      with --with-keys: the picture's path in the source, UTF-8 (undecodable bytes as they were)

A value larger than half a page lies on pages of its own, in one piece, behind the header of the first; a smaller one lies inside a
page. Every page's header begins with the page's number, so a row's offset in the file follows from the address at which LMDB hands it out.
"""

import ctypes
import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from convert.contracts import Add, Format, Offsets, Option, Options, Sample, ShardSpec
from convert.errors import PrebakeError
from convert.formats import target_json

COMMIT = 64 << 20
"""Bytes in one transaction: LMDB holds them in memory until the commit."""
GROWTH = 64 << 20
"""Bytes of address space that come at once, where it is not known how many rows will take."""
PAGE = os.sysconf("SC_PAGESIZE")


def _footprint(row: int, even: bool, options: Options) -> int:
    """A value of more than half a page has pages of its own, behind a header; keys and labels fill B-tree pages to two thirds or so."""
    small = (256 if options.get("with_keys") else 128) + (0 if even else 64)
    return row + small if row < PAGE // 2 - small else -(-(row + 16) // PAGE) * PAGE + small


def _map_size(rows: int, nbytes: int) -> int:
    """Address space for so many rows, with room for B-tree pages, labels and keys. No disk: the file grows as it is written."""
    return rows * (2 * PAGE + 16 * 1024) + nbytes + (16 << 20)


def _raise_disk_full(error: Exception, path: Path) -> None:
    # LMDB says EIO when a page could not be written whole: see whether the disk is why.
    full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    if full or any(word in str(error) for word in ("No space left", "Input/output error")):
        left = os.statvfs(path.parent)
        if full or left.f_bavail * left.f_frsize < COMMIT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error


def _beside(sample: Sample, name: bytes, spec: ShardSpec, options: Options) -> Iterator[tuple[bytes, bytes]]:
    """What is stored of a row besides its pixels, under keys of its own."""
    if sample.target is not None:
        yield b"label:" + name, target_json(sample.target)
    if options.get("with_keys"):
        yield b"key:" + name, sample.key.encode("utf-8", "surrogateescape")
    if spec.pixels.shape is None and spec.pixels.encoding == "raw":
        yield b"size:" + name, b"%d %d" % sample.row.shape[:2]


@contextmanager
def write_shard(path: Path, spec: ShardSpec, options: Options) -> Iterator[Add]:
    """See `convert.contracts.WriteShard`. Without `writemap`, which leaves the file at full map size and dies of SIGBUS on a full disk."""
    import lmdb  # imported when used

    tail: list[tuple[bytes, bytes]] = []
    count = waiting = written = 0
    room = _map_size(spec.capacity, spec.capacity * spec.pixels.nbytes if spec.pixels.even else GROWTH)
    env = lmdb.open(os.fsencode(path), subdir=False, map_size=room, lock=False, sync=False, metasync=False)
    try:
        txn = env.begin(write=True)

        def add(sample: Sample) -> None:
            nonlocal count, txn, waiting, written, room
            name, row = b"%08d" % count, sample.row
            written += row.nbytes
            needed = _map_size(spec.capacity, written)
            if waiting >= COMMIT or needed > room:
                txn.commit()
                if needed > room:  # rows of any length
                    room = needed + written + GROWTH
                    env.set_mapsize(room)
                txn, waiting = env.begin(write=True), 0
            txn.put(name, row.data, append=True)
            waiting += row.nbytes
            tail.extend(_beside(sample, name, spec, options))
            count += 1

        yield add
        form = {"dtype": spec.pixels.dtype, "encoding": spec.pixels.encoding, "layout": "HWC", "shape": spec.pixels.shape}
        meta = {"count": count, **form}
        txn.put(b"__meta__", json.dumps(meta, sort_keys=True).encode())
        for name, value in sorted(tail):
            txn.put(name, value)
        txn.commit()
    except (lmdb.Error, OSError) as error:
        _raise_disk_full(error, path)
        raise
    finally:
        env.close()


def _address(value: Any) -> int:
    return int(np.frombuffer(value, np.uint8).ctypes.data)


def locate(path: Path, lengths: Offsets) -> Offsets:
    """See `convert.contracts.Format.locate`.

    Raises:
        PrebakeError: the pages are not laid out as LMDB 0.9 lays them out.
    """
    import lmdb  # imported when used

    env = lmdb.open(os.fsencode(path), subdir=False, readonly=True, lock=False)
    try:
        size = env.stat()["psize"]
        with env.begin(buffers=True) as txn:
            count = len(lengths)
            address = np.fromiter((_address(txn.get(b"%08d" % row)) for row in range(count)), np.int64, count)
            page = address // size * size
            number = np.fromiter((ctypes.c_uint64.from_address(int(p)).value for p in page), np.int64, count)
    finally:
        env.close()
    if count and number.max() * size >= path.stat().st_size:
        raise PrebakeError(f"{path.name}: LMDB's page numbers make no sense; a newer LMDB with another layout?")
    return number * size + address - page


def targets(path: Path) -> list[Any]:
    """See `convert.contracts.Format.targets`."""
    import lmdb  # imported when used

    env = lmdb.open(os.fsencode(path), subdir=False, readonly=True, lock=False)
    try:
        with env.begin() as txn, txn.cursor() as cursor:
            found = cursor.iternext() if cursor.set_range(b"label:") else ()
            return [json.loads(value) for name, value in found if name.startswith(b"label:")]
    finally:
        env.close()


FORMAT = Format(
    summary="LMDB environments, one file each",
    suffix=".lmdb",
    requires="lmdb",
    write_shard=write_shard,
    locate=locate,
    targets=targets,
    footprint=_footprint,
    options=(Option("with-keys", "Also store each picture's path, as key:00000012."),),
)
