"""LMDB: one single-file environment per shard (`subdir=False`).

    00000012          the pixels of row 12 of this shard: H * W * C values, C order, little-endian
    __meta__          JSON: {"count", "dtype", "layout", "shape"}
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
PAGE = os.sysconf("SC_PAGESIZE")


def _footprint(row: int, options: Options) -> int:
    """A value of more than half a page has pages of its own, behind a header; keys and labels fill B-tree pages to two thirds or so."""
    small = 256 if options.get("with_keys") else 128
    return row + small if row < PAGE // 2 - small else -(-(row + 16) // PAGE) * PAGE + small


def _map_size(spec: ShardSpec) -> int:
    """Address space for a full shard, with room for B-tree pages, labels and keys. No disk: the file grows as it is written."""
    row = spec.pixels.nbytes + 2 * PAGE + 16 * 1024
    return spec.capacity * row + (16 << 20)


def _raise_disk_full(error: Exception, path: Path) -> None:
    # LMDB says EIO when a page could not be written whole: see whether the disk is why.
    full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    if full or any(word in str(error) for word in ("No space left", "Input/output error")):
        left = os.statvfs(path.parent)
        if full or left.f_bavail * left.f_frsize < COMMIT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error


@contextmanager
def write_shard(path: Path, spec: ShardSpec, options: Options) -> Iterator[Add]:
    """See `convert.contracts.WriteShard`. Without `writemap`, which leaves the file at full map size and dies of SIGBUS on a full disk."""
    import lmdb  # imported when used

    tail: list[tuple[bytes, bytes]] = []
    count = waiting = 0
    env = lmdb.open(os.fsencode(path), subdir=False, map_size=_map_size(spec), lock=False, sync=False, metasync=False)
    try:
        txn = env.begin(write=True)

        def add(sample: Sample) -> None:
            nonlocal count, txn, waiting
            name = b"%08d" % count
            txn.put(name, sample.pixels.data, append=True)
            if sample.target is not None:
                tail.append((b"label:" + name, target_json(sample.target)))
            if options.get("with_keys"):
                tail.append((b"key:" + name, sample.key.encode("utf-8", "surrogateescape")))
            count += 1
            waiting += spec.pixels.nbytes
            if waiting >= COMMIT:
                txn.commit()
                txn, waiting = env.begin(write=True), 0

        yield add
        meta = {"count": count, "dtype": spec.pixels.dtype, "layout": "HWC", "shape": spec.pixels.shape}
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


def locate(path: Path) -> Offsets:
    """See `convert.contracts.Format.locate`.

    Raises:
        PrebakeError: the pages are not laid out as LMDB 0.9 lays them out.
    """
    import lmdb  # imported when used

    env = lmdb.open(os.fsencode(path), subdir=False, readonly=True, lock=False)
    try:
        size = env.stat()["psize"]
        with env.begin(buffers=True) as txn:
            count = json.loads(bytes(txn.get(b"__meta__") or b""))["count"]
            if not 0 <= count <= path.stat().st_size or size != PAGE:
                raise PrebakeError(f"{path.name} says that it holds {count} rows, on pages of {size} bytes: damaged, or of another machine")
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
        with env.begin() as txn:
            count = json.loads(txn.get(b"__meta__") or b"")["count"]
            found = (txn.get(b"label:%08d" % row) for row in range(count))
            return [json.loads(label) for label in found if label is not None]
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
