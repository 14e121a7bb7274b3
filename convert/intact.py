"""Looks whether a finished bake is whole before it grows: its tables become part of new ones, whose new checksums would hide any damage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convert.errors import PrebakeError, printable
from convert.inspection import check_file
from convert.manifest import MANIFEST, Manifest
from convert.preview import PREVIEW
from convert.tables import check_tables


def check_intact(folder: Path, manifest: Manifest, *, deep: bool = False) -> None:
    """Compare the manifest and the side files with their checksums, and the shards with their size; with `deep`, shards by checksum, too.

    The contact sheet does not count: it is drawn anew.

    Raises:
        PrebakeError: a file is missing or was changed.
    """
    for name, wrong in _wrong(folder, manifest, deep):
        raise PrebakeError(f"{printable(folder / name)} {wrong}: --append adds to what is whole: see prebake verify and repair")


def _wrong(folder: Path, manifest: Manifest, deep: bool) -> Iterator[tuple[str, str]]:
    """Each file that is not as it was written, or tells something else than another, and what is wrong with it."""
    if manifest.sealed() != manifest:
        yield MANIFEST, "was changed since it was written"
    for file in manifest.files:
        if file.name != PREVIEW and (wrong := check_file(folder, file)):
            yield file.name, wrong
    for shard in manifest.shards:
        if shard.count and (wrong := check_file(folder, shard, content=deep)):
            yield shard.name, wrong
        if not shard.count and (folder / shard.name).exists():
            yield shard.name, "is there, and its manifest says that it is empty"
    yield from check_tables(folder, manifest).items()
