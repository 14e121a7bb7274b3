"""The work folder as a worker sees it: the plan, and what follows its recipe, read once for each process."""

from __future__ import annotations

import functools
from pathlib import Path

from convert.errors import PrebakeError
from convert.image.bake import Bake
from convert.image.pillow import pillow_versions
from convert.plan import PLAN, Plan


def load_work(work: Path) -> tuple[Plan, Bake]:
    """The plan in a work folder, and what follows its recipe.

    Raises:
        PrebakeError: another Pillow is installed here than where the plan was made.
    """
    info = (work / PLAN).stat()
    return _load(work, (info.st_ino, info.st_mtime_ns))


@functools.lru_cache(maxsize=1)
def _load(work: Path, stamp: tuple[int, int]) -> tuple[Plan, Bake]:
    """The plan, once for each process; the stamp tells two plans in one place apart."""
    del stamp
    plan = Plan.load(work)
    if (here := pillow_versions()) != plan.pillow:
        raise PrebakeError(
            f"the plan was made with {plan.pillow}, but this worker has {here}: their pixels may differ; use one environment"
        )
    return plan, Bake(plan.recipe)
