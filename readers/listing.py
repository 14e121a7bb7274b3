"""What a folder holds: all its files, and what each is known by."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from convert.errors import PrebakeError, printable
from convert.manifest import MANIFEST, read_manifest


class File(NamedTuple):
    """A file to copy: its path below the source, and what it is known by."""

    name: str
    nbytes: int
    mtime_ns: int
    checksum: str | None


def listed(source: Path) -> list[File]:
    """All files of a folder, in an order in which the manifest of a bake is the last.

    Raises:
        PrebakeError: no such folder, no file in it, a folder that cannot be read, or a damaged manifest.
    """
    if not source.is_dir():
        raise PrebakeError(f"{printable(source)}: no such folder")
    names = sorted(_walk(source))
    checksums: dict[str, str] = {}
    if MANIFEST in names:
        manifest = read_manifest(source)
        named: list[Any] = [*manifest.shards, *manifest.files]
        checksums = {file.name: file.checksum for file in named}
        names = [*(name for name in names if name != MANIFEST), MANIFEST]
    if not names:
        raise PrebakeError(f"{printable(source)}: no file is in it")
    states = [(source / name).stat() for name in names]
    return [File(name, state.st_size, state.st_mtime_ns, checksums.get(name)) for name, state in zip(names, states, strict=True)]


def _walk(source: Path) -> Iterator[str]:
    """The names of all files; links are followed."""

    def refuse(error: OSError) -> None:
        raise PrebakeError(f"{printable(error.filename)} cannot be read: {error.strerror}") from error

    for root, folders, names in os.walk(source, followlinks=True, onerror=refuse):
        for folder in folders:
            if Path(root).resolve().is_relative_to(Path(root, folder).resolve()):
                raise PrebakeError(f"{printable(Path(root, folder))} is a link to a folder that it is in")
        yield from (str(Path(root, name).relative_to(source)) for name in names if Path(root, name).is_file())
