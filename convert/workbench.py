"""Where the new shards of `--append` are made, `.prebake/append`: what an earlier run made there stays if it is of these very files."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import numpy as np

from convert.already import finished
from convert.begun import check_begun
from convert.changes import check_contents
from convert.clearing import clear
from convert.errors import PrebakeError
from convert.intact import check_intact
from convert.output import APPEND
from convert.plan import WORK, Plan
from convert.source import Source
from convert.stock import Trust
from convert.tasks import Crew


def timed(plan: Plan, trust: Trust) -> Plan:
    """The plan, its source known by its files' times, too: shards that are all there have no other memory of them.

    With `check_source` times mean nothing.
    """
    if trust.check_source:
        return plan
    digest = hashlib.sha256(plan.source.encode())
    digest.update(np.asarray(plan.stamps).tobytes())
    return dataclasses.replace(plan, source=digest.hexdigest())


def begun(out: Path, plan: Plan, source: Source, *, crew: Crew, trust: Trust) -> tuple[Path, Trust | None, bool]:
    """Where the new shards are made, whether what is there goes on, and whether they are all there.

    What is of other pictures, was changed, or was made of pictures that were changed since, is removed: nothing of it is in the bake.
    """
    bench = out / WORK / APPEND
    try:
        made = finished(bench, plan, overwrite=False)
        if made is None:
            return bench, trust if check_begun(bench, plan, trust) else None, False
        check_intact(bench, made, deep=trust.deep)
        if trust.check_source:
            check_contents(bench, source, crew, "they are made again")
    except PrebakeError:
        (bench / WORK).mkdir(exist_ok=True)
        clear(bench)
        return bench, None, False
    return bench, None, True
