"""Draws `preview.png`: a few rows of each class, made from what was stored, so that a person sees what the network will."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from convert.errors import printable
from convert.manifest import Manifest
from convert.stored import Stored

PREVIEW = "preview.png"
THUMB, GAP, TEXT = 96, 4, 14
COLUMNS, CLASSES = 8, 24
PAPER, INK = (255, 255, 255), (40, 40, 40)


def _groups(manifest: Manifest, targets: npt.NDArray[np.int64] | None) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Title and first rows of each class shown; classes are picked at equal distances when there are many."""
    if targets is None:
        return [(f"{manifest.count} pictures, no labels", np.arange(min(manifest.count, COLUMNS * COLUMNS)))]
    used = np.unique(targets)
    shown = used if len(used) <= CLASSES else used[np.linspace(0, len(used) - 1, CLASSES).astype(int)]
    groups = []
    for label in shown:
        rows = np.flatnonzero(targets == label)
        groups.append((f"{label}  {printable(manifest.classes[label])}  ({len(rows)})", rows[:COLUMNS]))
    return groups


def _text(draw: ImageDraw.ImageDraw, at: tuple[int, int], text: str) -> None:
    font: Any = ImageFont.load_default()
    try:
        draw.text(at, text, fill=INK, font=font)
    except UnicodeError:  # Pillow's built-in bitmap font knows Latin letters only
        draw.text(at, text.encode("ascii", "backslashreplace").decode(), fill=INK, font=font)


def _thumb(levels: npt.NDArray[np.uint8], side: tuple[int, int]) -> Image.Image:
    """A row (H, W, C) that fits into `side` (width, height), on paper."""
    height, width, channels = levels.shape
    by = min(side[0] / width, side[1] / height)
    size = max(1, round(width * by)), max(1, round(height * by))
    small = Image.fromarray(np.repeat(levels, 3 // channels, axis=2)).resize(size, Image.Resampling.BILINEAR)
    thumb = Image.new("RGB", side, PAPER)
    thumb.paste(small, ((side[0] - size[0]) // 2, (side[1] - size[1]) // 2))
    return thumb


def draw_preview(out: Path, manifest: Manifest, targets: npt.NDArray[np.int64] | None, into: Path | None = None) -> Path:
    """Write `preview.png` into a bake, but for its manifest, or into another folder, and return its path."""
    groups, stored = _groups(manifest, targets), Stored(out, manifest)
    height, width = (1, 1) if manifest.shape is None else manifest.shape[:2]
    columns = max(min(COLUMNS, len(rows)) for _, rows in groups)
    side = (max(1, round(THUMB * width / max(height, width))), max(1, round(THUMB * height / max(height, width))))
    lines = [-(-len(rows) // columns) for _, rows in groups]
    sheet = Image.new("RGB", (GAP + max(columns, 3) * (side[0] + GAP), GAP + sum(TEXT + n * (side[1] + GAP) for n in lines) + TEXT), PAPER)
    draw = ImageDraw.Draw(sheet)
    top = GAP
    for (title, rows), count in zip(groups, lines, strict=True):
        _text(draw, (GAP, top), title)
        top += TEXT
        for place, index in enumerate(rows.tolist()):
            thumb = _thumb(manifest.to_levels(stored.row(index)), side)
            sheet.paste(thumb, (GAP + place % columns * (side[0] + GAP), top + place // columns * (side[1] + GAP)))
        top += count * (side[1] + GAP)
    total = len(manifest.classes)
    _text(draw, (GAP, top), f"{len(groups)} of {total} classes" if len(groups) < total else f"{manifest.count} pictures")
    path = (into or out) / PREVIEW
    sheet.save(path, compress_level=3)
    return path
