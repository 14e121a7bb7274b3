"""What a sweep found, for a terminal: the curves, and the best settings as code to paste."""

from __future__ import annotations

from collections.abc import Sequence

from benching.settings import FOLDER
from benching.sweep import Swept, options_of


def code(swept: Swept) -> str:
    """To paste."""
    options = options_of(swept.best)
    call = "DataLoader" if swept.name == FOLDER else "torch_loader"
    words = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{call}(dataset, {swept.best['batch_size']}, shuffle=True, {words})"


def report(found: Sequence[Swept]) -> str:
    """For a terminal."""
    lines = []
    for one in found:
        lines.append(f"{one.name}: {one.rate:,.0f} pictures/s at best")
        for coordinate, points in one.curves.items():
            lines.append(f"  {coordinate:<16}" + "  ".join(f"{value}: {rate:,.0f}" for value, rate in points))
        lines += [f"  not tried further: {reason}" for reason in one.stopped]
        lines += [f"  {code(one)}", ""]
    return "\n".join(lines)
