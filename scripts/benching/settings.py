"""What was asked of the bench."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = "folder"
MODELS = ("resnet18", "resnet50", "mobilenet_v3_small", "none")
SIZE, CROP = 256, 224
"""Sides of a row, and of the crop that is trained on."""


@dataclass(frozen=True)
class Settings:
    """All options, as settled."""

    data: Path | None
    baked: tuple[Path, ...]
    formats: tuple[str, ...]
    dtypes: tuple[str, ...]
    """Of raw rows."""
    loader: str
    """prebake, dataloader or both."""
    model: str
    device: str
    batch: int
    augment: str
    """crop: random 224 out of 256, and flip. rrc: RandomResizedCrop(224), and flip."""
    amp: bool
    channels_last: bool
    epochs: int
    """Rounds; each row is timed once in each."""
    samples: int
    cold: bool
    workers: int
    """Of the folder when tuned."""
    encodings: tuple[str, ...] = ("raw",)
    plain: bool = False
    """Whether bakes also go through a DataLoader without workers."""
    size: int = SIZE
    crop: int = CROP
    seconds: float = 1.0
    """The least that is timed at once."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of the rows to bake: dtypes, and jpeg."""
        return (*(self.dtypes if "raw" in self.encodings else ()), *(("jpeg",) if "jpeg" in self.encodings else ()))

    @property
    def trains(self) -> bool:
        """Whether there are rows with a model."""
        return self.model != "none"
