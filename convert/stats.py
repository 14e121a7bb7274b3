"""`prebake stats`: mean and std per channel, of what would be baked or of what was."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from convert.auto import typed
from convert.errors import UsageError, counted, printable
from convert.image.resize import FREE
from convert.manifest import MANIFEST, read_manifest
from convert.plan import WORK
from convert.recipe import recipe_of
from convert.request import Request
from convert.resolve import resolve, settle
from convert.survey import count_rows, count_stored
from convert.tally import Tally
from convert.tasks import Crew


@dataclass(frozen=True)
class Figures:
    """Of all pixels of all rows; `mean` and `std` for levels from 0 to 1."""

    size: str
    """Of the rows, for a person."""
    tally: Tally
    notes: tuple[tuple[str, str], ...] = ()
    """What was found before: (title, text)."""

    def to_json(self) -> str:
        """One line, with all digits."""
        mean, std = self.tally.mean_std()
        return json.dumps({"count": self.tally.pictures, "rejected": dict(sorted(self.tally.rejected.items())), "mean": mean, "std": std})

    def to_text(self) -> str:
        """For a person, with a line to paste."""
        mean, std = self.tally.mean_std()
        rejected = self.tally.rejected
        why = ", ".join(f"{reason} {count:,}" for reason, count in sorted(rejected.items()))
        lines = [
            f"{counted(self.tally.pictures, 'picture')} at {self.size}",
            *([f"left out  {rejected.total():,} rejected: {why}"] if why else []),
            *(f"{title:<10}{text}" for title, text in self.notes),
            f"mean      {'  '.join(f'{value:.12f}' for value in mean)}",
            f"std       {'  '.join(f'{value:.12f}' for value in std)}",
            "",
            f"    --mean {typed(mean)} --std {typed(std)}",
        ]
        return "\n".join(lines)


def shown_size(size: tuple[int, int], resize: str) -> str:
    """What a row measures, in words."""
    return f"{resize} side {size[0]}" if resize in FREE else f"{size[0]}x{size[1]} (height x width)"


def is_bake(folder: Path) -> bool:
    """Whether a folder is a bake, whole or not, and no source."""
    whole = (folder / MANIFEST).is_file() and ((folder / "keys.bin").exists() or any(folder.glob("shard-*")))
    return whole or (folder / WORK).is_dir()


def of_bake(folder: Path, crew: Crew, flags: list[str]) -> Figures:
    """Of a bake's rows; `flags` are the options for a source that were given.

    Raises:
        PrebakeError: an unfinished or a damaged bake.
        UsageError: its rows are as they are.
    """
    manifest = read_manifest(folder)
    if flags:
        raise UsageError(f"{printable(folder)} is a bake, whose rows are as they are: leave {', '.join(flags)} out")
    return Figures(shown_size(recipe_of(manifest).size, manifest.resize), count_stored(folder, manifest, crew))


def of_source(request: Request) -> Figures:
    """Of the rows that a bake would have.

    Raises:
        PrebakeError: too many rejects, and all that `resolve` and `settle` raise.
    """
    plan, _ = resolve(request)
    plan = settle(request, plan)
    return Figures(shown_size(plan.recipe.size, plan.recipe.resize), count_rows(plan, request.crew), plan.notes)
