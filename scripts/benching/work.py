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


def autocast_type(device: str) -> torch.dtype:
    """bfloat16 where it is computed in; older GPUs (before 8.0) only imitate it, and compute in float16."""
    old = device.startswith("cuda") and torch.version.hip is None and torch.cuda.get_device_capability(device) < (8, 0)
    return torch.float16 if old else torch.bfloat16


def precision(settings: Settings) -> str:
    """What the network computes in, for a person."""
    if settings.amp:
        return f"autocast {str(autocast_type(settings.device)).removeprefix('torch.')}"
    return "float32, TF32 in convolutions" if settings.device != "cpu" and torch.backends.cudnn.allow_tf32 else "float32"


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
        self._dtype = autocast_type(settings.device)
        kind = torch.device(settings.device).type
        self._scaler = torch.amp.GradScaler(kind, enabled=self._amp and self._dtype == torch.float16)

    def __call__(self, images: torch.Tensor, labels: torch.Tensor | None) -> None:
        """One step."""
        if images.shape[1] == 1:
            images = images.expand(-1, 3, -1, -1)  # of a grey bake
        images = images.contiguous(memory_format=self._format)
        with torch.autocast(images.device.type, dtype=self._dtype, enabled=self._amp):
            output = self._model(images)
            loss = nn.functional.cross_entropy(output, labels) if self._classes and labels is not None else output.float().mean()
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
