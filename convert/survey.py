"""Goes over all pictures once and counts their pixels' levels: where they are to be baked, or in a bake. Writes nothing there."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from convert import progress
from convert.contracts import Array, RejectError
from convert.image.code import as_pixels
from convert.image.decode import decode_wide
from convert.image.segments import SOI
from convert.interrupts import signals_held_back
from convert.manifest import Manifest
from convert.plan import Plan
from convert.reading import read_item, read_start
from convert.stamp import Stamp
from convert.stored import Stored
from convert.tally import Tally
from convert.tasks import Crew, bar, check_process, nothing_baked, run_shards
from convert.work import load_work


def count_rows(plan: Plan, crew: Crew) -> Tally:
    """Count the levels of the rows that a plan would bake, before they are normalised; rejected pictures are left out.

    Raises:
        PrebakeError: too many rejects, or nothing but rejects.
    """
    dtype = "uint16" if plan.recipe.dtype == "uint16" else "uint8"
    return _over_source(dataclasses.replace(plan, recipe=dataclasses.replace(plan.recipe, dtype=dtype)), _rows, crew)


def count_wide(plan: Plan, crew: Crew) -> Tally:
    """Count the levels of all 16-bit grey pictures at their full size, one channel; `pictures` is how many those are.

    Raises:
        PrebakeError: too many rejects.
    """
    return _over_source(plan, _wide, crew)


def count_stored(folder: Path, manifest: Manifest, crew: Crew) -> Tally:
    """Count the levels of a bake's rows: the very numbers that `count_rows` gives for its source.

    Raises:
        PrebakeError: a damaged bake.
    """
    check_process()
    tally = Tally()
    with work_folder() as work:
        function, shards = functools.partial(_stored, folder, manifest, work), len(manifest.shards)
        progress.create(work, shards)
        with bar(work, manifest.count, crew, "looking") as tick:
            run_shards(function, range(shards), crew, take=lambda _, part: tally.merge(part), tick=tick)
    return tally


def _over_source(plan: Plan, look: Callable[[Path, int], Tally], crew: Crew) -> Tally:
    check_process()
    tally = Tally()
    with work_folder() as work:
        plan.save(work)
        progress.create(work, plan.shards)
        with bar(work, len(plan.keys), crew, "looking") as tick:
            run_shards(functools.partial(look, work), range(plan.shards), crew, take=lambda _, part: tally.merge(part), tick=tick)
        if tally.rejected.total() == len(plan.keys):
            raise nothing_baked(plan, work)
    return tally


@contextmanager
def work_folder() -> Iterator[Path]:
    """A temporary folder; it goes, whatever happens."""
    with signals_held_back():
        folder = tempfile.TemporaryDirectory(prefix="prebake-")
    with folder as name:
        yield Path(name)


def _rows(work: Path, number: int) -> Tally:
    """A shard's rows, as levels."""
    plan, bake = load_work(work)
    pixels = plan.recipe.pixels
    return _look(work, plan, number, lambda key, stamp: as_pixels(bake(read_item(Path(plan.root), key, stamp, by_time=False)).row, pixels))


def _wide(work: Path, number: int) -> Tally:
    """A shard's 16-bit pictures."""
    plan, _ = load_work(work)
    root = Path(plan.root)

    def levels(key: str, stamp: Stamp | None) -> Array | None:
        if read_start(root, key, len(SOI), stamp, by_time=False) == SOI:  # a JPEG has 8 bits
            return None
        picture = decode_wide(read_item(root, key, stamp, by_time=False), plan.recipe.decoding)
        return None if picture is None else picture[:, :, np.newaxis]

    return _look(work, plan, number, levels)


def _look(work: Path, plan: Plan, number: int, levels: Callable[[str, Stamp | None], Array | None]) -> Tally:
    """Count what `levels` makes of each file of a shard, by its key and its stamp."""
    tally = Tally()
    with closing(progress.Meter(work, number)) as meter:
        for done, item in enumerate(plan.items(number).tolist(), 1):
            key = plan.keys[item]
            try:
                picture = levels(key, plan.stamp_of(item))
            except RejectError as error:
                tally.rejected[error.reason] += 1
                meter.reject((key, error.reason, error.detail))
            else:
                if picture is not None:
                    tally.add(picture)
            meter.set(done, tally.rejected.total())
    return tally


def _stored(folder: Path, manifest: Manifest, work: Path, number: int) -> Tally:
    """A shard of a bake."""
    tally = Tally()
    with closing(progress.Meter(work, number)) as meter:
        for done, row in enumerate(Stored(folder, manifest).shard(number), 1):
            tally.add(row if manifest.dtype == "uint16" else manifest.to_levels(row))
            meter.set(done, 0)
    return tally
