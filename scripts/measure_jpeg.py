"""Measures the Loader on JPEG rows and rows of any size against decoding and resizing alone, and `transform=` against ImageFolder."""

from __future__ import annotations

import functools
import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import simplejpeg
from fresh_process import measured
from measure_convert import bake
from measure_loader import THREADS
from PIL import Image
from rounds import rate, ratio, take_turns
from torch.utils.data import DataLoader, RandomSampler
from torchvision import datasets, transforms

from readers import BakedDataset, CenterCrop, Loader, RandomHorizontalFlip, RandomResizedCrop, open_dataset

CROP, BATCH = 224, 256
PICTURES = 2048
"""In an epoch, of fewer rows."""
LOOKED_AT = 512
"""In an epoch through `transform=`, picture by picture."""
BAKES: dict[str, dict[str, Any]] = {
    "jpeg 256": {"size": (256, 256), "dtype": "uint8", "encoding": "jpeg"},
    "jpeg short 384": {"size": (384, 384), "dtype": "uint8", "encoding": "jpeg", "resize": "short"},
    "uint8 256": {"size": (256, 256), "dtype": "uint8"},
    "uint8 short 384": {"size": (384, 384), "dtype": "uint8", "resize": "short"},
}
Task = Callable[[int], None]


class Alone:
    """Threads that do one thing for each picture of an epoch, and nothing else."""

    def __init__(self, task: Callable[[], Task], order: Any) -> None:
        """`task` makes what a thread calls with a row's number."""
        self._task, self._parts = task, np.array_split(order, THREADS)

    def __call__(self) -> float:
        """Pictures per second."""
        began = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self._some, self._parts))
        return PICTURES / (time.perf_counter() - began)

    def _some(self, part: Any) -> None:
        task = self._task()
        for number in part.tolist():
            task(number)


def stored(dataset: BakedDataset) -> list[bytes]:
    """The JPEG files of a bake: what is decoded alone is what the Loader decodes."""
    rows = dataset._rows  # noqa: SLF001 - below any public door
    return [row.tobytes() for row in rows.stored(np.arange(len(dataset)))]


def decoding(files: list[bytes], size: int) -> Callable[[], Task]:
    """Decode into memory that is used again."""

    def task() -> Task:
        scratch = np.empty(size, np.uint8)
        return lambda number: simplejpeg.decode_jpeg(files[number], "RGB", buffer=scratch)

    return task


def decoding_and_resizing(files: list[bytes], size: int, boxes: Any) -> Callable[[], Task]:
    """Decode, and Pillow's `resize(box=)`."""

    def task() -> Task:
        scratch = np.empty(size, np.uint8)

        def one(number: int) -> None:
            picture = Image.fromarray(simplejpeg.decode_jpeg(files[number], "RGB", buffer=scratch))
            top, left, height, width = boxes[number]
            picture.resize((CROP, CROP), Image.Resampling.BILINEAR, box=(left, top, left + width, top + height))

        return one

    return task


def _loader(folder: Path, step: Any, **options: Any) -> Loader:
    dataset = open_dataset(folder, augment=[step], **options)
    numbers = np.arange(PICTURES) % len(dataset)
    return Loader(dataset, BATCH, shuffle=True, drop_last=True, threads=THREADS, indices=numbers)


def _one_by_one(dataset: Any) -> DataLoader[Any]:
    sampler = RandomSampler(dataset, replacement=True, num_samples=LOOKED_AT)
    return DataLoader(dataset, 64, sampler=sampler, num_workers=2, persistent_workers=True)


def in_this_process(work: Path, rounds: int) -> dict[str, Any]:
    """All of it. `work` holds the bakes, and `links`, the pictures that they were made of."""
    squares, shorts = (open_dataset(work / name) for name in ("jpeg 256", "jpeg short 384"))
    order = np.arange(PICTURES) % len(squares)
    heights, widths = shorts.sizes.T
    random = np.random.default_rng(0)
    boxes = np.stack(RandomResizedCrop(CROP).boxes(heights, widths, lambda: random.random(len(shorts)))).T.tolist()
    largest = int((heights * widths).max()) * 3
    loaders = {
        "jpeg, center crop": _loader(work / "jpeg 256", CenterCrop(CROP), pixels="uint8"),
        "jpeg, center crop, float32": _loader(work / "jpeg 256", CenterCrop(CROP)),
        "jpeg, random resized crop": _loader(work / "jpeg short 384", RandomResizedCrop(CROP), pixels="uint8"),
        "jpeg, random resized crop, float32": _loader(work / "jpeg short 384", RandomResizedCrop(CROP)),
        "raw of any size, random resized crop, float32": _loader(work / "uint8 short 384", RandomResizedCrop(CROP)),
    }
    steps = [transforms.RandomResizedCrop(CROP), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    transform = transforms.Compose([*steps, transforms.Normalize(squares.mean, squares.std)])
    doors = {
        "ImageFolder": _one_by_one(datasets.ImageFolder(str(work / "links"), transform)),
        "transform=, uint8 rows": _one_by_one(open_dataset(work / "uint8 256", transform=transform)),
        "transform=, jpeg rows": _one_by_one(open_dataset(work / "jpeg 256", transform=transform)),
        "augment=, jpeg rows": _one_by_one(open_dataset(work / "jpeg 256", augment=[RandomResizedCrop(CROP), RandomHorizontalFlip()])),
    }
    feeds: dict[str, Iterable[Any]] = {**doors, **loaders}
    for one in feeds.values():
        rate(one)  # workers are forked first (afterwards, the first write to each page would copy it), and pages mapped
    turns: dict[str, Callable[[], float]] = {
        "decode 256": Alone(decoding(stored(squares), 256 * 256 * 3), order),
        "decode + resize 384": Alone(decoding_and_resizing(stored(shorts), largest, boxes), order),
    }
    turns |= {name: functools.partial(rate, one) for name, one in feeds.items()}
    found = take_turns(turns, rounds)
    return {
        "jpeg_vs_decode": ratio(found, "jpeg, center crop", "decode 256"),
        "jpeg_vs_decode_float32": ratio(found, "jpeg, center crop, float32", "decode 256"),
        "jpeg_resized_vs_decode_resize": ratio(found, "jpeg, random resized crop", "decode + resize 384"),
        "jpeg_resized_vs_decode_resize_float32": ratio(found, "jpeg, random resized crop, float32", "decode + resize 384"),
        "transform_vs_imagefolder_uint8": ratio(found, "transform=, uint8 rows", "ImageFolder"),
        "transform_vs_imagefolder_jpeg": ratio(found, "transform=, jpeg rows", "ImageFolder"),
        "pictures_per_s": {name: statistics.median(values) for name, values in found.items()},
    }


def measure(work: Path, rounds: int) -> dict[str, Any]:
    """Bakes what is needed of `work/links`, and measures in a fresh process."""
    for name, recipe in BAKES.items():
        bake(work / "links", work / name, "memmap", recipe)
    found = measured("measure_jpeg.py", work, rounds)
    for name in BAKES:
        shutil.rmtree(work / name)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(in_this_process(Path(sys.argv[1]), int(sys.argv[2])), indent=1) + "\n")
