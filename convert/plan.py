"""What is to be made, written down once: every worker reads it, and a task is a shard's number."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.hashes import Inventory
from convert.image.bake import Recipe
from convert.labels.targets import Targets
from convert.manifest import Keys, Target, load_array, regular
from convert.manifest.fields import need
from convert.order import permutation
from convert.planned import plan_fields
from convert.replace import all_replaced
from convert.stamp import Stamp

WORK = ".prebake"
PLAN = "plan.json"
POSITIONS, TARGETS, STAMPS, RANGES = "positions.npy", "targets.npy", "stamps.npy", "ranges.npy"
SHARD_BYTES = 256 << 20
ROWS, MOST = 64, 256


def shard_count(items: int, row_nbytes: int) -> int:
    """How many shards: a function of the data set alone, so that the output does not depend on the workers."""
    return min(items, max(-(-items * row_nbytes // SHARD_BYTES), min(MOST, -(-items // ROWS))))


@dataclass(frozen=True)
class Plan:
    """A bake before it is made. Items are in the source's order; `order` says which stands at each position."""

    root: str
    format: str
    options: dict[str, Any]
    recipe: Recipe
    target: Target
    classes: tuple[str, ...]
    order: str
    seed: int
    shards: int
    source: str
    labelling: str
    """SHA-256 of targets and columns that came from a table, else empty: a folder's name is in the keys."""
    pillow: dict[str, str]
    keys: Keys = dataclasses.field(repr=False, compare=False)
    targets: Targets | None = dataclasses.field(repr=False, compare=False)
    """For each item: int64 (N,) labels, or float32 (N, K) values."""
    columns: dict[str, list[str]] = dataclasses.field(repr=False, compare=False)
    """A table's columns, for `samples.csv`: a text for each item. Workers need none of it."""
    first: int = 0
    """Number of the first shard: above 0 where shards are added to a bake."""
    ranges: npt.NDArray[np.int64] | None = dataclasses.field(default=None, repr=False, compare=False)
    """For each shard (S, 3): the positions of its rows, from, up to, and for how many it has room; None: divided alike."""
    stamps: npt.NDArray[np.int64] | None = dataclasses.field(default=None, repr=False, compare=False)
    """For each item (N, 2): size and time of its file, by which a change is noticed; None: nobody looks."""
    dedupe: str = "report"
    """report: duplicates are looked for; off: they are not."""
    compared: str = ""
    """The identity of the bake that they are looked for in, besides this one: it decides what `duplicates.csv` says."""
    other: Inventory | None = dataclasses.field(default=None, repr=False, compare=False)
    """That bake's pictures. Workers need none of it."""
    notes: tuple[tuple[str, str], ...] = dataclasses.field(default=(), compare=False)
    """What was found while planning, for a person: (title, text)."""

    def facts(self) -> dict[str, Any]:
        """All that decides the output's bytes, as JSON; where the source lies does not."""
        apart = ("root", "keys", "targets", "columns", "ranges", "stamps", "other", "notes")
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in apart}
        facts = fields | {"recipe": dataclasses.asdict(self.recipe), "target": dataclasses.asdict(self.target)}
        return dict(json.loads(json.dumps(facts)))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the facts, in hex."""
        return hashlib.sha256(json.dumps(self.facts(), sort_keys=True).encode()).hexdigest()

    def bounds(self, shard: int) -> tuple[int, int]:
        """The positions of one shard: from, up to."""
        if self.ranges is not None:
            return int(self.ranges[shard, 0]), int(self.ranges[shard, 1])
        return shard * len(self.keys) // self.shards, (shard + 1) * len(self.keys) // self.shards

    def capacity(self, shard: int) -> int:
        """For how many rows a shard has room."""
        start, stop = self.bounds(shard)
        return stop - start if self.ranges is None else int(self.ranges[shard, 2])

    @functools.cached_property
    def positions(self) -> npt.NDArray[np.int64]:
        """The item at each position."""
        return permutation(len(self.keys), self.seed) if self.order == "shuffled" else np.arange(len(self.keys), dtype=np.int64)

    def items(self, shard: int) -> npt.NDArray[np.int64]:
        """The items of one shard, in the order of its rows."""
        start, stop = self.bounds(shard)
        return self.positions[start:stop]

    def target_of(self, item: int) -> int | tuple[float, ...] | None:
        """An item's label, or its values."""
        if self.targets is None:
            return None
        target = self.targets[item].tolist()
        return target if isinstance(target, int) else tuple(target)

    def stamp_of(self, item: int) -> Stamp | None:
        """Size and time of an item's file when the plan was made."""
        return None if self.stamps is None else (int(self.stamps[item, 0]), int(self.stamps[item, 1]))

    def save(self, folder: Path) -> None:
        """Write it into `.prebake`."""
        with all_replaced(folder) as partial:
            self.keys.save(partial)
            arrays = {POSITIONS: self.positions, TARGETS: self.targets, STAMPS: self.stamps, RANGES: self.ranges}
            for name, array in arrays.items():
                if array is not None:
                    np.save(partial / name, array, allow_pickle=False)
            (partial / PLAN).write_text(json.dumps(self.facts() | {"root": self.root}, indent=1), "utf-8")

    @classmethod
    def load(cls, folder: Path) -> Plan:
        """Read it back; the arrays are mapped, not read.

        Raises:
            OSError: a file cannot be read, or is no regular file.
            ValueError, KeyError, TypeError, PrebakeError: one holds something else.
        """
        keys = Keys.load(folder)

        def mapped(name: str, dtype: Any, rest: tuple[int, ...] = (), rows: int = len(keys)) -> npt.NDArray[Any] | None:
            if not (folder / name).exists():
                return None
            array = load_array(folder / name)
            need(array.dtype == dtype and array.shape == (rows, *rest), f"{name} holds {array.dtype} {array.shape}")
            return array

        fields = plan_fields(regular(folder / PLAN).read_text("utf-8"))
        target = fields["target"]
        kind, rest = (np.float32, (target.width,)) if target.kind == "values" else (np.int64, ())
        stamps, ranges = mapped(STAMPS, np.int64, (2,)), mapped(RANGES, np.int64, (3,), fields["shards"])
        plan = cls(**fields, keys=keys, targets=mapped(TARGETS, kind, rest), columns={}, stamps=stamps, ranges=ranges)
        plan.__dict__["positions"] = mapped(POSITIONS, np.int64)
        return plan
