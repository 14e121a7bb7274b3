"""A ready batch that is also a list of samples, so that torch's default collate is free and any other works."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data._utils.collate import collate, default_collate_fn_map


class Sample(tuple[Any, ...]):
    """(image, label) or (image, label, index): a tuple in all but name, by which torch's default collate knows it."""

    __slots__ = ()


def unbound(column: torch.Tensor) -> Sequence[Any]:
    """What belongs to each sample: a whole number, or a tensor of values (K,)."""
    return column.tolist() if column.ndim == 1 else column.unbind(0)


class Samples(list[Any]):
    """The samples of a batch, as views of it: a real list, to be sorted, filtered or collated at will."""

    def __init__(self, images: torch.Tensor, *columns: torch.Tensor) -> None:
        """Images (B, C, H, W), and columns: labels or indices (B,), values (B, K)."""
        values = [unbound(column) for column in columns]
        super().__init__(map(Sample, zip(images.unbind(0), *values, strict=True)) if values else images.unbind(0))
        self._made = tuple(self)
        self.batch = [images, *columns]

    @property
    def untouched(self) -> bool:
        """Whether the list still holds what the batch holds, in its order."""
        return len(self) == len(self._made) and all(map(operator.is_, self, self._made))


def collate_samples(batch: Sequence[Sample], *, collate_fn_map: Any = None) -> list[Any]:
    """What torch's `default_collate` does with samples: a ready batch is handed out; others are stacked as tuples are."""
    if isinstance(batch, Samples) and batch.untouched:
        return batch.batch
    return [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)]


default_collate_fn_map[Sample] = collate_samples
_stack = default_collate_fn_map[torch.Tensor]


def collate_images(batch: Sequence[torch.Tensor], *, collate_fn_map: Any = None) -> Any:
    """The same for images alone; all other tensors are stacked, as before."""
    if isinstance(batch, Samples) and batch.untouched:
        return batch.batch[0]
    return _stack(batch, collate_fn_map=collate_fn_map)


default_collate_fn_map[torch.Tensor] = collate_images
