"""Looks at one file of a bake: whether it is what the manifest says, and whether a shard's own library finds the same rows in it."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.contracts import Format
from convert.errors import printable
from convert.manifest import Manifest, Shard, SideFile, load_array
from convert.progress import Meter
from convert.registry import load_format
from convert.stored import Stored

BLOCK = 1 << 20


class Spared(str):
    """Said of a file that cannot be read, which is not damage."""

    __slots__ = ()


def inspect(folder: Path, manifest: Manifest, work: Path, deep: bool, number: int) -> str:  # noqa: PLR0917 - `functools.partial` takes them
    """What is wrong with a shard, or behind them with a side file, by number; empty if nothing is.

    Args:
        folder: of the bake.
        manifest: what it says of itself.
        work: where progress is told.
        deep: whether to open shards, too.
        number: of the shard.
    """
    shards = manifest.shards
    if number >= len(shards):
        return check_file(folder, manifest.files[number - len(shards)])
    shard = shards[number]
    with closing(Meter(work, number)) as meter:
        if not shard.count:
            wrong = _check_absent(folder / shard.name)
        else:
            wrong = check_file(folder, shard, lambda share: meter.set(int(share * shard.count), 0))
        meter.set(shard.count, 0)
    if wrong or not deep or not shard.count:
        return wrong
    try:
        return _check_rows(folder, manifest, number)
    except Exception as error:  # noqa: BLE001 - whatever a library has against a file is the answer
        return f"cannot be opened: {type(error).__name__}: {printable(error)}"


def _check_absent(path: Path) -> str:
    """What is wrong where no file should be."""
    if path.is_dir():
        return "is a folder, where a file belongs"
    return "is there, and its manifest says that it is empty" if path.exists() or path.is_symlink() else ""


def check_file(folder: Path, file: Shard | SideFile, tell: Callable[[float], None] = lambda _: None, *, content: bool = True) -> str:
    """What is wrong with a file's size or `content`; empty if nothing is, `Spared` where nobody knows. `tell` hears what share was read."""
    path = folder / file.name
    try:
        info = path.stat()
        if stat.S_ISDIR(info.st_mode):
            return "is a folder, where a file belongs"
        if not stat.S_ISREG(info.st_mode):  # a pipe would be waited for, and a device has no end
            return "is no file"
        size = info.st_size
        if size != file.bytes:
            return f"{'is cut short' if size < file.bytes else 'is too long'}: {size:,} bytes, its manifest says {file.bytes:,}"
        if not content:
            return ""
        digest, done, block = hashlib.sha256(), 0, memoryview(bytearray(BLOCK))  # one: fresh memory is zeroed, page by page
        with path.open("rb", buffering=0) as opened:
            while nbytes := opened.readinto(block):
                digest.update(block[:nbytes])
                done += nbytes
                tell(done / file.bytes)
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return Spared(f"cannot be read: {error.strerror}")
    return "" if digest.hexdigest() == file.checksum else "was changed: its checksum differs"


def _check_rows(folder: Path, manifest: Manifest, number: int) -> str:
    """What is wrong with what a shard holds."""
    shard, format = manifest.shards[number], load_format(manifest.format)
    stored = Stored(folder, manifest)
    known, lengths, _ = stored.places(number, 0, shard.count)
    if not np.array_equal(format.locate(folder / shard.name, lengths), known):
        return "has its rows elsewhere than its manifest and offsets.npy say"
    if manifest.normalized:
        for row, values in enumerate(stored.shard(number)):
            if not np.isfinite(values).all():
                return f"holds values that are no numbers, in row {row}"
    return _check_targets(folder, manifest, number, format)


def _check_targets(folder: Path, manifest: Manifest, number: int, format: Format) -> str:
    """Whether a shard's own targets are those of `targets.npy`."""
    if format.targets is None or manifest.target.kind == "none":
        return ""
    start = sum(before.count for before in manifest.shards[:number])
    there = load_array(folder / "targets.npy")[start : start + manifest.shards[number].count]
    here = _array(format.targets(folder / manifest.shards[number].name), there.dtype)
    if here.shape != there.shape or not np.array_equal(here, there, equal_nan=there.dtype.kind == "f"):
        return "has other labels than targets.npy"
    return ""


def _array(targets: list[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Targets as they are in `targets.npy`; null stands for NaN."""
    if dtype.kind == "f":
        return np.array([[np.nan if value is None else value for value in row] for row in targets], dtype)
    return np.array(targets, dtype)
