"""Refuses what is labelled by boxes or masks: those are not carried, and nobody should learn that after the bake."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from PIL import Image

from convert.errors import UsageError, printable
from convert.source import Source

READ = 64 << 10
"""Bytes of a side file that are looked at, half of them at its end."""
LOOK = 4
"""Pictures of a folder that are looked at."""
MASK_FOLDER = re.compile(r"mask|segment|annotation|label|ground|^gt$", re.IGNORECASE)
MASK_MODES = ("1", "L", "P", "I", "I;16")
BOXES_KEY = re.compile(rb'"(bbox|segmentation)"\s*:\s*[\[{]')
IMAGE_KEY = re.compile(rb'"image_id"\s*:')
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
    if mask := _mask(source):
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
    head, tail = _ends(path)
    if suffix == ".xml":
        return "VOC" if VOC.search(head + tail) else None
    if suffix == ".txt":
        return "YOLO" if _is_yolo(head, cut=bool(tail)) else None
    return "COCO" if BOXES_KEY.search(head + tail) and IMAGE_KEY.search(head + tail) else None


def _ends(path: Path) -> tuple[bytes, bytes]:
    """The first and the last bytes of a file; nothing of what is no regular file, such as a pipe, or cannot be read."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                return b"", b""
            head = file.read(READ // 2)
            file.seek(max(len(head), info.st_size - READ // 2))
            return head, file.read(READ // 2)
    except OSError:
        return b"", b""


def _is_yolo(head: bytes, *, cut: bool) -> bool:
    """Lines of a class number and at least four numbers more, of which four are shares of a side."""
    lines = [line.split() for line in head.splitlines()[: -1 if cut else None] if line.strip()]
    return bool(lines) and all(len(line) >= 5 and line[0].isdigit() and _shares(line[1:]) for line in lines)


def _shares(words: list[bytes]) -> bool:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return False
    return all(0 <= number <= 1 for number in numbers[:4])


def _mask(source: Source) -> str | None:
    """A picture in a class folder that holds masks: called so, and its first files have one channel and the names of pictures elsewhere."""
    start = 0
    for folder, count in zip(source.folders, source.counts, strict=True):
        some = source.keys[start : start + min(count, LOOK)]
        start += count
        if MASK_FOLDER.search(folder) and all(_is_flat(source.root / key) for key in some) and _have_twins(source, folder, some):
            return some[0]
    return None


def _have_twins(source: Source, folder: str, masks: list[str]) -> bool:
    """Whether a picture in another folder is called like one of these."""
    stems = {_stem(key) for key in masks}
    return any(_stem(key) in stems for key in source.keys if not key.startswith(f"{folder}/"))


def _stem(key: str) -> str:
    """`masks/0001_mask.png` and `images/0001.jpg` have the same."""
    return re.sub(r"[-_ ]?(mask|seg|gt)$", "", key.rpartition("/")[2].rpartition(".")[0])


def _is_flat(path: Path) -> bool:
    """Whether a file is a picture of one channel, and no JPEG, whose losses would spoil a mask."""
    if not path.is_file():  # a pipe would hang the run
        return False
    try:
        with Image.open(path) as picture:
            return picture.mode in MASK_MODES and picture.format not in ("JPEG", "MPO")
    except Exception:  # noqa: BLE001 - what it is will be told when it is baked
        return False
