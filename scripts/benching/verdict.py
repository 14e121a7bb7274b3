"""Says in a sentence what the figures mean: what holds training up, and whether baking is worth it."""

from __future__ import annotations

from typing import Any

from benching.contenders import WHOLE
from benching.results import best_folder

BOUND = 0.95
"""The share of the upper bound from which on the model is what limits."""
NEAR = 0.05
"""Rows this close to the fastest are as good."""
SMALL = 0.25
"""Rows of less than this part of the fastest one's bytes are worth a word, however slow they are."""
UNSTEADY = 0.2
"""How far rounds may lie from their median before the figures are called unsteady."""


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _size(row: dict[str, Any], other: dict[str, Any]) -> str:
    return f"{row['bytes'] / other['bytes']:.2g} times as large"


def _fastest(rows: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return max(rows, key=lambda row: row[kind]["pictures_per_s"])


def _smaller(rows: list[dict[str, Any]], best: dict[str, Any], kind: str) -> str:
    """The smallest row that is nearly as fast, if it is smaller than the fastest by a tenth; else the fastest that is much smaller."""
    rate = best[kind]["pictures_per_s"]
    near = [row for row in rows if row[kind]["pictures_per_s"] > (1 - NEAR) * rate and row["bytes"] < 0.9 * best["bytes"]]
    small = [row for row in rows if row["bytes"] < SMALL * best["bytes"]]
    if not near and not small:
        return ""
    row = min(near, key=lambda row: row["bytes"]) if near else _fastest(small, kind)
    return f" {row['name']} is {_size(row, best)} and {_percent(1 - row[kind]['pictures_per_s'] / rate)} slower."


def verdict(told: dict[str, Any]) -> str:
    """From what was measured."""
    worst, over = _unsteady(told)
    return _said(told) + (" A first impression only: run it again on a quiet machine." if worst > UNSTEADY or over > 1 + NEAR else "")


def _said(told: dict[str, Any]) -> str:
    rows, where = told["rows"], "GPU" if told["machine"]["gpu"] else "CPU"
    kind = "training" if told["bound"] else "loader_only"
    baked = [row for row in rows if not row["role"] and row[kind]]
    folder = best_folder(rows, kind)
    if not baked:
        return _folder_alone(folder)
    best = _fastest(baked, kind)
    if not told["bound"]:
        return _loaders(baked, folder)
    share = best["training"]["of_bound"]
    if folder is not None and folder["training"]["of_bound"] >= BOUND:
        here = _percent(folder["training"]["of_bound"])
        return f"Do not bake for this model and machine: the {_named(folder)} already reaches {here} of the upper bound."
    if folder is not None and best["training"]["speedup"] < 1 + NEAR:
        return f"Do not bake for this model and machine: no bake is faster than the {_named(folder)} by more than {_percent(NEAR)}."
    start = f"{where}-bound with {best['name']}" if share >= BOUND else f"Even {best['name']}, the fastest, is held up by its data"
    if where == "CPU" and share < BOUND:
        start = f"{best['name']} is fastest, beside a model that shares the cores with it"
    text = f"{start}: {_percent(share)} of the upper bound"
    if folder is not None:
        text += f"; the {_named(folder)} reaches {_percent(folder['training']['of_bound'])}"
    return text + "." + _paid(best) + _smaller(baked, best, "training") + _too_large(baked, best, "training")


def _named(folder: dict[str, Any]) -> str:
    """The folder's row, in a sentence."""
    return "tuned folder" if folder["role"] == "tuned" else "folder with DataLoader's defaults"


def _folder_alone(folder: dict[str, Any] | None) -> str:
    text = "No bake was measured: there is nothing to compare the folder with."
    if folder is None or not folder["training"]:
        return text
    return f"{text} The {_named(folder)} reaches {_percent(folder['training']['of_bound'])} of the upper bound."


def _too_large(rows: list[dict[str, Any]], row: dict[str, Any], kind: str) -> str:
    """What warm figures are worth where the full set cannot stay in memory, and the fastest row that can."""
    if row["fits_ram"]:
        return ""
    fits = [other for other in rows if other["fits_ram"]]
    other = _fastest(fits, kind) if fits else None
    cold = f"about {row['cold']['pictures_per_s']:,.0f} pictures/s, the cold figure" if row["cold"] else "less; --cold measures it"
    instead = "" if other is None else f" {other['name']} fits: {other[kind]['pictures_per_s']:,.0f} pictures/s."
    return f" All of {row['name']} does not fit the memory: expect {cold}.{instead}"


def _loaders(baked: list[dict[str, Any]], folder: dict[str, Any] | None) -> str:
    best = _fastest(baked, "loader_only")
    if folder is not None and best["loader_only"]["speedup"] < 1 + NEAR:
        return f"Do not bake on this machine: no bake is faster than the {_named(folder)} by more than {_percent(NEAR)}."
    text = f"Without a model, {best['name']} is fastest: {best['loader_only']['pictures_per_s']:,.0f} pictures/s"
    if folder is not None:
        text += f", {best['loader_only']['speedup']:.1f} times the {_named(folder)}"
    return text + "." + _paid(best) + _smaller(baked, best, "loader_only") + _too_large(baked, best, "loader_only")


def notes(told: dict[str, Any]) -> list[str]:
    """What makes the figures less sure than they look."""
    found = []
    worst, over = _unsteady(told)
    if worst > UNSTEADY:
        found.append(f"this machine was not quiet: rounds lie up to {_percent(worst)} from their median; small differences mean nothing.")
    if over > 1 + NEAR:
        found.append("rows lie above the upper bound, which is measured in the same rounds: figures of training are no better than that.")
    whole = [row["name"] for row in told["rows"] if row["setup"].endswith(WHOLE)]
    if whole:
        found.append(f"rows as small as the crop are {WHOLE}, which is less work: {', '.join(whole)}.")
    if any(row["cold"] and row["cold"]["stayed_warm"] for row in told["rows"]):
        found.append("some pages could not be dropped: rows marked WARM are not cold.")
    if told["machine"]["gpu"] is None and told["bound"]:
        found.append("on a CPU the model and the loaders share the cores; the model has one thread less than there are cores.")
    return found + _doubts(told)


def _doubts(told: dict[str, Any]) -> list[str]:
    """What was not measured, though it may look so."""
    found = []
    large = [row["name"] for row in told["rows"] if not row["fits_ram"]]
    if large:
        found.append(f"the full set does not fit the memory, and warm figures are of pictures that do: {', '.join(large)}.")
    short = [row["name"] for row in told["rows"] if row["cold"] and min(done["seconds"] for done in row["cold"]["rounds"]) < 1]
    if short:
        found.append("cold passes took less than a second, and much of that is starting: take more --samples for figures of the disk.")
    if told["one_class"]:
        found.append("all labels are equal, so that their checksum proves the number of pictures, not their order.")
    return found


def _unsteady(told: dict[str, Any]) -> tuple[float, float]:
    """How far a round lies from its row's median, and the largest share of the upper bound."""
    timed = [one for row in told["rows"] for one in (row["loader_only"], row["training"]) if one]
    worst = max(abs(limit / one["epoch_s"] - 1) for one in timed for limit in one["epoch_s_spread"])
    return worst, max([one["of_bound"] for one in timed if "of_bound" in one], default=0.0)


def _paid(row: dict[str, Any]) -> str:
    epochs = row["pays_after_epochs"]
    return "" if epochs is None else f" Baking has paid after {epochs} epoch{'' if epochs == 1 else 's'}."
