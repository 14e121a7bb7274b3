"""Makes batches in threads: each is cut into parts of 32 pictures, which any thread fills."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from readers.ahead import Ahead
from readers.buffers import Buffers
from readers.device import Sent, Staging
from readers.fill import Fill, Later
from readers.nvjpeg import NvJpeg, Undecoded
from readers.rows import Index

PART = 32


class Batch:
    """A batch that is being filled."""

    def __init__(self, images: torch.Tensor, epoch: int, positions: Index, *, places: Index, index: Index, later: Later | None) -> None:
        """Images (B, C, h, w), where they stand in the epoch, rows of the bake, indices (B,), and what is left to a device."""
        self.images, self.epoch, self.positions = images, epoch, positions
        self.places, self.index, self.later = places, index, later
        self.parts: list[Future[list[Undecoded]]] = []
        """In the batch's order; each gives its files where a device decodes them, instead of images."""

    def wait(self) -> None:
        """Until all parts are filled.

        Raises:
            PrebakeError: a row cannot be read.
        """
        for part in self.parts:
            part.result()

    @property
    def filled(self) -> bool:
        """Whether waiting takes no time."""
        return all(part.done() for part in self.parts)


class Batches:
    """Begins batches of one kind and hands them out."""

    def __init__(
        self,
        fill: Fill,
        batch: int,
        *,
        dtype: torch.dtype,
        memory_format: torch.memory_format,
        staging: Staging | None,
        decoding: NvJpeg | None,
        keep: int,
    ) -> None:
        """Of up to `batch` pictures; `keep` buffers lie ready."""
        self.fill, self.staging, self._decoding = fill, staging, decoding
        self.ahead = Ahead(fill.rows)
        self._deferred = staging is not None and fill.plain
        self._boxed = staging is not None and fill.boxed and decoding is None
        self._dtype = (fill.levels or dtype) if staging is None else staging.type_for(plain=fill.plain, resized=fill.resized)
        self._wanted = memory_format
        self._format = memory_format if staging is None else torch.channels_last
        self._size = (*fill.rows.layout.largest, fill.rows.manifest.channels) if self._boxed else fill.size
        self._nbytes = batch * int(np.prod(self._size)) * self._dtype.itemsize
        self._buffers = Buffers(self._nbytes, keep)

    def begin(self, pool: ThreadPoolExecutor, epoch: int, positions: Index, *, places: Index, index: Index) -> Batch:
        """Let threads fill a batch."""
        later = Later(len(positions), boxed=self._boxed) if self._deferred else None
        images = torch.empty(0, device="cpu") if self._decoding else self._images(len(positions))
        batch = Batch(images, epoch, positions, places=places, index=index, later=later)
        for first in range(0, len(positions), PART):
            batch.parts.append(pool.submit(self._part, batch, slice(first, first + PART)))
        return batch

    def send(self, batch: Batch) -> Sent:
        """A filled batch's tensors, on their way to the device, or ready.

        Raises:
            PrebakeError: a row cannot be read, or a label is of no class.
        """
        batch.wait()
        columns = self.fill.columns(batch.places, batch.index)

        def finish(images: torch.Tensor) -> torch.Tensor:
            made = self.fill.finish(images, epoch=batch.epoch, positions=batch.positions)
            return made.contiguous(memory_format=self._wanted) if made.ndim == 4 else made

        if self.staging is None:
            return Sent([finish(batch.images), *columns], None)
        return self.staging.send(lambda: self._decoded(batch), batch.later, columns, finish=finish)

    def receive(self, sent: Sent) -> Any:
        """A batch as the user gets it: (images, labels), or images alone where nothing comes with them."""
        tensors = sent.tensors if self.staging is None else self.staging.receive(sent)
        return tuple(tensors) if len(tensors) > 1 else tensors[0]

    @torch.inference_mode(False)  # what is made in that mode could not be filled in the threads, which are not in it
    def _images(self, count: int) -> torch.Tensor:
        """Room for so many pictures (B, C, h, w), in their memory format."""
        height, width, channels = self._size
        memory = self._buffers.lease() if self.staging is None else self.staging.host(self._nbytes)
        flat = memory.view(self._dtype)[: count * height * width * channels]
        if self._format == torch.contiguous_format:
            return flat.view(count, channels, height, width)
        return flat.view(count, height, width, channels).permute(0, 3, 1, 2)

    def _decoded(self, batch: Batch) -> torch.Tensor:
        if self._decoding is None:
            return batch.images
        return self._decoding.make([file for part in batch.parts for file in part.result()], batch.places)

    def _part(self, batch: Batch, some: slice) -> list[Undecoded]:
        note = None if batch.later is None else self.fill.leave(batch.later, some)
        with self.ahead.watching():
            if self._decoding is not None and note is not None:
                places, positions = batch.places[some], batch.positions[some]
                return self._decoding.take(places, epoch=batch.epoch, positions=positions, note=note)
            self.fill.fill(batch.images[some], batch.places[some], epoch=batch.epoch, positions=batch.positions[some], note=note)
            return []
