"""What became of all shards, kept small: a million pictures are some bytes each, not Python objects."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import overload

from convert import journal
from convert.packed import Packed, restored


class Packs(Sequence[Packed]):
    """Finished shards, in their order. Each is unpacked when it is asked for, and not kept."""

    def __init__(self, shards: int) -> None:
        """Room for so many."""
        self._small = [b""] * shards

    def put(self, number: int, packed: Packed) -> None:
        """Keep what became of a shard."""
        self._small[number] = zlib.compress(journal.to_line(vars(packed)), 1)

    def __len__(self) -> int:
        return len(self._small)

    @overload
    def __getitem__(self, index: int) -> Packed: ...
    @overload
    def __getitem__(self, index: slice) -> list[Packed]: ...
    def __getitem__(self, index: int | slice) -> Packed | list[Packed]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        packed = restored(journal.from_line(zlib.decompress(self._small[index])) or {})
        if packed is None:
            raise AssertionError("what became of a shard cannot be read back")
        return packed
