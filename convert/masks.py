"""Finds pictures that are masks of other pictures: in a folder called so, or beside the picture that each belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from PIL import Image

from convert.source import Source

LOOK = 4
"""Pictures of a folder that are opened."""
NAMES, FOLDERS = 64, 32
"""Names of a folder that are compared with each other, and folders that are looked into where names look like masks'."""
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""`SegmentationClass` and `segmentation_class` are both two words; `background` is one."""
MASK_WORDS = re.compile(r"masks?|seg|segmentation(s|class|object)?|annotations?|labels?|gt|(ground)?truth", re.IGNORECASE)
MASK_MODES = ("1", "L", "P", "I", "I;16")
ENDING = re.compile(r"[-_ ](mask|seg|gt)([-_ ]?[0-9]+)?$", re.IGNORECASE)
"""A picture may have several masks: `benign (4)_mask_1.png`."""


def find_mask(source: Source) -> str | None:
    """The key of a picture that is most likely a mask, if there are any; at most some hundred files are opened."""
    return next(_in_folders(source), None) or next(_beside(source), None)


def _in_folders(source: Source) -> Iterator[str]:
    """Of each class folder that is called like masks the first key, if its first files are flat and named like pictures elsewhere."""
    start = 0
    for folder, count in zip(source.folders, source.counts, strict=True):
        some = source.keys[start : start + min(count, LOOK)]
        start += count
        called = any(MASK_WORDS.fullmatch(word) for word in WORD.findall(folder))
        if called and all(_is_flat(source.root / key) for key in some) and _all_have_twins(source, folder, some):
            yield some[0]


def _all_have_twins(source: Source, folder: str, masks: list[str]) -> bool:
    """Whether for each of these a picture in another folder is called like it."""
    alone = {_belongs(key).rpartition("/")[2] for key in masks}
    for key in source.keys:
        if not key.startswith(f"{folder}/"):
            alone.discard(_belongs(key).rpartition("/")[2])
            if not alone:
                return True
    return False


def _beside(source: Source) -> Iterator[str]:
    """Of each folder where pictures' names come again as `NAME_mask` the first such key, if the first files of those names are flat."""
    start = looked = 0
    for count in source.counts or [len(source.keys)]:
        names = source.keys[start : start + min(count, NAMES)]
        start += count
        stems = {_stem(key) for key in names}
        masks = list(islice((key for key in names if (of := _belongs(key)) in stems and of != _stem(key)), LOOK))
        if masks and looked < FOLDERS:
            looked += 1
            if all(_is_flat(source.root / key) for key in masks):
                yield masks[0]


def _stem(key: str) -> str:
    """A key without its extension."""
    return key.rpartition(".")[0]


def _belongs(key: str) -> str:
    """The stem of the picture that a mask would belong to: `masks/0001` for `masks/0001_mask.png`; others have their own."""
    return ENDING.sub("", _stem(key))


def _is_flat(path: Path) -> bool:
    """Whether a file is a picture of one channel, and no JPEG, whose losses would spoil a mask."""
    if not path.is_file():  # a pipe would hang the run
        return False
    try:
        with Image.open(path) as picture:
            return picture.mode in MASK_MODES and picture.format not in ("JPEG", "MPO")
    except Exception:  # noqa: BLE001 - what it is will be told when it is baked
        return False
