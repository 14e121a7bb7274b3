"""Puts shards that were made again in the place of bad ones: each at once, with a manifest that knows it, so that nothing made is lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from convert.again import Again
from convert.difference import both_versions
from convert.errors import counted
from convert.finish import commit
from convert.interrupts import signals_held_back
from convert.manifest import Manifest, Shard
from convert.packed import Packed
from convert.replace import sync


@dataclasses.dataclass
class Exchange:
    """What becomes of a bake while bad shards of it are made again."""

    again: Again
    bad: int
    """How many are."""
    now: Manifest
    """What the bake says of itself by now."""
    made: dict[int, Shard] = dataclasses.field(default_factory=dict)
    """Those that are in their place."""
    others: dict[int, str] = dataclasses.field(default_factory=dict)
    """Those that did not come out as they were, and why."""

    def take(self, bench: Path, number: int, packed: Packed) -> None:
        """Put a shard from the bench in its place, if it is what it was."""
        folder, old = self.again.folder, self.again.manifest.shards[number]
        if why := self.again.differs(number, packed):
            self.others[number] = why
            return
        shard = dataclasses.replace(packed.shard, rejected=old.rejected)
        with signals_held_back():
            if shard.count:
                (bench / old.name).rename(folder / old.name)
            else:
                (folder / old.name).unlink()
            sync(folder)
            if shard.checksum != old.checksum:  # of another Pillow
                shards = list(self.now.shards)
                shards[number] = shard
                pillow = both_versions(self.again.manifest.pillow, self.again.plan.pillow)
                self.now = dataclasses.replace(self.now, shards=tuple(shards), pillow=pillow)
                commit(folder, self.now)
            self.made[number] = shard

    @contextmanager
    def said_when_it_fails(self) -> Iterator[None]:
        """How far it came."""
        try:
            yield
        except BaseException as error:
            if self.made:
                error.add_note(f"{len(self.made)} of {counted(self.bad, 'bad shard')} made again, and in place: the same command goes on")
            elif self.bad:
                error.add_note("no shard was replaced")
            raise
