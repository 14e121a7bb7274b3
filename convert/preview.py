"""Draws `preview.png`: a few rows of each class, made from what was stored, so that a person sees what the network will."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from convert.errors import printable
from convert.manifest import Manifest

PREVIEW = "preview.png"
THUMB, GAP, TEXT = 96, 4, 14
COLUMNS, CLASSES = 8, 24
PAPER, INK = (255, 255, 255), (40, 40, 40)


def _level_row(out: Path, manifest: Manifest, offsets: npt.NDArray[np.int64], index: int) -> npt.NDArray[np.uint8]:
    """One stored row as levels (H, W, 3)."""
    starts = np.cumsum([0] + [shard.count for shard in manifest.shards])
    shard = manifest.shards[int(np.searchsorted(starts, index, side="right")) - 1]
    with (out / shard.name).open("rb") as file:
        file.seek(int(offsets[index]))
        values = np.frombuffer(file.read(manifest.row_nbytes), manifest.row).reshape(manifest.shape)
    return np.repeat(manifest.to_levels(values), 3 // manifest.shape[2], axis=2)


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


def draw_preview(out: Path, manifest: Manifest, offsets: npt.NDArray[np.int64], targets: npt.NDArray[np.int64] | None) -> Path:
    """Write `preview.png` into the bake and return its path."""
    groups = _groups(manifest, targets)
    height, width, _ = manifest.shape
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
            thumb = Image.fromarray(_level_row(out, manifest, offsets, index)).resize(side, Image.Resampling.BILINEAR)
            sheet.paste(thumb, (GAP + place % columns * (side[0] + GAP), top + place // columns * (side[1] + GAP)))
        top += count * (side[1] + GAP)
    total = len(manifest.classes)
    _text(draw, (GAP, top), f"{len(groups)} of {total} classes" if len(groups) < total else f"{manifest.count} pictures")
    path = out / PREVIEW
    sheet.save(path, compress_level=3)
    return path
