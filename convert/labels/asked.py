"""What a user says of a table of labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from convert.errors import UsageError


@dataclass(frozen=True)
class Asked:
    """The options that go with `--labels`; None where the user said nothing."""

    file: Path
    path: str | None = None
    label: str | None = None
    target: tuple[str, ...] | None = None
    separator: str | None = None
    label_map: Path | None = None

    @property
    def kind(self) -> str:
        """Of the targets: class or values."""
        return "class" if self.target is None and self.separator is None else "values"

    def check(self) -> None:
        """Raise a UsageError when options contradict each other."""
        if self.target is not None and (self.label, self.separator, self.label_map) != (None, None, None):
            raise UsageError("--target stores columns as values: leave --label, --label-sep and --label-map out")
        if self.separator == "":
            raise UsageError("--label-sep is empty: give what stands between two labels, such as '|'")
