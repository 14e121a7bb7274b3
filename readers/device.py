"""The way of a batch to a device: over in the stored type, then cast, normalised and flipped there, beside the user's own work."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch

from convert.errors import PrebakeError
from readers.augment.device import resize_boxes_on_device
from readers.fill import Fill, Later
from readers.values import STORED, baked_values

Finish = Callable[[torch.Tensor], torch.Tensor]
"""Does to a batch on the device what needs all of it."""


class Sent(NamedTuple):
    """A batch on its way: its tensors, and what says that they are ready."""

    tensors: list[torch.Tensor]
    event: Any


class Staging:
    """Sends batches to a device on a stream of its own. On a CPU there are no streams, and everything is done at once."""

    def __init__(self, device: torch.device, fill: Fill, *, dtype: torch.dtype) -> None:
        """For batches of a data set, to become `dtype` there; or whole levels, where those are asked for."""
        self.device, self._dtype, self._functions = device, fill.levels or dtype, fill.functions
        self._manifest, self._values, self._size = fill.rows.manifest, fill.values, fill.size[:2]
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def type_for(self, *, plain: bool, resized: bool = False) -> torch.dtype:
        """In which type pictures go over: the smaller one of the stored and the wanted; the wanted one where steps work on values.

        So too where normalised numbers are stored that are not the values that are asked for: only the way through levels is exact.
        What was resized is levels.
        """
        stored = STORED[self._manifest.dtype]
        if plain and resized and stored != torch.uint16:
            return torch.uint8
        same = not self._manifest.normalized or self._values == baked_values(self._manifest)
        return stored if plain and same and stored != torch.uint16 and stored.itemsize < self._dtype.itemsize else self._dtype

    def host(self, nbytes: int) -> torch.Tensor:
        """Memory (nbytes,) that the device can copy from meanwhile. torch takes it back when nobody has it and its copies are done."""
        return torch.empty(nbytes, dtype=torch.uint8, device="cpu", pin_memory=self._stream is not None)

    def send(self, images: Callable[[], torch.Tensor], later: Later | None, columns: Sequence[torch.Tensor], *, finish: Finish) -> Sent:
        """Begin to send a batch (B, C, h, w) and what comes with it; what was left for later, and `finish`, is done on the device.

        `images` gives the batch, which may be on the device already.
        """
        if self._stream is not None and self._functions:  # they may use what the caller's stream has still to make
            self._stream.wait_stream(torch.cuda.current_stream(self.device))
        with self._beside():
            with torch.inference_mode(False):  # the batch may be handed out after the caller has left it
                made = self._made(self._over(images()), later)
                over = [self._over(self._pinned(column)) for column in columns]
            sent = [finish(made), *over]
            event = None
            if self._stream is not None:
                event = torch.cuda.Event()  # type: ignore[no-untyped-call]
                event.record(self._stream)
        return Sent(sent, event)

    def receive(self, sent: Sent) -> list[torch.Tensor]:
        """A batch for the caller's stream: its next work waits for it, the caller does not; its memory stays until that work is done."""
        if self._stream is not None:
            current = torch.cuda.current_stream(self.device)
            current.wait_event(sent.event)
            for tensor in sent.tensors:
                tensor.record_stream(current)
        return sent.tensors

    def _beside(self) -> AbstractContextManager[Any]:
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def _pinned(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor if self._stream is None else tensor.pin_memory()

    def _over(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.device, non_blocking=True)

    def _made(self, images: torch.Tensor, later: Later | None) -> torch.Tensor:
        """Boxes resized, cast, normalised and flipped: float values, or whole levels where those are asked for."""
        levels = not images.dtype.is_floating_point
        if later is not None and later.boxes is not None:
            boxes = self._over(self._pinned(torch.from_numpy(later.boxes.T.copy())))
            images = resize_boxes_on_device(images.float(), boxes, self._size)
        if not self._dtype.is_floating_point:
            images = images.round().to(self._dtype) if images.dtype.is_floating_point else images
        elif levels:
            scale, shift = self._affine
            images = torch.addcmul(shift, images.float(), scale).to(self._dtype)
        else:
            images = images.to(self._dtype)
        for axis, chosen in () if later is None else ((2, later.flips[0]), (3, later.flips[1])):
            if chosen.any():
                where = self._over(self._pinned(torch.from_numpy(chosen.copy()))).view(-1, 1, 1, 1)
                bits = images.view(torch.int16) if images.dtype == torch.uint16 else images  # for which torch knows little on a GPU
                images = torch.where(where, bits.flip(axis), bits).view(images.dtype)
        return images

    @functools.cached_property
    def _affine(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Scale and shift (C, 1, 1), float32, that make values of levels."""
        scale, shift = (self._over(numbers.float().view(-1, 1, 1)) for numbers in self._values.affine(255))
        return scale, shift


def staging_for(device: torch.device | str | int | None, fill: Fill, *, dtype: torch.dtype) -> Staging | None:
    """The way to a device, or None for the CPU, where batches are made.

    Raises:
        PrebakeError: no such device, or one of another kind.
    """
    if device is None:
        return None
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise PrebakeError(f"device={device!r}: torch knows no such device") from error
    if found.type == "cpu":
        return None
    if found.type != "cuda":
        raise PrebakeError(f'device="{found}": Loader sends batches to CUDA devices; for others, call .to(device) on each batch')
    if not torch.cuda.is_available() or (found.index or 0) >= torch.cuda.device_count():
        raise PrebakeError(f'device="{found}": torch sees no such GPU here')
    if found.index is None:
        found = torch.device("cuda", torch.cuda.current_device())
    return Staging(found, fill, dtype=dtype)
