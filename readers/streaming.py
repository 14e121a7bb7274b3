"""Streams tar shards, each from its beginning to its end, with the stock webdataset library: for places where only that is fast."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from convert.errors import PrebakeError, printable
from convert.manifest import MANIFEST, Manifest, read_manifest
from readers.ranks import find_ranks
from readers.shards import open_shard
from readers.tars import read_tar, to_sample

Known = tuple[str, int | None]
"""A shard's name or URL, and its samples, where they are known."""


class Stream(IterableDataset[Any]):
    """The samples of a bake's tar shards, or of shards at URLs, as `TarDataset` gives them: (image, label), or the image alone.

    Images are float32 (C, H, W), contiguous, normalised; labels int, or values float32 (K,). Shards are dealt out over ranks and over
    the workers of a DataLoader, so that each sample comes once. Ranks get as many shards, give or take one, and so not quite as many
    samples: where all must take as many steps, use `BakedDataset`. With fewer shards than workers, some have nothing to do.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Sequence[str],
        *,
        like: str | os.PathLike[str] | None = None,
        shuffle: bool = False,
        buffer: int = 256,
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        """Nothing is opened yet but the manifest.

        Args:
            source: the folder of a bake; or URLs as webdataset takes them, one (with braces: several) or a list.
            like: for URLs, a bake that says how levels are normalised.
            shuffle: whether shards come in another order in each epoch (see `set_epoch`), and samples out of a buffer.
            buffer: samples in it, as they are stored, in each worker. The order inside of a bake is random already.
            seed: of the order.
            rank: of this process; torch.distributed's, or the environment's RANK, unless given.
            world_size: the same, of how many.

        Raises:
            PrebakeError: not a finished bake, or not one of tar shards; rank and world_size make no sense.
        """
        super().__init__()
        self._shuffle, self._buffer, self._seed = shuffle, buffer, seed
        self._place = None if rank is None and world_size is None else find_ranks(rank, world_size)
        self._epoch = torch.zeros((), dtype=torch.int64, device="cpu")
        self._epoch.share_memory_()  # type: ignore[no-untyped-call] # workers that persist see it change
        self._manifest: Manifest | None = None
        self._folder: Path | None = None
        if isinstance(source, str | os.PathLike) and Path(source).is_dir():
            self._folder, self._manifest = Path(source).absolute(), read_manifest(source)
            if self._manifest.format != "webdataset":
                raise PrebakeError(f"{printable(source)} is a bake in the format {self._manifest.format}: only tar shards can be streamed")
            self._shards: list[Known] = [(shard.name, shard.count) for shard in self._manifest.shards if shard.count]
        else:
            self._shards = [(url, None) for url in _urls(source)]
            self._manifest = None if like is None else read_manifest(like)

    def set_epoch(self, epoch: int) -> None:
        """Shuffle anew: for each epoch, in each rank, before the loader is iterated, as with torch's DistributedSampler."""
        self._epoch.fill_(epoch)

    def __len__(self) -> int:
        """Samples of this rank in this epoch, over all workers; URLs do not tell.

        Raises:
            TypeError: it is a stream from URLs.
        """
        if self._folder is None:
            raise TypeError(f"a stream from URLs has no length: only a bake's {MANIFEST} tells")
        return sum(count or 0 for _, count in self._dealt(*self._ranks()))

    def __iter__(self) -> Iterator[Any]:
        from webdataset import filters

        (rank, ranks), worker = self._ranks(), get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        mine = self._dealt(rank, ranks)[number::workers]
        samples: Iterator[Any] = (sample for shard, count in mine for sample in self._read(shard, count))
        if self._shuffle:
            order = random.Random(f"{self._seed} {int(self._epoch)} {rank} {number}")
            samples = filters.shuffle(self._buffer, initial=self._buffer, rng=order)(samples)
        return (to_sample(sample, self._manifest) for sample in samples)

    def __getstate__(self) -> dict[str, Any]:
        """A spawned worker knows nothing of torch.distributed: it is told its place."""
        known = torch.distributed.is_available() and torch.distributed.is_initialized()
        return self.__dict__ | ({"_place": self._ranks()} if known else {})

    def _ranks(self) -> tuple[int, int]:
        return self._place or find_ranks(None, None)

    def _dealt(self, rank: int, ranks: int) -> list[Known]:
        """The shards of a rank, in the order of this epoch."""
        shards = list(self._shards)
        if self._shuffle:
            order = np.random.default_rng([self._seed, int(self._epoch)]).permutation(len(shards))
            shards = [shards[i] for i in order.tolist()]
        return shards[rank::ranks]

    def _read(self, shard: str, count: int | None) -> Iterator[dict[str, Any]]:
        """The samples of a shard, each with its members' bytes.

        Raises:
            PrebakeError: it cannot be read to its end, or has too few samples.
        """
        found = 0
        for found, sample in enumerate(read_tar(shard, self._open if self._folder else None), 1):  # noqa: B007 - looked at below
            yield sample
        if count not in (None, found):
            raise PrebakeError(f"shard {printable(shard)} has {found} samples, its manifest says {count}: copy the whole bake again")

    def _open(self, shard: str) -> Any:
        assert self._folder is not None
        assert self._manifest is not None
        number = next(i for i, known in enumerate(self._manifest.shards) if known.name == shard)
        return os.fdopen(open_shard(self._folder / shard, self._manifest.shards[number].bytes, number), "rb")


def _urls(source: str | os.PathLike[str] | Sequence[str]) -> list[str]:
    """One text may stand for several URLs; those in a list are taken as they are."""
    from webdataset import shardlists

    urls = list(shardlists.expand_urls(os.fspath(source)) if isinstance(source, str | os.PathLike) else map(str, source))
    missing = next((url for url in urls if not urlparse(url).scheme and url != "-" and not Path(url).exists()), None)
    if missing is not None or not urls:
        raise PrebakeError(f"{printable(missing or source)}: no such bake, shard or URL")
    return urls
