"""What is done with each batch: nothing but bringing it to the device, or a step of training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torchvision import models

from benching.settings import Settings
from convert.machine import cores

Batch = tuple[torch.Tensor, torch.Tensor | None]


def to_device(batch: Any, device: str) -> Batch:
    """Images and labels of a batch, on the device, without waiting for it."""
    images, labels = (batch, None) if isinstance(batch, torch.Tensor) else (batch[0], batch[1])
    return images.to(device, non_blocking=True), None if labels is None else labels.to(device, non_blocking=True)


@contextmanager
def model_threads(settings: Settings) -> Iterator[None]:
    """On a CPU, leave a core to the loaders: threads that wait for one another on busy cores take ten times as long."""
    before = torch.get_num_threads()
    if settings.device == "cpu":
        torch.set_num_threads(max(1, cores() - 1))
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Nothing:
    """The loader alone."""

    def __call__(self, images: torch.Tensor, labels: torch.Tensor | None) -> None:
        """Leave them."""


class Training:
    """Forward, backward and SGD; on a GPU nothing of it waits."""

    def __init__(self, settings: Settings, classes: int) -> None:
        """A new network with random weights; without classes, the loss is the mean of the output."""
        self._device, self._classes, self._amp = settings.device, classes, settings.amp
        self._format = torch.channels_last if settings.channels_last else torch.contiguous_format
        model = models.get_model(settings.model, weights=None, num_classes=max(2, classes))
        self._model: nn.Module = model.to(settings.device, memory_format=self._format).train()
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=1e-3, momentum=0.9)
        kind = torch.device(settings.device).type
        self.dtype = torch.float16 if kind == "cuda" and not torch.cuda.is_bf16_supported() else torch.bfloat16
        """That autocast computes in, if it is on."""
        self._scaler = torch.amp.GradScaler(kind, enabled=self._amp and self.dtype == torch.float16)

    def __call__(self, images: torch.Tensor, labels: torch.Tensor | None) -> None:
        """One step."""
        if images.shape[1] == 1:
            images = images.expand(-1, 3, -1, -1)  # of a grey bake
        images = images.contiguous(memory_format=self._format)
        with torch.autocast(images.device.type, dtype=self.dtype, enabled=self._amp):
            output = self._model(images)
            loss = nn.functional.cross_entropy(output, labels) if self._classes and labels is not None else output.float().mean()
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
