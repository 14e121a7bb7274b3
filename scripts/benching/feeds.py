"""The contenders: the folder of pictures and each bake, through each loader, all giving the same pictures in the same order."""

from __future__ import annotations

import ctypes
import gc
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Sampler

from readers import Loader

SEED = 0
_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None)
Indices = np.ndarray[Any, np.dtype[np.int64]]


def stream(count: int, length: int) -> Indices:
    """Numbers (length,) of pictures: one random pass over `count` after the other. A shorter stream is the beginning of a longer one."""
    random = np.random.default_rng(SEED)
    passes = [random.permutation(count) for _ in range(-(-length // count))]
    return np.concatenate(passes)[:length].astype(np.int64)


class Feed:
    """An open contender: batches `(images, labels)`, each epoch the same pictures."""

    def batches(self, count: int | None = None) -> Iterator[Any]:
        """An epoch, or the batches of its first `count` pictures."""
        raise NotImplementedError

    def close(self) -> None:
        """End its threads and workers, unmap its files, and give its memory back: else the next one's would look larger."""
        self.__dict__.clear()
        gc.collect()
        if _TRIM is not None:  # glibc's
            _TRIM(0)


class Given(Sampler[int]):
    """Indices that can be cut short."""

    def __init__(self, indices: Indices) -> None:
        """All of them at first."""
        self.indices, self.count = indices, len(indices)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices[: self.count].tolist())


class TorchFeed(Feed):
    """torch's DataLoader."""

    def __init__(self, make: Callable[..., DataLoader[Any]], indices: Indices) -> None:
        """`make` takes the sampler."""
        self._sampler = Given(indices)
        self._loader = make(sampler=self._sampler, drop_last=True)

    def batches(self, count: int | None = None) -> Iterator[Any]:
        """See `Feed`."""
        self._sampler.count = len(self._sampler.indices) if count is None else count
        yield from self._loader  # which begins with the first batch that is asked for, not before the clock runs


class LoaderFeed(Feed):
    """Our Loader."""

    def __init__(self, make: Callable[..., Loader], indices: Indices, batch: int) -> None:
        """`make` takes the indices."""
        self._loader, self._batch = make(indices=indices, order="sequential", seed=SEED, drop_last=True), batch

    def batches(self, count: int | None = None) -> Iterator[Any]:
        """See `Feed`."""
        yield from itertools.islice(self._loader, None if count is None else count // self._batch)
        self._loader.close()  # threads may still copy what nobody will ask for


@dataclass
class Contender:
    """One way to get the pictures."""

    name: str
    format: str
    """folder, or a format's word."""
    kind: str
    """Of its rows: a dtype, or jpeg."""
    loader: str
    """Loader or DataLoader."""
    setup: str
    """For a person: workers or threads."""
    workers: int
    """Processes that each need a batch to have started; 0 where there are none."""
    keys: Sequence[str]
    """Each picture's path, in the order of its own indices."""
    files: list[Path]
    nbytes: int
    open: Callable[[Indices], Feed]
    """Takes its own indices."""
    labels: int = 0
    """How many classes there are; 0 where labels are no classes."""
    bake_seconds: float | None = None
    role: str = ""
    """defaults or tuned, of the folder."""
    own: dict[str, int] = field(default_factory=dict)
    """The index of each key."""

    def indices(self, keys: Sequence[str], numbers: Indices) -> Indices:
        """Its own indices for a stream of numbers of keys. Seeds torch too, for the crops."""
        torch.manual_seed(SEED)
        if not self.own:
            self.own = {key: index for index, key in enumerate(self.keys)}
        return np.array([self.own[key] for key in keys], np.int64)[numbers]


def common(contenders: Sequence[Contender]) -> list[str]:
    """The keys that all have, in the first one's order."""
    others = [set(other.keys) for other in contenders[1:]]
    return [key for key in contenders[0].keys if all(key in other for other in others)]
