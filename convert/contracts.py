"""What the parts of `convert` agree on: rows, shards, formats and executors."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from convert.manifest import Target

Array = npt.NDArray[Any]
Offsets = npt.NDArray[np.int64]
Options = Mapping[str, Any]


class RejectError(Exception):
    """This picture cannot be baked: one of the reasons of `rejects.csv`, and the detail."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True)
class Pixels:
    """What every row of a data set holds: HWC, little-endian `dtype`; as they are, or coded."""

    height: int | None
    """None, as the width, where rows differ in size."""
    width: int | None
    channels: int
    dtype: str
    encoding: str = "raw"
    """raw, or jpeg: a row is a JPEG file."""

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """(H, W, C), or None where rows differ in size."""
        return None if self.height is None or self.width is None else (self.height, self.width, self.channels)

    @property
    def even(self) -> bool:
        """Whether all rows take as many bytes."""
        return self.shape is not None and self.encoding == "raw"

    @property
    def numpy(self) -> np.dtype[Any]:
        """The dtype, little-endian on every machine."""
        return np.dtype(self.dtype).newbyteorder("<")

    @property
    def nbytes(self) -> int:
        """Bytes of one row, where all take as many.

        Raises:
            ValueError: they do not.
        """
        if self.shape is None or not self.even:
            raise ValueError("rows differ in length")
        return math.prod(self.shape) * self.numpy.itemsize


class Sample(NamedTuple):
    """One decoded picture, ready to be stored."""

    key: str
    """Its path in the source, with '/'."""
    row: Array
    """Pixels (H, W, C), contiguous; or a JPEG file's bytes (n,), uint8. The buffer is used again once `add` returns."""
    target: int | tuple[float, ...] | None
    """Its label, or its values, of which NaN means that one is not known; None where the data set has neither."""


@dataclass(frozen=True)
class ShardSpec:
    """One shard to write: at most `capacity` rows, fewer where pictures were rejected."""

    number: int
    capacity: int
    pixels: Pixels
    target: Target


Add = Callable[[Sample], None]


class WriteShard(Protocol):
    """Opens a shard for writing and yields `add`; what follows the `yield` in it runs on success only."""

    def __call__(self, path: Path, spec: ShardSpec, options: Options) -> AbstractContextManager[Add]:
        """Open `path`, to be written from nothing."""
        ...


@dataclass(frozen=True)
class Option:
    """A flag that one format alone has: `--name`, off unless given."""

    name: str
    help: str


@dataclass(frozen=True)
class Format:
    """What a module in `convert/formats/` exports as FORMAT. Its byte layout is the module's docstring."""

    summary: str
    """For the help: 'Bake into ...'."""
    suffix: str
    requires: str | None
    """The distribution that must be installed, imported inside the functions only."""
    write_shard: WriteShard
    locate: Callable[[Path, Offsets], Offsets]
    """At which offset in the file each row's stored bytes begin; the second argument is how many each has."""
    footprint: Callable[[int, bool, Options], int]
    """Bytes that a row of so many bytes takes in a shard, with all that belongs to it; the flag says whether all rows take as many."""
    options: tuple[Option, ...] = ()
    targets: Callable[[Path], list[Any]] | None = None
    """What each row's target is, as the shard has it: numbers, or lists of numbers. None for a format whose shards have none."""


class Outcome(NamedTuple):
    """How one task ended: with a value, or with an error that names its cause."""

    task: int
    value: Any
    error: Exception | None


class Executor(Protocol):
    """What a module in `convert/executors/` exports as EXECUTOR.

    Maps one picklable function over the tasks and yields an outcome for each, in any order, and None at least every 0.2 seconds,
    so that the caller can look at its watch. Never raises for a task: one whose worker died has a WorkerDiedError, one that no worker
    was left to begin a NotStartedError. Closing the iterator early ends all workers at once.
    """

    def __call__(self, function: Callable[[int], Any], tasks: list[int], workers: int) -> Generator[Outcome | None]:
        """Run the tasks."""
        ...
