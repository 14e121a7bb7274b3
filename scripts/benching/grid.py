"""Which settings of torch's DataLoader a sweep tries, and how DataLoader takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convert.errors import UsageError

NAMES = ("num_workers", "prefetch_factor", "batch_size", "pin_memory")
Grid = dict[str, list[int]]
"""Values of each setting, in the order in which they are tried."""


def parse(words: Sequence[str]) -> Grid:
    """`num_workers=0,1,2` and so on, in the order given.

    Raises:
        UsageError: another name, or no numbers.
    """
    found: Grid = {}
    for word in words:
        name, _, values = word.partition("=")
        numbers = values.split(",")
        if name not in NAMES or not all(number.isascii() and number.isdigit() for number in numbers):
            raise UsageError(f"--sweep {word}: write NAME=0,1,2 with one of {', '.join(NAMES)}")
        found[name] = list(dict.fromkeys(map(int, numbers)))
    if 0 in found.get("prefetch_factor", []) or 0 in found.get("batch_size", []):
        raise UsageError("--sweep: prefetch_factor and batch_size begin at 1")
    return found


def options_of(tried: dict[str, int]) -> dict[str, Any]:
    """As DataLoader takes them: without workers nothing is prefetched, and nothing persists."""
    options: dict[str, Any] = dict(tried)
    options["pin_memory"] = bool(options["pin_memory"])
    del options["batch_size"]  # goes by the settings
    if options["num_workers"]:
        options["persistent_workers"] = True
    else:
        options.pop("prefetch_factor", None)
    return options
