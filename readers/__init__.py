"""Reads bakes: data sets for torch, with light augmentation, as one copy from the mapped file into the batch."""

from readers.augment import CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip
from readers.dataset import BakedDataset, Hdf5Dataset, LmdbDataset, MemmapDataset, TarDataset
from readers.open import open_dataset

__all__ = [
    "BakedDataset",
    "CenterCrop",
    "Hdf5Dataset",
    "LmdbDataset",
    "MemmapDataset",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "TarDataset",
    "open_dataset",
]
