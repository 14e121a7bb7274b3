"""One class for each format: they differ in what they refuse to open."""

from readers.dataset import BakedDataset


class LmdbDataset(BakedDataset):
    """A bake made by `prebake lmdb`."""

    FORMAT = "lmdb"


class Hdf5Dataset(BakedDataset):
    """A bake made by `prebake hdf5`."""

    FORMAT = "hdf5"


class TarDataset(BakedDataset):
    """A bake made by `prebake webdataset`: map-style like the others."""

    FORMAT = "webdataset"


class MemmapDataset(BakedDataset):
    """A bake made by `prebake memmap`."""

    FORMAT = "memmap"
