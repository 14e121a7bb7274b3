"""The figures as one HTML page that needs nothing beside itself, and that a phone shows well."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from benching.charts import COLOURS, bars, lines, stacked
from benching.clocks import PARTS

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 0 auto; padding: .8rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.verdict { border-left: .3rem solid #009e73; padding: .2rem 1rem; font-size: 1.1rem; }
svg { width: 100%; height: auto; display: block; } svg text { font-size: 12px; fill: currentColor; }
svg .mark { stroke: currentColor; stroke-dasharray: 3 3; } svg .axis { stroke: currentColor; opacity: .4; }
pre { overflow-x: auto; font-size: .75rem; line-height: 1.35; padding: .6rem; border: 1px solid #8886; }
"""


def _colour(row: dict[str, Any]) -> str:
    return COLOURS[0] if row["role"] else COLOURS[3] if row["loader"] == "Loader" else COLOURS[2]


def _speeds(told: dict[str, Any], kind: str) -> list[tuple[str, float, str]]:
    return [(row["name"], row[kind]["pictures_per_s"], _colour(row)) for row in told["rows"] if row[kind]]


def _sections(told: dict[str, Any]) -> list[tuple[str, str]]:
    """Title and chart of each."""
    found = [("The loaders alone, warm: pictures/s", bars("Pictures per second, loader only", _speeds(told, "loader_only")))]
    if told["bound"]:
        mark = (told["bound"]["pictures_per_s"], "upper bound")
        found.insert(0, ("Training: pictures/s", bars("Pictures per second in training", _speeds(told, "training"), mark)))
        shares = [(row["name"], [row["training"]["shares"][part] for part in PARTS]) for row in told["rows"] if row["training"]]
        found.insert(1, ("What a step's time goes to", stacked("Shares of a step's time", shares, PARTS)))
    cold = _speeds(told, "cold")
    if cold:
        found.append(("From a cold page cache: pictures/s", bars("Pictures per second, cold", cold)))
    sizes = [(row["name"], row["full_bytes"] / 1e6, _colour(row)) for row in told["rows"]]
    return [*found, ("On disk: MB", bars("Megabytes on disk", sizes))]


def page(told: dict[str, Any], text: str) -> str:
    """For what was measured; `text` is the table for a terminal."""
    where = told["machine"]["gpu"]["name"] if told["machine"]["gpu"] else "CPU"
    title = f"prebake bench: {told['machine']['node']}, {where}"
    return document(title, [f'<p class="verdict">{escape(told["verdict"])}</p>'], _sections(told), text)


def document(title: str, top: Sequence[str], sections: Sequence[tuple[str, str]], text: str) -> str:
    """A page of charts, with all figures as text below."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *top,
            *(f"<h2>{escape(name)}</h2>\n{chart}" for name, chart in sections),
            f"<h2>All figures</h2>\n<pre>{escape(text)}</pre>",
            "</body></html>\n",
        ]
    )


def curves_page(title: str, curves: Sequence[tuple[str, Sequence[tuple[str, Sequence[tuple[str, float]]]]]], text: str) -> str:
    """A page for a sweep: a chart for each setting, with a curve for each contender."""
    return document(title, [], [(f"{name}: pictures/s", lines(name, found)) for name, found in curves], text)
