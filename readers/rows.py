"""From an index to its row's bytes: their place in the arena, or read from the file."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from convert.errors import PrebakeError, printable
from convert.manifest import Keys, Manifest, read_manifest
from readers.arena import Arena
from readers.files import Files
from readers.layout import Index, Layout, load_table
from readers.shards import ShardError, Shards
from readers.table import Table

__all__ = ["Index", "Rows"]

NEEDED = ("keys.bin", "keys.npy", "targets.npy", "offsets.npy", "lengths.npy", "sizes.npy")
"""Files beside the shards without which nothing can be read; a contact sheet may be lost."""


class Rows:
    """A bake, opened: its manifest, labels, keys, and where each row is. No shard is touched before a row of it is asked for."""

    def __init__(self, folder: Path, io: str = "mmap") -> None:
        """Open a bake.

        Args:
            folder: of the bake.
            io: `mmap`; or `pread`: nothing is mapped, neither shards nor tables, and rows come from `read`.

        Raises:
            PrebakeError: not a finished bake, or a file beside the shards is missing or of another size.
        """
        if io not in ("mmap", "pread"):
            raise PrebakeError(f"io={io!r}: it is 'mmap', or 'pread' for network and FUSE file systems")
        self.folder, self.io = folder, io
        self.manifest: Manifest = read_manifest(folder)
        for file in self.manifest.files:
            if file.name in NEEDED:
                self._check_size(file.name, file.bytes)
        self._targets = self._target_table()
        self.keys = Keys.load(folder, mapped=io == "mmap")
        if len(self.keys) != self.manifest.count:
            raise PrebakeError(f"{printable(folder)}: {len(self.keys)} keys for {self.manifest.count} rows: damaged, bake again")
        self.layout = Layout(folder, self.manifest, self.keys, mapped=io == "mmap")
        self._shards = Shards([(folder / shard.name, shard.bytes) for shard in self.manifest.shards])
        self.arena = Arena(self._shards if io == "mmap" else Shards([]))
        self._files = Files(self._shards)

    def _check_size(self, name: str, nbytes: int) -> None:
        path = self.folder / name
        size = path.stat().st_size if path.is_file() else None
        if size != nbytes:
            what = "is missing" if size is None else f"has {size} bytes, its manifest says {nbytes}"
            raise PrebakeError(f"{printable(path)} {what}: copy the whole bake again, or bake again with --overwrite")

    def _target_table(self) -> npt.NDArray[Any] | None:
        target = self.manifest.target
        if target.kind == "none":
            return None
        values = target.kind == "values"
        shape = (self.manifest.count, target.width) if values else (self.manifest.count,)
        return load_table(self.folder / "targets.npy", np.float32 if values else np.int64, shape, mapped=self.io == "mmap")

    @functools.cached_property
    def table(self) -> Table:
        """The columns of samples.csv, which is looked at only when it is needed: it may be lost otherwise.

        Raises:
            PrebakeError: it is missing, or of another size.
        """
        for file in self.manifest.files:
            if file.name == "samples.csv":
                self._check_size(file.name, file.bytes)
        return Table(self.folder / "samples.csv", self.manifest.count, mapped=self.io == "mmap")

    def look_again(self, *, if_due: bool = False) -> None:
        """See which shards are other files than when they were opened: those are opened anew before a row of them is used again.

        One of the same size is warned of; one that was cut or is gone is an error when a row of it is asked for.

        Args:
            if_due: only when the last look is about a second ago, or was in a process that forked this one.
        """
        if if_due and not self._shards.due:
            return
        if changed := self._shards.changed():
            self.arena.forget(changed if self.io == "mmap" else ())
            self._files.forget()
            self._shards.tell(changed)

    @property
    def labelled(self) -> bool:
        """Whether rows have labels or values."""
        return self._targets is not None

    def labels(self, index: Index | None) -> Index:
        """The labels of some rows, or of all: a copy.

        Raises:
            PrebakeError: rows have none, or a label is of no class.
        """
        if self.manifest.target.kind == "values":
            raise PrebakeError(f"{printable(self.folder)} has {self.manifest.target.width} values for each picture, and no class")
        return self.targets(index)

    def targets(self, index: Index | None) -> npt.NDArray[Any]:
        """The labels (N,), int64, or values (N, K), float32, of some rows, or of all: a copy.

        Raises:
            PrebakeError: a label is of no class.
        """
        if self._targets is None:
            raise PrebakeError(f"{printable(self.folder)} has no labels: its source had neither class folders nor a table")
        labels = np.array(self._targets if index is None else self._targets[index])
        if self.manifest.target.kind == "values":
            return labels
        wrong = (labels < 0) | (labels >= len(self.manifest.classes))
        if wrong.any():
            i = int(wrong.argmax() if index is None else index[wrong.argmax()])
            what = f"label {self._targets[i]} of {len(self.manifest.classes)} classes (key {printable(self.keys[i])}, index {i})"
            raise PrebakeError(f"{printable(self.folder / 'targets.npy')} holds {what}: damaged, bake again with --overwrite")
        return labels

    def addresses(self, index: Index) -> Index:
        """Where rows begin in the arena, in bytes; their shards are mapped from now on. Indices are in range (checked by the caller).

        Raises:
            PrebakeError: a shard vanished or was cut; an offset lies outside of its shard. Names shard, key and index.
        """
        shard, offset = self.layout.places(index)
        try:
            self.arena.ensure(shard)
        except ShardError as error:
            raise self.layout.named(error, int(index[(shard == error.shard).argmax()])) from error
        return np.asarray(self.arena.slots[shard] + offset)

    def read(self, index: Index, first: Index, nbytes: Index) -> Iterator[torch.Tensor]:
        """A part of one row after the other, `nbytes` from byte `first`, by plain reads: flat, to be used before the next is asked for.

        Raises:
            PrebakeError: as `addresses`; or a read failed.
        """
        shard, offset = self.layout.places(index)
        scratch = torch.empty(int(nbytes.max(initial=0)), dtype=torch.uint8, device="cpu")
        for i, number, start, length in zip(*(a.tolist() for a in (index, shard, offset + first, nbytes)), strict=True):
            try:
                self._files.read(number, start, scratch[:length])
            except ShardError as error:
                raise self.layout.named(error, i) from error
            yield scratch[:length]

    def stored(self, index: Index) -> Iterator[npt.NDArray[np.uint8]]:
        """The stored bytes of one row after the other, flat, to be used before the next is asked for.

        Raises:
            PrebakeError: as `addresses` and `read`.
        """
        lengths = np.broadcast_to(self.layout.lengths(index), index.shape)
        if self.io == "pread":
            yield from (row.numpy() for row in self.read(index, np.zeros_like(index), lengths))
            return
        starts, source = self.addresses(index), self.arena.view(torch.uint8).numpy()
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            yield source[start : start + length]
