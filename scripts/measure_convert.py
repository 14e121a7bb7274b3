"""Measures baking against what it cannot do without: decoding and resizing the same files with the same Pillow."""

from __future__ import annotations

import functools
import multiprocessing
import shutil
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from PIL import Image
from rounds import take_turns

from convert.image.jpeg import decode_strict
from convert.image.pillow import pillow_versions
from convert.machine import cores
from convert.registry import format_names
from convert.request import Request
from convert.resolve import resolve
from convert.run import Result, carry_out
from convert.source import scan
from convert.tasks import Crew

SIZE = 256
CHUNK = 50
PICTURES = 2000
ROWS = {"size": (SIZE, SIZE), "dtype": "float16"}


def link_pictures(source: Path, folder: Path) -> list[Path]:
    """A class tree of links to the pictures below `source`, each so often that starting up does not count for much."""
    keys = scan(source).keys
    links = []
    for key in keys:
        for copy in range(max(1, PICTURES // len(keys))):
            link = (folder / key).with_name(f"{copy}-{Path(key).name}")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to((source / key).resolve())
            links.append(link)
    return links


def decode_and_resize(path: Path) -> None:
    """What every loader of JPEGs does, as torchvision does it: open, RGB, antialiased resize of the short side."""
    with Image.open(path) as picture:
        rgb = picture.convert("RGB")
        short = min(rgb.size)
        rgb.resize((SIZE * rgb.width // short, SIZE * rgb.height // short), Image.Resampling.BILINEAR)


def _decode_rate(links: list[Path], workers: int) -> float:
    began = time.perf_counter()
    with ProcessPoolExecutor(workers, multiprocessing.get_context("forkserver")) as pool:
        for _ in pool.map(decode_and_resize, links, chunksize=CHUNK):
            pass
    return len(links) / (time.perf_counter() - began)


def _second_looks(source: Path) -> float:
    """The share of files that strict libjpeg-turbo alone does not accept."""
    keys = scan(source).keys
    return sum(decode_strict((source / key).read_bytes()) is None for key in keys) / len(keys)


def bake(source: Path, out: Path, format: str, recipe: dict[str, Any] = ROWS) -> Result:
    """Bake on all cores; as the limits are stated, unless told otherwise."""
    plan, _ = resolve(Request(source=source, out=out, format=format, recipe=recipe))
    return carry_out(plan, out, Crew(cores(), quiet=True))


def _bake_rate(source: Path, out: Path, format: str) -> float:
    result = bake(source, out, format)
    shutil.rmtree(out)
    return result.manifest.count / result.seconds


def measure(pictures: Path, memory: Path, rounds: int) -> dict[str, object]:
    """Pictures per second of baking, of decode + resize in as many processes, and their ratio, for each format.

    A whole bake is timed, from starting the workers to the manifest, contact sheet included. The two take turns; medians.
    """
    workers = cores()
    links = link_pictures(pictures, memory / "links")
    bakes = {name: functools.partial(_bake_rate, memory / "links", memory / name, name) for name in format_names()}
    rates = take_turns({"decode": functools.partial(_decode_rate, links, workers), **bakes}, rounds)
    median = {name: statistics.median(values) for name, values in rates.items()}
    began = time.perf_counter()
    for link in links[:200]:
        decode_and_resize(link)
    alone = min(200, len(links)) / (time.perf_counter() - began)
    return {
        "convert_vs_decode": median["memmap"] / median["decode"],
        "convert_vs_decode_by_format": {name: median[name] / median["decode"] for name in format_names()},
        "pictures_per_s": median,
        "workers": workers,
        "second_look_share": _second_looks(pictures),
        "pillow_simd": pillow_versions() | {"decode_resize_per_s_one_process": alone},
    }
