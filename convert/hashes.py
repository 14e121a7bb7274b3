"""Tells files apart by their bytes: a hash for each picture of a bake, and those that another bake has."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from convert.manifest import Keys, Manifest, read_manifest

HASHES = "hashes.npy"
NBYTES = 16
"""Of a hash: the first half of SHA-256. Two of 10^9 different files have the same one with a chance of 10^-21."""

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
    hashes = _load(folder / HASHES, sums[HASHES], np.uint8, (manifest.count, NBYTES))
    keys = Keys.load(folder)
    if len(keys) != manifest.count:
        raise _damaged(folder / "keys.npy")
    labels = None
    if manifest.target.kind == "class":
        labels = _load(folder / "targets.npy", sums.get("targets.npy", ""), np.int64, (manifest.count,))
    return Inventory(hashes, keys, manifest.classes, labels, _identity(manifest, sums))


def _identity(manifest: Manifest, sums: dict[str, str]) -> str:
    parts = [manifest.classes, *(sums.get(name) for name in (HASHES, "keys.bin", "keys.npy", "targets.npy"))]
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _load(path: Path, checksum: str, dtype: type[np.generic], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    try:
        data = path.read_bytes()
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _damaged(path) from error
    if hashlib.sha256(data).hexdigest() != checksum or array.dtype != dtype or array.shape != shape:
        raise _damaged(path)
    return np.asarray(array)


def _damaged(path: Path) -> PrebakeError:
    what = f"{printable(path)} is missing, damaged or of another bake"
    return PrebakeError(f"{what}: bake {printable(path.parent)} again, or add --dedupe off")
