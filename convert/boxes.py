"""Refuses what is labelled by boxes or masks: those are not carried, and nobody should learn that after the bake."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from convert.errors import UsageError, printable
from convert.masks import find_mask
from convert.source import Source

PART = 32 << 10
"""Bytes of a side file that are looked at in one place."""
PARTS = 16
"""Places: its start, its end, and as many between, so that no long list of other things hides the boxes."""
OVER = 0.1
"""So far beyond the picture's sides shares may lie: tools round, and draw over the edge."""
BOXES_KEY = re.compile(rb'"(bbox|segmentation|keypoints)"\s*:\s*[\[{]')
IMAGE_KEY = re.compile(rb'"(image_id|images)"\s*:')
VOC = re.compile(rb"<annotation\b.*<bndbox\b", re.DOTALL)
ADVICE = "are not carried: samples.csv has scale and offset of every picture, so that they can be joined by key"
ALONE = "Add --without-boxes to bake the pictures alone."


def check_boxes(source: Source) -> None:
    """Look into a few side files, and into pictures that may be masks.

    Raises:
        UsageError: says what was found, and how to bake the pictures alone.
    """
    root = printable(source.root)
    for path in source.beside:
        if kind := _kind(source.root / path):
            raise UsageError(f"{root} has boxes beside its pictures ({kind}: {printable(path)}). Boxes {ADVICE}. {ALONE}")
    if mask := find_mask(source):
        raise UsageError(f"{root} has masks beside its pictures ({printable(mask)}). Masks {ADVICE}. {ALONE}")


def check_table(path: Path) -> None:
    """Look whether a file given as `--labels` holds boxes.

    Raises:
        UsageError: it does.
    """
    if kind := _kind(path):
        raise UsageError(f"--labels {printable(path)} holds boxes ({kind}). Boxes {ADVICE}. Leave --labels out, and add --without-boxes.")


def _kind(path: Path) -> str | None:
    """COCO, VOC or YOLO, told by the content; the extension says where it is worth a look."""
    suffix = path.suffix.lower()
    if suffix not in (".json", ".jsonl", ".xml", ".txt"):
        return None
    parts = _parts(path)
    if suffix == ".txt":
        return "YOLO" if parts and _is_yolo(parts[0], cut=len(parts) > 1) else None
    text = b"".join(parts)
    if suffix == ".xml":
        return "VOC" if VOC.search(text) else None
    return "COCO" if BOXES_KEY.search(text) and IMAGE_KEY.search(text) else None


def _parts(path: Path) -> list[bytes]:
    """A file's bytes: all of a small one, else those of some places; none of what is no regular file, such as a pipe, or cannot be read."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                return []
            count = min(PARTS, -(-info.st_size // PART))
            last = max(0, info.st_size - PART)
            starts = range(0, info.st_size, PART) if count < PARTS else [last * place // (PARTS - 1) for place in range(PARTS)]
            return [os.pread(file.fileno(), PART, start) for start in starts]
    except OSError:
        return []


def _is_yolo(head: bytes, *, cut: bool) -> bool:
    """Lines of a class number and at least four numbers more, of which four are shares of a side."""
    lines = [line.split() for line in head.splitlines()[: -1 if cut else None] if line.strip()]
    return bool(lines) and all(len(line) >= 5 and line[0].isdigit() and _shares(line[1:]) for line in lines)


def _shares(words: list[bytes]) -> bool:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return False
    return all(-OVER <= number <= 1 + OVER for number in numbers[:4])
