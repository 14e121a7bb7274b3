"""Many keys in two arrays: their bytes end to end, and where each begins."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from convert.manifest.arrays import load_array, regular

Offsets = npt.NDArray[np.int64]
BLOCK = 4096


class Keys(Sequence[str]):
    """A read-only list of strings that costs no Python object until one is asked for.

    Names that are not UTF-8 come with surrogate escapes, as from `os.fsdecode`.
    """

    def __init__(self, blob: npt.NDArray[np.uint8], offsets: Offsets, index: Offsets | None = None) -> None:
        """Key i is `blob[offsets[i] : offsets[i + 1]]`; with `index`, the keys at these places."""
        self._blob, self._offsets, self._index = blob, offsets, index

    @classmethod
    def make(cls, keys: Iterable[str]) -> Keys:
        """From strings."""
        encoded = [key.encode("utf-8", "surrogateescape") for key in keys]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(key) for key in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, mapped: bool = True) -> Keys:
        """Map `keys.bin` and `keys.npy` of a folder, or read them.

        Raises:
            PrebakeError: they are missing, or are not what `save` writes.
        """
        path = Path(folder, "keys.bin")
        try:
            offsets = load_array(Path(folder, "keys.npy"), mapped=mapped)
            regular(path)
            blob = np.memmap(path, np.uint8, "r") if mapped and path.stat().st_size else np.fromfile(path, np.uint8)
        except (OSError, ValueError) as error:
            raise PrebakeError(f"{printable(path)} and keys.npy cannot be read: {printable(error)}") from error
        whole = offsets.dtype == np.int64 and offsets.ndim == 1 and offsets.size and offsets[0] == 0 and offsets[-1] == blob.size
        if not whole:
            raise PrebakeError(f"{printable(path)} and keys.npy do not belong together: damaged, bake again with --overwrite")
        return cls(np.asarray(blob), offsets)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `keys.bin` and `keys.npy` into a folder."""
        index = np.arange(len(self)) if self._index is None else self._index
        offsets = np.zeros(len(index) + 1, np.int64)
        np.cumsum(np.diff(self._offsets)[index], out=offsets[1:])
        with Path(folder, "keys.bin").open("wb") as file:
            for start in range(0, len(index), BLOCK):  # a million keys at once would be as many Python objects
                places = index[start : start + BLOCK]
                spans = zip(self._offsets[places].tolist(), self._offsets[places + 1].tolist(), strict=True)
                file.write(b"".join(self._blob[begin:end].tobytes() for begin, end in spans))
        np.save(Path(folder, "keys.npy"), offsets, allow_pickle=False)

    def __len__(self) -> int:
        return len(self._offsets) - 1 if self._index is None else len(self._index)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        if self._index is not None:
            i = int(self._index[i])
        start, stop = int(self._offsets[i]), int(self._offsets[i + 1])
        if not 0 <= start <= stop <= self._blob.size:
            raise PrebakeError(f"keys.npy is damaged at row {i}: bake again with --overwrite")
        return self._blob[start:stop].tobytes().decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        if self._index is not None:
            yield from super().__iter__()
            return
        for start in range(0, len(self), BLOCK):  # one by one, a million keys take two seconds
            offsets = self._offsets[start : start + BLOCK + 1].tolist()
            if not all(0 <= a <= b <= self._blob.size for a, b in itertools.pairwise(offsets)):
                raise PrebakeError(f"keys.npy is damaged near row {start}: bake again with --overwrite")
            block = self._blob[offsets[0] : offsets[-1]].tobytes()
            for a, b in itertools.pairwise(offsets):
                yield block[a - offsets[0] : b - offsets[0]].decode("utf-8", "surrogateescape")

    def stray(self) -> str | None:
        """The first key that is no path below a folder: with an empty part, `.` or `..`, or a NUL in it. None if all are.

        Raises:
            PrebakeError: `keys.npy` is damaged.
        """
        return next((key for key in self if "\0" in key or not {"", ".", ".."}.isdisjoint(key.split("/"))), None)

    def take(self, index: Offsets) -> Keys:
        """The keys at some places, in their order; nothing is copied."""
        return Keys(self._blob, self._offsets, index if self._index is None else self._index[index])
