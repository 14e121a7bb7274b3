"""Makes figures out of what was timed: one table of plain numbers, which all output is made from."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benching.clocks import PARTS, shares
from benching.cold import STAYED
from benching.epochs import Timed
from benching.feeds import Contender
from convert.machine import memory


def _median(rounds: Sequence[Timed], of: Callable[[Timed], float]) -> float:
    return statistics.median(of(one) for one in rounds)


def figures(rounds: Sequence[Timed], full: int) -> dict[str, Any]:
    """Of one row, all rounds; epochs are those of `full` pictures."""
    epochs = [full * one.seconds / one.pictures for one in rounds]
    steps = {name: np.concatenate([one.steps[name] for one in rounds]) for name in PARTS}
    wait = steps["waiting"] * 1e3
    return {
        "epoch_s": statistics.median(epochs),
        "epoch_s_spread": [min(epochs), max(epochs)],
        "pictures_per_s": full / statistics.median(epochs),
        "rounds": [{"seconds": one.seconds, "pictures": one.pictures} for one in rounds],
        "shares": shares(steps),
        "wait_ms": {"median": float(np.median(wait)), "p95": float(np.percentile(wait, 95)), "max": float(wait.max())},
        "first_batch_s": _median(rounds, lambda one: one.first_batch),
        "cpu_s_per_1000": _median(rounds, lambda one: 1000 * one.cpu / one.pictures),
        "disk_mb_per_s": _median(rounds, lambda one: one.disk / one.seconds / 1e6),
        "memory": max(one.own for one in rounds),
        "mapped": max(one.mapped for one in rounds),
        "gpu": _gpu([one.gpu for one in rounds]),
        "labels": sorted({one.labels for one in rounds}),
    }


def _gpu(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    """What a GPU said in the rounds in which it did: the median of how busy it was, and the most memory."""
    names = {name for one in rounds for name in one}
    said = {name: [one[name] for one in rounds if name in one] for name in sorted(names)}
    return {name: statistics.median(numbers) if name == "utilisation" else max(numbers) for name, numbers in said.items()}


def cold_figures(rounds: Sequence[Timed], full: int) -> dict[str, Any]:
    """Of cold epochs; they stayed warm where pages could not be dropped."""
    there = max(one.resident for one in rounds)
    return figures(rounds, full) | {"resident_before": there, "stayed_warm": there > STAYED}


def pays_after(bake_s: float, folder_s: float, epoch_s: float) -> int | None:
    """Epochs until baking has paid for itself; None where it never does."""
    return math.ceil(bake_s / (folder_s - epoch_s)) if epoch_s < folder_s else None


def row(contender: Contender, measured: int, full: int) -> dict[str, Any]:
    """What is known of a contender before it is timed."""
    scale = full / measured
    bake = contender.bake_seconds
    conversion = None if bake is None else {"seconds": bake, "pictures_per_s": measured / bake, "full_seconds": bake * scale}
    full_bytes = round(contender.nbytes * scale)
    return {
        "name": contender.name,
        "format": contender.format,
        "kind": contender.kind,
        "loader": contender.loader,
        "setup": contender.setup,
        "role": contender.role,
        "bytes": contender.nbytes,
        "full_bytes": full_bytes,
        "fits_ram": full_bytes < 0.8 * memory(),
        "conversion": conversion,
        "loader_only": None,
        "training": None,
        "cold": None,
        "pays_after_epochs": None,
    }


def best_folder(rows: list[dict[str, Any]], kind: str) -> dict[str, Any] | None:
    """The faster one of the folder's rows: all cores are not the best setting where a network needs them too."""
    return min((one for one in rows if one["role"] and one[kind]), key=lambda one: float(one[kind]["epoch_s"]), default=None)


def compare(rows: list[dict[str, Any]], bound: dict[str, Any] | None) -> None:
    """Add what a row is against others: speed-up over the folder at its best, share of the upper bound, epochs until it has paid."""
    for kind in ("loader_only", "training", "cold"):
        folder = best_folder(rows, kind)
        reference = folder and folder[kind]
        for one in rows:
            if one[kind] is not None:
                one[kind]["speedup"] = reference["epoch_s"] / one[kind]["epoch_s"] if reference else None
                if kind == "training" and bound is not None:
                    one[kind]["of_bound"] = one[kind]["pictures_per_s"] / bound["pictures_per_s"]
    kind = "training" if bound else "loader_only"
    folder = best_folder(rows, kind)
    reference = folder and folder[kind]
    for one in rows:
        if reference and one["conversion"] and one[kind]:
            one["pays_after_epochs"] = pays_after(one["conversion"]["full_seconds"], reference["epoch_s"], one[kind]["epoch_s"])


def streams(rows: list[dict[str, Any]]) -> set[str]:
    """Checksums of the label streams of all rows and rounds: one, if all did the same."""
    kinds = ("loader_only", "training", "cold")
    return {label for one in rows for kind in kinds if one[kind] for label in one[kind]["labels"]}
