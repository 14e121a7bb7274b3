"""Reads bakes: data sets for torch, with light augmentation, as one copy from the mapped file into the batch."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError("readers need torch: make install, or pip install 'prebake[train]'", name="torch") from None

from readers.augment import (
    CenterCrop,
    InPixels,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
)
from readers.dataset import BakedDataset
from readers.feeding import torch_loader
from readers.formats import Hdf5Dataset, LmdbDataset, MemmapDataset, TarDataset
from readers.loader import Loader
from readers.open import open_dataset

__all__ = [
    "BakedDataset",
    "CenterCrop",
    "Hdf5Dataset",
    "InPixels",
    "LmdbDataset",
    "Loader",
    "MemmapDataset",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "TarDataset",
    "open_dataset",
    "torch_loader",
]
