"""WebDataset: one tar file per shard (USTAR; times, owners and groups are 0), read by the webdataset library and by tar.

    0000300000012.npy     row 12 of shard 3: an array (H, W, C), with its .npy header
    0000300000012.jpg     instead, where rows are JPEGs
    0000300000012.cls     the label in decimal digits (none where the data set has no labels)
    0000300000012.json    {"target": a list of values}, where the data set has values; with --with-keys, {"key": the picture's path in
                          the source}

The members of a sample stand next to each other. Names are made of the shard's and the row's number, never of a picture's path, so
that no two are the same in a data set and none holds a dot or a slash that a reader would take for something else.
"""

import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from convert.contracts import Add, Format, Offsets, Option, Options, Sample, ShardSpec
from convert.formats import NPY_HEADER, npy_header, target_json
from convert.writes import write_all


def _member(name: str, nbytes: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = nbytes
    return info.tobuf(tarfile.USTAR_FORMAT)


def _padding(nbytes: int) -> bytes:
    return bytes(-nbytes % tarfile.BLOCKSIZE)


def _footprint(row: int, _even: bool, options: Options) -> int:
    """Members are a header and data, in blocks of 512 bytes."""
    small = 4 if options.get("with_keys") else 2
    return tarfile.BLOCKSIZE * (1 + small - (-(row + NPY_HEADER) // tarfile.BLOCKSIZE))


@contextmanager
def write_shard(path: Path, spec: ShardSpec, options: Options) -> Iterator[Add]:
    """See `convert.contracts.WriteShard`. tarfile makes the headers; the pixels go to the file without another copy."""
    count = written = 0
    with path.open("wb", buffering=0) as file:

        def put(data: object) -> None:
            nonlocal written
            write_all(file.fileno(), data)
            written += memoryview(data).nbytes  # type: ignore[arg-type]

        def add(sample: Sample) -> None:
            nonlocal count
            name = f"{spec.number:05d}{count:08d}"
            array, extension = (b"", "jpg") if spec.pixels.encoding == "jpeg" else (npy_header(spec.pixels.numpy, sample.row.shape), "npy")
            size = len(array) + sample.row.nbytes
            put(_member(f"{name}.{extension}", size) + array)
            put(sample.row)
            tail = _padding(size)
            small = []
            if isinstance(sample.target, int):
                small.append(("cls", b"%d" % sample.target))
            entry = [f'"key": {json.dumps(sample.key)}'.encode()] if options.get("with_keys") else []
            if isinstance(sample.target, tuple):
                entry.append(b'"target": ' + target_json(sample.target))
            if entry:
                small.append(("json", b"{" + b", ".join(entry) + b"}"))
            for extension, data in small:
                tail += _member(f"{name}.{extension}", len(data)) + data + _padding(len(data))
            put(tail)
            count += 1

        yield add
        end = 2 * tarfile.BLOCKSIZE
        put(bytes(end + -(written + end) % tarfile.RECORDSIZE))


def locate(path: Path, lengths: Offsets) -> Offsets:
    """See `convert.contracts.Format.locate`. A row is the end of its member."""
    with tarfile.open(path, "r:") as tar:
        ends = [member.offset_data + member.size for member in tar if member.name.endswith((".npy", ".jpg"))]
    return np.array(ends, np.int64) - lengths


def targets(path: Path) -> list[Any]:
    """See `convert.contracts.Format.targets`."""
    found = []
    with tarfile.open(path, "r:") as tar:
        for member in tar:
            data = tar.extractfile(member) if member.name.endswith((".cls", ".json")) else None
            value = None if data is None else json.load(data)
            if isinstance(value, int):
                found.append(value)
            elif isinstance(value, dict) and "target" in value:
                found.append(value["target"])
    return found


FORMAT = Format(
    summary="WebDataset tar shards",
    suffix=".tar",
    requires=None,
    write_shard=write_shard,
    locate=locate,
    targets=targets,
    footprint=_footprint,
    options=(Option("with-keys", "Also store each picture's path, in a .json member."),),
)
