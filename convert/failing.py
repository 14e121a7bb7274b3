"""What becomes of a run that fails: what it finished stays, and the reason is one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from convert import journal
from convert.clearing import clear, sweep
from convert.errors import PrebakeError, counted, printable
from convert.manifest import MANIFEST
from convert.pack import FULL
from convert.packed import restored
from convert.plan import WORK


@contextmanager
def kept_when_it_fails(out: Path, shards: int) -> Iterator[None]:
    """Finished shards stay; where there are none, all goes that is ours."""
    try:
        yield
    except BaseException as error:
        with suppress(OSError):  # what went wrong matters more
            found = journal.read(out / WORK)
            lines = [] if found is None else [restored(fields) for fields in found[1].values()]
            made = [packed for packed in lines if packed is not None and packed.shard.count]
            if (out / MANIFEST).exists():
                error.add_note(f"{printable(out)} is complete")
            elif made:
                sweep(out)
                error.add_note(f"{len(made)} of {counted(shards, 'shard')} kept: the next run goes on")
            else:
                clear(out)
                if isinstance(error, KeyboardInterrupt):
                    error.add_note("nothing unfinished was kept")
        raise


@contextmanager
def said_as_one_line(out: Path) -> Iterator[None]:
    """What the system has against writing beside the shards."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise PrebakeError(f"{printable(out)}: disk full; make room, or choose an OUT on another disk") from error
        raise PrebakeError(f"{printable(out)}: {printable(error)}") from error
