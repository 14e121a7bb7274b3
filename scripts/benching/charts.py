"""Draws charts as SVG: bars that start at 0, with their numbers, in text that a phone shows large enough."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, BAR, GAP = 360, 14, 30
COLOURS = ("#d55e00", "#e6b800", "#0072b2", "#009e73", "#cc79a7", "#56b4e9")
"""Okabe and Ito's, which colour-blind people can tell apart."""


def _svg(height: float, title: str, inside: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
    return "\n".join([head, f"<title>{escape(title)}</title>", *inside, "</svg>"])


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _rect(x: float, y: float, width: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{BAR}" fill="{colour}"/>'


def bars(title: str, rows: Sequence[tuple[str, float, str]], mark: tuple[float, str] | None = None) -> str:
    """A bar for each (name, value, colour); `mark` is a value with its name that a line shows."""
    most = max([value for _, value, _ in rows] + ([mark[0]] if mark else [])) or 1.0
    scale, inside = (WIDTH - 4) / most, []
    for number, (name, value, colour) in enumerate(rows):
        y = number * GAP
        inside += [_text(0, y + 11, name), _text(WIDTH, y + 11, f"{value:,.0f}", "end"), _rect(0, y + 14, value * scale, colour)]
    height = len(rows) * GAP + 6
    if mark is not None:
        x = mark[0] * scale
        inside.append(f'<line x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height}" class="mark"/>')
        inside.append(_text(min(x, WIDTH), height + 10, f"{mark[1]}: {mark[0]:,.0f}", "end"))
        height += 16
    return _svg(height, title, inside)


def stacked(title: str, rows: Sequence[tuple[str, Sequence[float]]], parts: Sequence[str]) -> str:
    """A bar for each row, cut into shares that add up to 1."""
    inside, x = [], 0.0
    for part, colour in zip(parts, COLOURS, strict=False):
        inside += [f'<rect x="{x}" y="2" width="10" height="10" fill="{colour}"/>', _text(x + 14, 11, part)]
        x += 100
    for number, (name, shares) in enumerate(rows):
        y, left = 20 + number * GAP, 0.0
        inside += [_text(0, y + 11, name), _text(WIDTH, y + 11, f"{100 * shares[0]:.0f} % {parts[0]}", "end")]
        for share, colour in zip(shares, COLOURS, strict=False):
            inside.append(_rect(left, y + 14, share * WIDTH, colour))
            left += share * WIDTH
    return _svg(20 + len(rows) * GAP + 6, title, inside)


def lines(title: str, curves: Sequence[tuple[str, Sequence[tuple[str, float]]]]) -> str:
    """A curve for each name over settings (word, value) at equal distances, from 0 up."""
    most = max(value for _, points in curves for _, value in points) or 1.0
    inside = [_text(0, 10, f"{most:,.0f}"), f'<line x1="0" y1="200" x2="{WIDTH}" y2="200" class="axis"/>']
    for number, (name, points) in enumerate(curves):
        colour, step = COLOURS[(number + 2) % len(COLOURS)], (WIDTH - 60) / max(1, len(points) - 1)
        places = [(30 + place * step, 200 - 180 * value / most) for place, (_, value) in enumerate(points)]
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        inside.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        inside += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        inside += [f'<rect x="0" y="{222 + 16 * number}" width="10" height="10" fill="{colour}"/>', _text(14, 231 + 16 * number, name)]
        if not number:
            inside += [_text(x, 214, word, "middle") for (x, _), (word, _) in zip(places, points, strict=True)]
    return _svg(226 + 16 * len(curves), title, inside)
