"""A progress bar on a terminal, nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm


@contextmanager
def counting(total: int, doing: str, unit: str, *, hidden: bool = False, initial: int = 0) -> Iterator[tqdm[Any]]:
    """Yields a bar, whose `update` is told how many more of the `total` are done."""
    from tqdm import tqdm  # `prebake --help` must start at once

    shown = True if hidden else None
    with tqdm(total=total, initial=initial, desc=doing, unit=f" {unit}", disable=shown, dynamic_ncols=True, smoothing=0.1) as bar:
        yield bar
