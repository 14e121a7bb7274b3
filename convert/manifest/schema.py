"""`manifest.json`: its fields, and how a stored value becomes an 8-bit level again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

SCHEMA = 1
MANIFEST = "manifest.json"
COLOURS = {"RGB": 3, "gray": 1}
"""Channels of each."""


@dataclass(frozen=True)
class Shard:
    """One shard's file. Row r is at `first + r * stride`; where `stride` is null, `offsets.npy` says it (always for rows of any length)."""

    name: str
    count: int
    bytes: int
    checksum: str
    first: int | None
    stride: int | None
    rejected: int = 0
    """Pictures that would have become rows of it: room was made for them, too."""


@dataclass(frozen=True)
class SideFile:
    """A file beside the shards."""

    name: str
    bytes: int
    checksum: str


@dataclass(frozen=True)
class Target:
    """What `targets.npy` holds: `kind` class, int64 (N,); values, float32 (N, width); none, and no file.

    The manifest's `classes` name the classes in label order, or the columns of the values.
    """

    kind: str
    width: int


@dataclass(frozen=True)
class Decoding:
    """What was decided where a file's pixels leave a choice."""

    alpha: str = "white"
    """What transparency is laid over: white, black, or drop, which shows the colours that were hidden."""
    window: tuple[float, float] | None = None
    """The range of 16-bit levels that becomes black to white; None is all of it."""
    icc: str = "srgb"
    """srgb: colours are converted by the embedded profile; ignore: they are not, as in torchvision."""
    exact: bool = False
    """Whether JPEGs are never decoded at a reduced scale."""
    max_pixels: int = 89_478_485
    """Larger pictures are rejected, by their headers: Pillow's own limit for a warning."""


@dataclass(frozen=True)
class Jpeg:
    """How rows are coded, where they are JPEGs."""

    quality: int = 90
    """From 1 to 100, as libjpeg counts."""
    subsampling: str = "420"
    """420: colours at half the size, as in most files; 444: at full size."""
    passthrough: bool = False
    """Whether a source that already is such a JPEG was stored as it is."""


@dataclass(frozen=True)
class Manifest:
    """All that a reader needs to know. Checksums are SHA-256, in hex. No time, path or worker count is in it."""

    schema: int
    format: str
    options: dict[str, Any]
    encoding: str
    """raw: pixels; jpeg: each row is a JPEG file, and `lengths.npy` says how long."""
    jpeg: Jpeg | None
    count: int
    shape: tuple[int, int, int] | None
    """(H, W, C), or None where rows differ in size, which `sizes.npy` says."""
    dtype: str
    layout: str
    colour: str
    """RGB, or gray: one channel."""
    decoding: Decoding
    mean: tuple[float, ...]
    std: tuple[float, ...]
    normalized: bool
    resize: str
    side: int | None
    """The short or the long side of rows that differ in size; None where they have one shape."""
    upscale: bool
    """Whether smaller pictures were enlarged to that side."""
    filter: str
    target: Target
    classes: tuple[str, ...]
    order: str
    seed: int
    source: str
    pillow: dict[str, str]
    plan: str
    shards: tuple[Shard, ...]
    files: tuple[SideFile, ...]
    checksum: str = ""
    """Of all the rest, so that `prebake verify` notices whatever was changed."""

    def sealed(self) -> Manifest:
        """The same, with its checksum."""
        rest = dataclasses.replace(self, checksum="")
        return dataclasses.replace(self, checksum=hashlib.sha256(rest.to_json().encode()).hexdigest())

    def to_json(self) -> str:
        r"""One text for the same manifest; undecodable bytes in names appear as \\udcxx."""
        return json.dumps(dataclasses.asdict(self), indent=1) + "\n"

    @property
    def row(self) -> np.dtype[Any]:
        """The stored dtype, little-endian."""
        return np.dtype(self.dtype).newbyteorder("<")

    @property
    def channels(self) -> int:
        """3, or 1 for gray."""
        return COLOURS[self.colour]

    @property
    def row_nbytes(self) -> int:
        """Bytes of one row, where rows are raw and of one shape.

        Raises:
            ValueError: they are not.
        """
        if self.shape is None or self.encoding != "raw":
            raise ValueError("rows differ in length")
        height, width, channels = self.shape
        return height * width * channels * self.row.itemsize

    def to_levels(self, values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        """8-bit levels (..., C) from stored values (..., C): `(value * std + mean) * 255`, rounded; exact for every 8-bit level."""
        if self.dtype == "uint16":
            return np.asarray(np.rint(values.astype(np.float32) * np.float32(255 / 65535)).astype(np.uint8))
        if not self.normalized:
            return values.astype(np.uint8)
        std, mean = np.array(self.std, np.float32), np.array(self.mean, np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # a damaged row holds anything; nobody is helped by a warning for each
            levels = (values.astype(np.float32) * std + mean) * np.float32(255)
            return np.asarray(np.rint(levels).clip(0, 255).astype(np.uint8))
