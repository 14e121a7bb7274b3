"""The Loader: batches at the speed of memory, in an order that is a function of its options, the seed and the epoch alone."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, NoReturn, Self

import numpy.typing as npt
import torch

from convert.errors import PrebakeError
from readers.batches import Batches
from readers.dataset import BakedDataset
from readers.device import staging_for
from readers.epoch import Epoch, Progress
from readers.fill import Fill, check_dataset
from readers.nvjpeg import decoding_for
from readers.order import Order, checked_weights, kind_of
from readers.ranks import Share, find_ranks, local_ranks
from readers.selection import Selection
from readers.state import Identity, check_count, contents_of
from readers.threads import thread_count
from readers.values import check_floating


class Loader:
    """Batches of a bake: `(images, labels)`, images (B, C, h, w); images alone where there are no labels; indices last, if asked for.

    Each iteration is the next epoch, from 0 on; `set_epoch` says which one is next. What is in a batch, crops and flips too, depends on
    the data set, its options, `order`, `seed`, the epoch and the position in it: not on threads, ranks, batch size or where it began.
    Threads run while an iterator is used, and end with it. A batch is the user's own: kept as long as they like, changed in place.
    """

    def __init__(
        self,
        dataset: BakedDataset,
        batch_size: int,
        *,
        shuffle: bool = False,
        order: Literal["sequential", "shuffle", "quasi"] | None = None,
        seed: int = 0,
        drop_last: bool = False,
        threads: int | Literal["auto"] = "auto",
        device: torch.device | str | int | None = None,
        decode: Literal["cpu", "nvjpeg"] = "cpu",
        dtype: torch.dtype = torch.float32,
        memory_format: torch.memory_format = torch.channels_last,
        prefetch: int = 4,
        rank: int | None = None,
        world_size: int | None = None,
        indices: Sequence[int] | npt.NDArray[Any] | None = None,
        weights: Literal["balanced"] | Sequence[float] | npt.NDArray[Any] | None = None,
    ) -> None:
        """Nothing is read and no thread started yet.

        Args:
            dataset: with `augment=`; as it is now. One with `transform=` is for torch's DataLoader.
            batch_size: samples in a batch of each rank.
            shuffle: the same as order="shuffle".
            order: sequential; shuffle; or quasi, for disks: blocks of 4 MiB shuffled, then the pictures among 64 blocks.
            seed: a whole number, the same on all ranks.
            drop_last: leave the last batch out if it is not full.
            threads: that copy. "auto": the usable cores, at most 8, divided by the ranks on this machine.
            device: where batches are wanted: the CPU unless given, or a CUDA device.
            decode: JPEG rows in threads, or "nvjpeg": on the CUDA device, by torchvision, with pixels of its own.
            dtype: of the images: a floating type.
            memory_format: channels_last, which costs nothing, or contiguous_format.
            prefetch: batches that are made ahead.
            rank: with `world_size`; else torch.distributed is asked. Ranks take turns, position by position. In order, without drop_last,
                every picture is taken once and ranks differ by one sample at most. Else all ranks take as many steps: the first
                pictures of the epoch once more, at most one for a rank, or with `drop_last` full batches only.
            world_size: how many ranks there are.
            indices: only these pictures of the data set, or a mask.
            weights: draw as many pictures with replacement: "balanced", each class as often; or a weight for each picture.

        Raises:
            PrebakeError: an option makes no sense.
        """
        kind = kind_of(order, shuffle)
        for name, value in {"batch_size": batch_size, "prefetch": prefetch}.items():
            check_count(name, value, 1)
        check_count("seed", seed, 0)
        if memory_format not in {torch.channels_last, torch.contiguous_format}:
            raise PrebakeError(f"memory_format={memory_format!r}: choose torch.channels_last or torch.contiguous_format")
        if weights is not None and order is not None and order != "shuffle":
            raise PrebakeError(f'weights= draw pictures at random: leave order="{order}" out')
        rank, world = find_ranks(rank, world_size)
        self._threads, self._prefetch = thread_count(threads, local_ranks(world)), prefetch
        check_dataset(dataset)
        self._selection = Selection(dataset, indices)
        fill = Fill(dataset, seed, self._selection.stored)
        check_floating(dtype, fill.rows.manifest, levels=fill.levels is not None)
        manifest, count, stored = fill.rows.manifest, self._selection.count, self._selection.stored
        staging = staging_for(device, fill, dtype=dtype)
        decoding = decoding_for(decode, fill, None if staging is None else staging.device)
        self._batches = Batches(
            fill, batch_size, dtype=dtype, memory_format=memory_format, staging=staging, decoding=decoding, keep=prefetch + 2
        )
        drawn = checked_weights(weights, self._selection.labels, count)
        self._order = Order(kind, count, seed=seed, mean_nbytes=fill.rows.layout.mean_nbytes, stored=stored, weights=drawn)
        self._identity = Identity.of(contents_of(manifest), self._order.kind, seed=seed, count=count, indices=stored, weights=drawn)
        even = kind != "sequential" or drawn is not None
        self._share = Share(count, 0, batch=batch_size, rank=rank, world=world, even=even, drop_last=drop_last)
        if not self._share.steps and drop_last:
            raise PrebakeError(f"drop_last leaves no batch: {count} pictures for batches of {batch_size} on each of {world} ranks")
        self._next, self._current = Progress(0), Progress(0)
        self._running: weakref.WeakSet[Epoch] = weakref.WeakSet()

    def __len__(self) -> int:
        """Batches of this rank in a whole epoch."""
        return self._share.steps

    def __iter__(self) -> Epoch:
        """Begin the next epoch, or go on in one whose state was loaded."""
        progress, self._next = self._next, Progress(self._next.epoch + 1)
        share = self._share.since(progress.samples)
        self._current = progress
        if not share.steps:  # with drop_last, in larger batches than before: what is left fills none
            progress.epoch, progress.samples = progress.epoch + 1, 0
        epoch = Epoch(
            self._batches, self._order, self._selection, share=share, progress=progress, threads=self._threads, prefetch=self._prefetch
        )
        self._running.add(epoch)
        return epoch

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch is next: from its beginning, or where a loaded state is in it."""
        check_count("epoch", epoch, 0)
        if epoch != self._next.epoch:
            self._next = Progress(epoch)
        self._current = self._next

    def state_dict(self) -> dict[str, Any]:
        """Where the user is: in the epoch begun last, after the batches that it has handed out. The same on all ranks.

        For any batch size, number of ranks and container of the same plan: it counts the samples that all ranks took together.
        """
        return {**self._identity.words, "epoch": self._current.epoch, "samples": self._current.samples}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Have the next iteration go on where a state was taken.

        Raises:
            PrebakeError: it was taken from another bake, order, seed, selection or weights; says which.
        """
        epoch, samples = self._identity.check(state, self._selection.count)
        self._next = self._current = Progress(epoch, samples)

    def close(self) -> None:
        """End the threads of all iterators; they hand out no more."""
        for epoch in list(self._running):
            epoch.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Loader is threads of this process: pickle its data set and its state_dict(), and make another")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
