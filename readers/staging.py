"""Copies a bake, or any folder, to a fast place (a local disk, /dev/shm) once, and finds it there the next time."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from tqdm import tqdm

from convert.errors import PrebakeError, printable
from convert.manifest import MANIFEST
from readers.listing import File, listed

BLOCK = 1 << 22
"""Bytes copied at a time."""
PARTIAL = ".partial"


def stage(path: str | os.PathLike[str], cache_dir: str | os.PathLike[str], *, deep: bool = False) -> Path:
    """Copy a folder below `cache_dir`, under its own name and a mark of where it comes from; what is there already is used.

    Files of a bake are checked by the manifest's SHA-256 while they are copied; those of another folder are known by size and time.
    A copy gets its name when it is whole, and a bake's manifest comes last. Several processes may stage the same folder: one copies,
    the others wait for it. Which files are its own is noted beside the copy: no other is ever removed or replaced; those of its own that
    are no longer in the source are.

    Args:
        path: a bake, or any folder.
        cache_dir: made if it is not there.
        deep: read again what is there, and compare its checksums too; of another folder than a bake, copy all again.

    Returns:
        The copy, to be opened in place of `path`.

    Raises:
        PrebakeError: no such folder, too little room, or a file that cannot be copied, or is not what its manifest says.
    """
    source = Path(path).absolute()
    files = listed(source)
    mark = hashlib.sha256(os.fsencode(source.resolve())).hexdigest()[:8]
    target = Path(cache_dir).absolute() / f"{source.name}-{mark}"
    if target.resolve().is_relative_to(source.resolve()):
        raise PrebakeError(f"{printable(cache_dir)} is inside of {printable(source)}: choose another place for the copy")
    try:
        target.mkdir(parents=True, exist_ok=True)
        with _alone(target.with_name(f".{target.name}.prebake")) as note:
            _copy_all(source, target, _missing(target, files, note=note, deep=deep))
    except OSError as error:
        raise PrebakeError(f"{printable(source)} cannot be copied to {printable(target)}: {printable(error)}") from error
    return target


@contextmanager
def _alone(path: Path) -> Iterator[BinaryIO]:
    """The open note, for one process at a time; the lock ends with the process, however that ends."""
    with path.open("a+b") as note:
        fcntl.flock(note, fcntl.LOCK_EX)
        yield note


def _missing(target: Path, files: list[File], *, note: BinaryIO, deep: bool) -> list[File]:
    """Remove what is ours and not as it should be, and return the files that are to be copied: there is room for them.

    Each line of the note is a JSON list of names, written before the first file of them is.
    """
    note.seek(0)
    ours = {name for line in note if line.endswith(b"]\n") for name in json.loads(line)}  # not what was being written when killed
    wrong = [file for file in files if not _same(target / file.name, file, deep)]
    wanted = [file.name for file in files]
    stale = [name for name in ours.difference(wanted) if (target / name).exists()]
    # A bake that is being changed is none: its manifest goes first.
    change = [MANIFEST, *stale, *(file.name for file in wrong)] if wrong or stale else []
    foreign = next((name for name in change if name not in ours and (target / name).exists()), None)
    if foreign is not None:
        raise PrebakeError(f"{printable(target / foreign)} is in the way and was not put there by stage(): remove it, or stage elsewhere")
    if change:
        note.write(b"\n" + json.dumps(wanted).encode() + b"\n")
        note.flush()
    for name in change:
        (target / name).unlink(missing_ok=True)
        (target / (name + PARTIAL)).unlink(missing_ok=True)
    missing = [file for file in files if not (target / file.name).exists()]
    needed = sum(file.nbytes for file in missing)
    free = shutil.disk_usage(target).free
    if needed > free:
        raise PrebakeError(f"{printable(target)} has room for {free:,} bytes, {needed:,} are needed: make room, or stage elsewhere")
    return missing


def _same(path: Path, file: File, deep: bool) -> bool:
    """Whether a copy is there. It has the time of its source, so that a source that changed is seen."""
    if not path.is_file():
        return False
    state = path.stat()
    if (state.st_size, state.st_mtime_ns) != (file.nbytes, file.mtime_ns):
        return False
    if not deep:
        return True
    with path.open("rb") as copy:
        return file.checksum is not None and hashlib.file_digest(copy, "sha256").hexdigest() == file.checksum


def _copy_all(source: Path, target: Path, files: list[File]) -> None:
    total, name = sum(file.nbytes for file in files), printable(source.name)
    with tqdm(total=total, unit="B", unit_scale=True, desc=f"staging {name}", disable=not (files and sys.stderr.isatty())) as bar:
        for file in files:
            path = target / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(path.name + PARTIAL)
            try:
                _copy(source / file.name, partial, file, bar)
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)


def _copy(source: Path, target: Path, file: File, bar: Any) -> None:
    """Copy one file, and look at each byte on its way."""
    digest, nbytes = hashlib.sha256(), 0
    with source.open("rb") as reads, target.open("wb") as writes:
        while block := reads.read(BLOCK):
            writes.write(block)
            digest.update(block)
            nbytes += len(block)
            bar.update(len(block))
        writes.flush()
        os.fsync(writes.fileno())
    if nbytes != file.nbytes or file.checksum not in (None, digest.hexdigest()):
        raise PrebakeError(f"{printable(source)} is not what its manifest says, or changed while it was copied: copy or bake it again")
    os.utime(target, ns=(file.mtime_ns, file.mtime_ns))
