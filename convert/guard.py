"""Refuses roots whose folders are splits or containers, not classes: a silent two-class data set of `train` and `val`."""

import re
import shlex
from pathlib import Path

from convert.errors import UsageError, printable
from convert.source import Source

SPLITS = frozenset(["train", "training", "trainval", "val", "valid", "validation", "dev", "eval", "test", "testing", "holdout"])
CONTAINERS = frozenset(
    [
        "images",
        "image",
        "imgs",
        "img",
        "jpegimages",
        "pictures",
        "photos",
        "data",
        "dataset",
        "labels",
        "masks",
        "mask",
        "annotations",
        "ann",
        "bbox",
        "boxes",
        "gt",
        "segmentationclass",
        "segmentationobject",
    ]
)
PICTURES = ("im", "jpeg", "pic", "photo")


def _word(folder: str) -> str:
    """`train2017`, `Val_512` and `test-set` are split words too."""
    return re.sub(r"([-_ ]?(set|split|images|imgs))?[-_ ]?\d*$", "", folder.lower())


def _typed(path: Path) -> str:
    """A path as one types it in a shell."""
    return shlex.quote(printable(path))


def check_folders(source: Source, format: str, out: Path, like: Path | None = None, *, without_boxes: bool = False) -> None:
    """Look at the class folders' names. One class called `train` among others may be a vehicle; two splits, or nothing else, may not.

    Raises:
        UsageError: says what to type instead.
    """
    splits = [folder for folder in source.folders if _word(folder) in SPLITS or folder.lower() in SPLITS]
    holders = [folder for folder in source.folders if _word(folder) in CONTAINERS or folder.lower() in CONTAINERS]
    suspects = splits + holders
    if not suspects or (len(splits) < 2 and len(suspects) < len(source.folders)):
        return
    root, bake = printable(source.root), f"  prebake {format}{' --without-boxes' if without_boxes else ''}"
    lines = [
        f"{root} has the folders {', '.join(map(printable, suspects[:6]))}: those look like parts of a data set, not like its classes."
    ]
    if splits:
        first = min(splits, key=lambda name: not name.lower().startswith("train"))
        others = [name for name in splits if name != first]
        trained = _typed(out / first)
        lines += ["Bake each part on its own, with your options:", f"{bake} {_typed(source.root / first)} {trained}"]
        lines += [f"{bake} {_typed(source.root / name)} {_typed(out / name)} --like {trained}" for name in others]
    else:
        lines += ["Bake the folder that holds the classes, with your options:"]
        inner = min(holders, key=lambda name: not name.lower().startswith(PICTURES))
        lines += [f"{bake} {_typed(source.root / inner)} {_typed(out)}" + (f" --like {_typed(like)}" if like else "")]
    lines += ["If they are classes, add --classes-are-folders."]
    raise UsageError("\n".join(lines))
