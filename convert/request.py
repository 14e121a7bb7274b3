"""What a user asked for: the arguments of one bake."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from convert.errors import UsageError
from convert.labels.asked import Asked
from convert.tasks import Crew


@dataclass
class Request:
    """The arguments of one bake; None where the user said nothing."""

    source: Path
    out: Path | None
    format: str
    options: dict[str, Any] = field(default_factory=dict)
    recipe: dict[str, Any] = field(default_factory=dict)
    like: Path | None = None
    classes: Path | None = None
    classes_are_folders: bool = False
    order: str = "shuffled"
    seed: int = 0
    shard_size: int | None = None
    shards: int | None = None
    labels: Path | None = None
    path: str | None = None
    label: str | None = None
    target: tuple[str, ...] | None = None
    label_sep: str | None = None
    label_map: Path | None = None
    without_boxes: bool = False
    mean_std: str | None = None
    """`auto`: mean and std are those of the pictures."""
    dedupe: str = "report"
    names: tuple[str, ...] | None = None
    """The classes in label order, where they are settled already."""
    crew: Crew = field(default_factory=Crew)
    """Who looks at the pictures, where something is left to them."""

    @property
    def table(self) -> Asked | None:
        """The table of labels, and how it is to be read.

        Raises:
            UsageError: options that need one, or contradict each other.
        """
        if self.labels is not None:
            return Asked(self.labels, self.path, self.label, self.target, self.label_sep, self.label_map)
        for name in ("path", "label", "target", "label_sep", "label_map"):
            if getattr(self, name) is not None:
                raise UsageError(f"--{name.replace('_', '-')} says how to read a table: it goes with --labels FILE")
        return None

    @property
    def left_open(self) -> tuple[str, ...]:
        """What is left to the pictures: of window, mean and std. A plan has it only once it was settled."""
        window = ("window",) if self.recipe.get("window") == "auto" else ()
        return window + (("mean", "std") if self.mean_std == "auto" else ())
