"""Many keys in two arrays: their bytes end to end, and where each begins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt


class Keys(Sequence[str]):
    """A read-only list of strings that costs no Python object until one is asked for.

    Names that are not UTF-8 come with surrogate escapes, as from `os.fsdecode`.
    """

    def __init__(self, blob: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None:
        self._blob, self._offsets = blob, offsets

    @classmethod
    def make(cls, keys: Iterable[str]) -> Keys:
        """From strings."""
        encoded = [key.encode("utf-8", "surrogateescape") for key in keys]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(key) for key in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Keys:
        """Map `keys.bin` and `keys.npy` of a folder."""
        offsets = np.load(Path(folder, "keys.npy"), mmap_mode="r", allow_pickle=False)
        path = Path(folder, "keys.bin")
        blob = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
        return cls(blob, offsets)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `keys.bin` and `keys.npy` into a folder."""
        self._blob.tofile(Path(folder, "keys.bin"))
        np.save(Path(folder, "keys.npy"), self._offsets, allow_pickle=False)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        return self._blob[self._offsets[i] : self._offsets[i + 1]].tobytes().decode("utf-8", "surrogateescape")

    def take(self, indices: npt.NDArray[np.int64]) -> Keys:
        """The keys at some indices, in their order."""
        return Keys.make(self[int(i)] for i in indices)
