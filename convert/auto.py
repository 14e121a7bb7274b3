"""Settles what was left to the pictures, `--window auto` and `--mean-std auto`: the plan is then as if the numbers had been typed."""

from __future__ import annotations

import dataclasses
from typing import Any

from convert.errors import UsageError, counted
from convert.plan import Plan
from convert.survey import count_rows, count_wide
from convert.tally import OUTSIDE
from convert.tasks import Crew

DIGITS = 6
"""Decimals of a mean and a std that were found: what people type, and far finer than any picture's level."""


def settle_window(plan: Plan, crew: Crew) -> Plan:
    """Find one range for all 16-bit grey pictures.

    Raises:
        PrebakeError: too many rejects.
        UsageError: they have one level.
    """
    tally = count_wide(plan, crew)
    found = tally.window()
    if found is None:
        return _settled(plan, "window", "auto: no 16-bit grey pictures, so there is none", decoding=plan.recipe.decoding)
    low, high = found
    if low == high:
        raise UsageError(f"--window auto: nearly all 16-bit pixels have the level {low}, which is no range: give --window LO:HI")
    decoding = dataclasses.replace(plan.recipe.decoding, window=(float(low), float(high)))
    text = f"{low}:{high} (auto, {counted(tally.pictures, '16-bit picture')}; 1 in {OUTSIDE:,} pixels beyond either)"
    return _settled(plan, "window", text, decoding=decoding)


def settle_mean_std(plan: Plan, crew: Crew) -> Plan:
    """Find mean and std of the rows.

    Raises:
        PrebakeError: too many rejects.
        UsageError: a channel has one level.
    """
    tally = count_rows(plan, crew)
    mean, std = (tuple(round(value, DIGITS) for value in values) for values in tally.mean_std())
    if not min(std):
        raise UsageError(f"--mean-std auto: a channel has one level in all pictures, so std is 0 ({typed(std)}): give --mean and --std")
    after = _settled(plan, "mean", f"{typed(mean)} (auto, {counted(tally.pictures, 'picture')}, {DIGITS} decimals)", mean=mean, std=std)
    after.recipe.check()
    return dataclasses.replace(after, notes=(*after.notes, ("std", typed(std))))


def typed(values: tuple[float, ...]) -> str:
    """As one types it: `0.481234,0.457512,0.408123`."""
    return ",".join(f"{value:.{DIGITS}f}" for value in values)


def _settled(plan: Plan, title: str, text: str, **recipe: Any) -> Plan:
    return dataclasses.replace(plan, recipe=dataclasses.replace(plan.recipe, **recipe), notes=(*plan.notes, (title, text)))
