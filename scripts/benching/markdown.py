"""The same tables in Markdown, to paste."""

from __future__ import annotations

from collections.abc import Sequence

from benching.table import Section


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _grid(section: Section) -> list[str]:
    rule = ["---", *["---:"] * (len(section.head) - 1)]
    return [_line(section.head), _line(rule), *map(_line, section.rows)]


def markdown(top: Sequence[str], found: Sequence[Section], bottom: Sequence[str]) -> str:
    """Lines, tables and lines. What is indented at the bottom is code."""
    parts = ["\n".join(f"* {line}" for line in top)] if top else []
    for section in found:
        parts += [f"{section.title}:", "\n".join(_grid(section))]
    parts += [f"```python\n{line.strip()}\n```" if line.startswith("    ") else line for line in bottom]
    return "\n\n".join(parts) + "\n"
