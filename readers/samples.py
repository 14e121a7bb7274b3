"""A ready batch that still looks like a list of samples, so that torch's default collate is free and any other works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import torch
from torch.utils.data._utils.collate import collate, default_collate_fn_map

Batch = tuple[torch.Tensor, ...] | torch.Tensor


class Sample(tuple[Any, ...]):
    """(image, label) or (image, label, index): a tuple in all but name, by which torch's default collate knows it."""

    __slots__ = ()


class Samples(Sequence[Any]):
    """The samples of a batch, made when asked for, as views of the batch."""

    def __init__(self, images: torch.Tensor, *columns: torch.Tensor) -> None:
        """Images (B, C, H, W), and columns (B,) of whole numbers: labels, indices."""
        if not isinstance(images, torch.Tensor):
            raise TypeError("Samples are made of a batch, not of a list")  # torch's pin_memory tries that, and then makes a list
        self._images, self._columns = images, columns

    @property
    def batch(self) -> Batch:
        """The batch: (images, *columns), or the images alone where there are no columns."""
        return (self._images, *self._columns) if self._columns else self._images

    def __len__(self) -> int:
        return len(self._images)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        image = self._images[range(len(self))[index]]
        return Sample((image, *(int(column[index]) for column in self._columns)))


def collate_samples(batch: Sequence[Sample], *, collate_fn_map: Any = None) -> Any:
    """What torch's `default_collate` does with samples: a ready batch is handed out; others are stacked as tuples are."""
    if isinstance(batch, Samples):
        return batch.batch
    return tuple(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True))


default_collate_fn_map[Sample] = collate_samples
