"""Tells files apart by their bytes: a hash for each picture of a bake, and those that another bake has."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from convert.manifest import Keys, load_array, read_manifest, regular

HASHES = "hashes.npy"
NBYTES = 16
"""Of a hash: the first half of SHA-256. Two of 10^9 different files have the same one with a chance of 10^-21."""

SOURCES = (HASHES, "keys.bin", "keys.npy", "targets.npy")
"""What an inventory is read from."""

Hashes = npt.NDArray[np.uint8]
"""(N, 16), in the order of a bake."""


@dataclass(frozen=True)
class Inventory:
    """The pictures of a bake, to be told by their bytes."""

    hashes: Hashes
    keys: Keys
    classes: tuple[str, ...]
    labels: npt.NDArray[np.int64] | None
    identity: str = ""
    """SHA-256 over all of it, in hex, if it is another bake's."""

    def line(self, index: int) -> tuple[str, str, int]:
        """Key, class and index of one of them; the class is empty where there are none."""
        return self.keys[index], "" if self.labels is None else self.classes[int(self.labels[index])], index


def hash_of(data: bytes) -> bytes:
    """A file's hash."""
    return hashlib.sha256(data).digest()[:NBYTES]


def first_places(hashes: Hashes) -> npt.NDArray[np.int64]:
    """For each hash (N, 16), the first place where the same one stands: its own, if it is new there. int64 (N,)."""
    halves = np.ascontiguousarray(hashes).view("<u8")
    order = np.lexsort((halves[:, 1], halves[:, 0]))  # stable: among equals, the first comes first
    halves = halves[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (halves[1:] != halves[:-1]).any(axis=1)
    first = np.empty(len(order), np.int64)
    first[order] = order[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
    return first


def read_inventory(folder: Path) -> Inventory | None:
    """The pictures of a finished bake; None if it was baked without hashes.

    Raises:
        PrebakeError: no finished bake, or a damaged one.
    """
    manifest = read_manifest(folder)
    sums = {file.name: file.checksum for file in manifest.files}
    if HASHES not in sums:
        return None
    names = [name for name in SOURCES if name in sums]
    for name in names:
        _verify(folder / name, sums[name])
    hashes = _load(folder / HASHES, np.uint8, (manifest.count, NBYTES))
    labels = _load(folder / "targets.npy", np.int64, (manifest.count,)) if manifest.target.kind == "class" else None
    keys = Keys.load(folder)
    if len(keys) != manifest.count:
        raise _damaged(folder / "keys.npy")
    parts = [manifest.classes, *((name, sums[name]) for name in names)]
    identity = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return Inventory(hashes, keys, manifest.classes, labels, identity)


def _verify(path: Path, checksum: str) -> None:
    try:
        with regular(path).open("rb") as file:
            good = hashlib.file_digest(file, "sha256").hexdigest() == checksum
    except OSError as error:
        raise _damaged(path) from error
    if not good:
        raise _damaged(path)


def _load(path: Path, dtype: type[np.generic], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """An array that was verified; a manifest that was tampered with is still no reason for a crash."""
    try:
        array = load_array(path, mapped=False)
    except (OSError, ValueError) as error:
        raise _damaged(path) from error
    if array.dtype != dtype or array.shape != shape:
        raise _damaged(path)
    return array


def _damaged(path: Path) -> PrebakeError:
    what = f"{printable(path)} is missing, damaged or of another bake"
    return PrebakeError(f"{what}: bake {printable(path.parent)} again, or add --dedupe off")
