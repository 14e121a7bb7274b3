"""The sentence that the bench ends with, in every situation that it tells apart."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from launch import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from benching.results import compare
from benching.verdict import notes, verdict


def row(name: str, rate: float, nbytes: int = 100, **more: Any) -> dict[str, Any]:
    """Figures of a row that reads and trains at one rate: an epoch is 1,000 pictures."""
    seconds = 1000 / rate
    one = {"epoch_s": seconds, "epoch_s_spread": [seconds, seconds], "pictures_per_s": rate}
    role = name.split()[1] if name.startswith("folder") else ""
    conversion = None if role else {"seconds": 10.0, "full_seconds": 10.0, "pictures_per_s": 100.0}
    kinds = {"loader_only": dict(one), "training": dict(one), "cold": None, "conversion": conversion, "pays_after_epochs": None}
    return {"name": name, "role": role, "bytes": nbytes, "setup": "threads", "fits_ram": True, **kinds, **more}


def told(rows: list[dict[str, Any]], bound: float | None, gpu: bool = True) -> dict[str, Any]:
    if bound is None:
        for one in rows:
            one["training"] = None
    figures = None if bound is None else {"pictures_per_s": bound}
    compare(rows, figures)
    return {"rows": rows, "bound": figures, "machine": {"gpu": {"name": "one"} if gpu else None}, "one_class": False}


FOLDERS = ("folder defaults", 100.0), ("folder tuned", 300.0)
LARGE: dict[str, Any] = {"fits_ram": False, "cold": {"pictures_per_s": 500.0, "stayed_warm": False, "rounds": [{"seconds": 2.0}]}}


@pytest.mark.parametrize(
    ("rows", "bound", "gpu", "said"),
    [
        (
            [row(*FOLDERS[0]), row(*FOLDERS[1]), row("lmdb", 980.0)],
            1000.0,
            True,
            "GPU-bound with lmdb: 98 % of the upper bound; the tuned folder reaches 30 %. Baking has paid after 5 epochs.",
        ),
        (
            [row(*FOLDERS[0]), row(*FOLDERS[1]), row("lmdb", 600.0, 200), row("uint8", 590.0, 100)],
            1000.0,
            True,
            "Even lmdb, the fastest, is held up by its data: 60 % of the upper bound; the tuned folder reaches 30 %. "
            "Baking has paid after 6 epochs. uint8 is 0.5 times as large and 2 % slower.",
        ),
        (
            [row(*FOLDERS[0]), row("folder tuned", 970.0), row("lmdb", 999.0)],
            1000.0,
            True,
            "Do not bake for this model and machine: the tuned folder already reaches 97 % of the upper bound.",
        ),
        (
            [row("folder defaults", 800.0), row("folder tuned", 500.0), row("lmdb", 820.0)],
            1000.0,
            False,
            "Do not bake for this model and machine: no bake is faster than the folder with DataLoader's defaults by more than 5 %.",
        ),
        (
            [row("folder defaults", 400.0), row("folder tuned", 200.0), row("lmdb", 800.0)],
            1000.0,
            False,
            "lmdb is fastest, beside a model that shares the cores with it: 80 % of the upper bound; the folder with DataLoader's defaults "
            "reaches 40 %. Baking has paid after 8 epochs.",
        ),
        (
            [row(*FOLDERS[1]), row("lmdb", 200.0)],
            None,
            True,
            "Do not bake on this machine: no bake is faster than the tuned folder by more than 5 %.",
        ),
        ([row("lmdb", 900.0)], None, False, "Without a model, lmdb is fastest: 900 pictures/s."),
        (
            [row(*FOLDERS[1]), row("lmdb", 980.0, **LARGE)],
            1000.0,
            True,
            "GPU-bound with lmdb: 98 % of the upper bound; the tuned folder reaches 30 %. Baking has paid after 5 epochs. "
            "All of lmdb does not fit the memory: expect about 500 pictures/s, the cold figure.",
        ),
        (
            [row(*FOLDERS[1]), row("lmdb", 900.0, 1000, **LARGE), row("jpeg", 700.0, 50), row("slow jpeg", 400.0, 40)],
            None,
            True,
            "Without a model, lmdb is fastest: 900 pictures/s, 3.0 times the tuned folder. Baking has paid after 5 epochs. jpeg is 0.05 "
            "times as large and 22 % slower. All of lmdb does not fit the memory: expect about 500 pictures/s, the cold figure. jpeg fits: "
            "700 pictures/s.",
        ),
        (
            [row(*FOLDERS[1])],
            1000.0,
            True,
            "No bake was measured: there is nothing to compare the folder with. The tuned folder reaches 30 % of the upper bound.",
        ),
    ],
)
def test_the_verdict(rows: list[dict[str, Any]], bound: float | None, gpu: bool, *, said: str) -> None:
    assert verdict(told(rows, bound, gpu)) == said


def test_unsteady_rounds_make_it_a_first_impression() -> None:
    found = told([row(*FOLDERS[1]), row("lmdb", 980.0)], 1000.0)
    assert "first impression" not in verdict(found)
    assert notes(found) == []
    found["rows"][1]["training"]["epoch_s_spread"][1] *= 1.3
    assert verdict(found).endswith("A first impression only: run it again on a quiet machine.")
    assert "rounds lie up to 30 % from their median" in notes(found)[0]
