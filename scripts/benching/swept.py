"""What a sweep found: a table for each curve, and the best settings as code to paste."""

from __future__ import annotations

from collections.abc import Sequence

from benching.grid import options_of
from benching.settings import FOLDER, Settings
from benching.sweep import Swept
from benching.table import Section, number, spread
from benching.work import precision


def code(swept: Swept) -> str:
    """To paste."""
    options = options_of(swept.best)
    call = "DataLoader" if swept.name == FOLDER else "torch_loader"
    words = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{call}(dataset, {swept.best['batch_size']}, shuffle=True, {words})"


def asked(settings: Settings) -> str:
    """What was timed."""
    what = f"training {settings.model} on {settings.device}, {precision(settings)}" if settings.trains else "loader only"
    return f"{what}; batch {settings.batch}, augment {settings.augment}, warm page cache, up to {settings.epochs} rounds"


def sections(found: Sequence[Swept]) -> list[Section]:
    """A table for each setting of each contender."""
    return [
        Section(
            f"{one.name}, an epoch of {one.full:,} pictures",
            [coordinate, "epoch s", "+-%", "pict./s", "rounds"],
            [
                [
                    str(point.value),
                    number(point.epoch_s),
                    spread(min(point.rates), max(point.rates), point.pictures_per_s),
                    number(point.pictures_per_s),
                    str(len(point.rates)),
                ]
                for point in points
            ],
        )
        for one in found
        for coordinate, points in one.curves.items()
        if points
    ]


def best(found: Sequence[Swept]) -> list[str]:
    """Why some were not tried, and the best of each."""
    lines = []
    for one in found:
        lines += [f"{one.name}, not tried further: {reason}" for reason in one.stopped]
        if one.rate:
            lines += [f"{one.name}, the best, {one.rate:,.0f} pictures/s:", f"    {code(one)}"]
    return lines or ["Nothing was tried."]
