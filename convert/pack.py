"""Makes one shard: reads its files, bakes them, writes them, looks at what was written, and commits it by a rename."""

from __future__ import annotations

import errno
import hashlib
import os
from array import array
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from convert import journal
from convert.contracts import Array, Format, Offsets, RejectError, Sample, ShardSpec
from convert.errors import PrebakeError, printable
from convert.hashes import hash_of
from convert.image.bake import Bake, Baked
from convert.manifest import Shard
from convert.misnamed import misnamed
from convert.packed import Packed
from convert.plan import WORK, Plan
from convert.progress import Meter
from convert.reading import read_item
from convert.registry import load_format
from convert.work import load_work

FULL = (errno.ENOSPC, errno.EDQUOT)


def shard_name(number: int, format: Format) -> str:
    """The file's name: nothing of the source's, and no count of shards, which appending would change."""
    return f"shard-{number:05d}{format.suffix}"


def pack(out: Path, number: int, *, by_time: bool = True) -> Packed:
    """Make shard `number` of the plan in `out/.prebake`. Without `by_time`, a picture's time is no sign of a change.

    Raises:
        PrebakeError: the disk is full, a picture was changed or went away, or the shard does not hold what was written into it.
    """
    plan, bake = load_work(out / WORK)
    format = load_format(plan.format)
    name = shard_name(plan.first + number, format)
    partial = out / f"{name}.{os.getpid()}.partial"
    try:
        packed, ends = _write(partial, number, plan, bake, by_time=by_time)
        packed.shard = Shard(name, 0, 0, "", None, None, len(packed.rejects))
        if packed.items:
            lengths = np.full(len(packed.items), plan.recipe.pixels.nbytes) if packed.lengths is None else packed.lengths
            offsets = _locate(partial, format, lengths, ends)
            first, stride = _regular(offsets) if plan.recipe.pixels.even else (None, None)
            with partial.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                os.fsync(file.fileno())
            packed.shard = Shard(name, len(packed.items), partial.stat().st_size, digest, first, stride, len(packed.rejects))
            packed.offsets = offsets if stride is None else None
            partial.rename(out / name)
        else:
            (out / name).unlink(missing_ok=True)  # of a run whose pictures were better
        journal.note(out / WORK, number, vars(packed) | {"pillow": plan.pillow})
    except OSError as error:
        if error.errno in FULL:
            raise PrebakeError(
                f"{printable(out / name)}: disk full; make room, or bake less with --encoding jpeg, --dtype uint8 or a smaller --size"
            ) from error
        raise
    finally:
        partial.unlink(missing_ok=True)
    return packed


def _write(partial: Path, number: int, plan: Plan, bake: Bake, *, by_time: bool) -> tuple[Packed, list[bytes]]:
    """Bake a shard's items into a file. Also returns the first and the last row's bytes."""
    items = plan.items(number)
    packed = Packed(Shard("", 0, 0, "", None, None), None, [], np.empty((0, 2), np.int32), [], Counter())
    ends: list[bytes] = []
    last: Array | None = None
    hashes = bytearray()
    lengths, stored, sizes = array("q"), array("i"), array("i")  # of a million rows: no object each
    spec = ShardSpec(plan.first + number, plan.capacity(number), plan.recipe.pixels, plan.target)
    meter = Meter(partial.parent / WORK, number)
    try:
        with load_format(plan.format).write_shard(partial, spec, plan.options) as add:
            for done, item in enumerate(items.tolist(), 1):
                key = plan.keys[item]
                seen = Counter[str]()
                try:
                    data = read_item(Path(plan.root), key, plan.stamp_of(item), by_time=by_time)
                    digest = b"" if plan.dedupe == "off" else hash_of(data)  # first: the file is still in the CPU's cache
                    baked: Baked = bake(data, seen)
                except RejectError as error:
                    packed.rejects.append((item, error.reason, error.detail))
                    meter.reject((key, error.reason, error.detail))
                else:
                    last = baked.row
                    add(Sample(key, last, plan.target_of(item)))
                    packed.items.append(item)
                    packed.seen.update(seen)
                    packed.seen.update(misnamed(key, baked.format))
                    sizes.extend((baked.height, baked.width))
                    lengths.append(last.nbytes)
                    stored.extend(baked.size)
                    hashes += digest
                    if not ends:
                        ends.append(last.tobytes())
                meter.set(done, len(packed.rejects))
            if last is not None:
                ends.append(last.tobytes())
    finally:
        meter.close()
    packed.hashes = bytes(hashes)
    packed.sizes = np.array(sizes, np.int32).reshape(-1, 2)
    if not plan.recipe.pixels.even:
        packed.lengths, packed.stored = np.array(lengths, np.int64), np.array(stored, np.int32).reshape(-1, 2)
    return packed, ends


def _locate(partial: Path, format: Format, lengths: Offsets, ends: list[bytes]) -> Offsets:
    """Where the rows are, proved on the first and the last."""
    offsets = format.locate(partial, lengths)
    with partial.open("rb") as file:
        for offset, row in zip((offsets[0], offsets[-1]), ends, strict=True):
            file.seek(int(offset))
            if file.read(len(row)) != row:
                raise PrebakeError(f"{printable(partial)}: a row is not where it was located; please report this as a bug")
    return offsets


def _regular(offsets: npt.NDArray[np.int64]) -> tuple[int, int] | tuple[None, None]:
    """(first, stride) when rows stand at equal distances, one after the other, else (None, None).

    LMDB fills a page from its end, so tiny rows run backwards there.
    """
    if len(offsets) == 1:
        return int(offsets[0]), 0
    steps = np.diff(offsets)
    return (int(offsets[0]), int(steps[0])) if steps[0] > 0 and (steps == steps[0]).all() else (None, None)
