"""Asking ahead: pages come before they are copied, it is asked for the right ones, and no longer than it helps."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import bake

from readers import Loader, open_dataset
from readers.ahead import PATIENCE, Ahead


def dropped(folder: Path) -> bool:
    """Whether the pages of a bake could be dropped: not in a tmpfs."""
    for path in folder.glob("shard-*"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return resident(next(folder.glob("shard-*"))) < 0.2


def resident(path: Path) -> float:
    """Share of a file's pages that is in memory."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        pages = -(-len(memory) // mmap.PAGESIZE)
        found = (ctypes.c_ubyte * pages)()
        array = np.frombuffer(memory, np.uint8)
        assert ctypes.CDLL(None).mincore(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(len(memory)), found) == 0
        share = sum(byte & 1 for byte in found) / pages
        del array
    return share


@pytest.mark.parametrize("kind", [{}, {"dtype": "uint8", "encoding": "jpeg"}, {"dtype": "uint8", "resize": "short"}], ids=str)
def test_what_is_asked_for_is_read(photos: Path, tmp_path: Path, kind: dict[str, Any]) -> None:
    bake(photos, tmp_path / "out", size=(256, 256), shards=1, upscale="resize" in kind, **kind)
    if not dropped(tmp_path / "out"):
        pytest.skip("pages of this file system cannot be dropped")
    rows = open_dataset(tmp_path / "out")._rows  # noqa: SLF001
    ahead = Ahead(rows)
    with ThreadPoolExecutor() as pool:
        ahead.ask(pool, np.arange(rows.manifest.count))
    assert ahead.useful
    end = time.monotonic() + 20
    while resident(tmp_path / "out" / "shard-00000.npy") < 0.99:
        assert time.monotonic() < end
        time.sleep(0.01)
    for _ in range(PATIENCE):
        assert ahead.useful
        with ThreadPoolExecutor() as pool:
            ahead.ask(pool, np.arange(rows.manifest.count))
    assert not ahead.useful  # they are all there


@pytest.mark.parametrize("order", ["shuffle", "quasi"])
def test_cold_batches_are_right(photos: Path, tmp_path: Path, order: str) -> None:
    bake(photos, tmp_path / "out", "lmdb", size=(96, 96), shards=3)
    dataset = open_dataset(tmp_path / "out", return_index=True)
    expected = torch.cat([batch[0] for batch in Loader(dataset, 4)])
    dropped(tmp_path / "out")
    for images, _, index in Loader(open_dataset(tmp_path / "out", return_index=True), 4, order=order):  # type: ignore[arg-type]
        assert torch.equal(images, expected[index])


def test_rows_are_asked_for_by_their_own_length(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[int, int]]()
    bake(photos, tmp_path / "out", size=(256, 256), shards=1, dtype="uint8", encoding="jpeg")
    rows = open_dataset(tmp_path / "out")._rows  # noqa: SLF001
    monkeypatch.setattr(rows.arena, "will_need", lambda starts, lengths: asked.extend(zip(starts.tolist(), lengths.tolist(), strict=True)))
    with ThreadPoolExecutor() as pool:
        Ahead(rows).ask(pool, np.array([4, 9]))
    offsets, lengths = (np.load(tmp_path / "out" / name) for name in ("offsets.npy", "lengths.npy"))
    assert asked == [(offsets[i], lengths[i]) for i in (4, 9)]
    assert (np.diff(lengths) != 0).any()


def test_only_what_is_needed_is_asked_for(baked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    rows = open_dataset(baked)._rows  # noqa: SLF001
    starts = rows.addresses(np.arange(rows.manifest.count))
    base = rows.arena._base  # noqa: SLF001
    monkeypatch.setattr("readers.arena._libc.madvise", lambda first, nbytes, _advice: asked.append((first - base, nbytes)))
    nbytes = 300_000  # more than one call may ask for
    rows.arena.will_need(starts[[5, 1]], nbytes)
    assert len(asked) == 6
    assert all(first % mmap.PAGESIZE == 0 and length <= 1 << 17 for first, length in asked)
    for start, calls in zip(sorted(starts[[5, 1]].tolist()), (asked[:3], asked[3:]), strict=True):
        assert calls[0][0] <= start < calls[0][0] + mmap.PAGESIZE
        assert [first + length for first, length in calls[:2]] == [first for first, _ in calls[1:]]
        assert sum(calls[-1]) == start + nbytes
