"""The options that every bake has, as Click sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from convert.option_types import FOLDER, Bytes, Channels, Limit, Size, Window

F = TypeVar("F", bound=Callable[..., Any])


PIXELS = [
    click.option("--size", type=Size(), help="Side, or height x width, of a row.  [256]"),
    click.option(
        "--resize",
        type=click.Choice(["center-crop", "stretch", "pad", "short", "long"]),
        help="How a picture gets that shape. short, long: it keeps its own, and that side becomes --size.  [center-crop]",
    ),
    click.option("--upscale", is_flag=True, default=None, help="With short and long: enlarge smaller pictures, too."),
    click.option("--filter", type=click.Choice(["bilinear", "bicubic", "lanczos"]), help="Antialiased filter.  [bilinear]"),
    click.option(
        "--dtype",
        type=click.Choice(["float16", "float32", "uint8", "uint16"]),
        help="float: normalised when baked. uint8: half the bytes of float16, normalised when read. uint16: grey, exact.  [float16]",
    ),
    click.option("--encoding", type=click.Choice(["raw", "jpeg"]), help="jpeg: small, lossy, decoded when read.  [raw]"),
    click.option("--quality", type=click.IntRange(1, 100), help="Of JPEGs.  [90]"),
    click.option("--subsampling", type=click.Choice(["420", "444"]), help="Of JPEGs; 444 keeps colours at full size.  [420]"),
    click.option("--passthrough", is_flag=True, default=None, help="Keep a JPEG that is as it should be: not coded a second time."),
    click.option("--color", "colour", type=click.Choice(["RGB", "gray"], case_sensitive=False), help="Three channels or one.  [RGB]"),
    click.option("--mean", type=Channels(), help="Subtracted from levels in 0..1.  [ImageNet's]"),
    click.option("--std", type=Channels(), help="Divides them.  [ImageNet's]"),
    click.option("--mean-std", type=click.Choice(["auto"]), help="auto: those of the pictures themselves, by a first pass over them."),
    click.option(
        "--alpha", type=click.Choice(["white", "black", "drop"]), help="What transparency is laid over; drop ignores it.  [white]"
    ),
    click.option("--window", type=Window(), help="Range of 16-bit levels that becomes black to white; auto: what they use.  [all]"),
    click.option("--icc", type=click.Choice(["srgb", "ignore"]), help="What colour profiles do; ignore is torchvision's way.  [srgb]"),
    click.option("--exact", is_flag=True, default=None, help="Never decode large JPEGs at a reduced scale."),
    click.option("--max-pixels", type=click.IntRange(1, 178_956_970), help="Reject larger pictures, unseen.  [89478485]"),
    click.option("--like", type=FOLDER, help="Take all of the above and the class list from another bake: for a second split."),
]
SET = [
    click.option("--classes", type=FOLDER, help="A file with one class name per line, in label order.  [sorted folder names]"),
    click.option("--classes-are-folders", is_flag=True, help="Folders called train, images and so on are classes."),
    click.option("--order", type=click.Choice(["shuffled", "source"]), default="shuffled", show_default=True, help="Order of the rows."),
    click.option("--seed", type=click.IntRange(0, (1 << 63) - 1), default=0, show_default=True, help="Of the shuffled order."),
    click.option("--shard-size", type=Bytes(), help="Most bytes of rows in a shard, about.  [256M, less for small sets]"),
    click.option("--shards", type=click.IntRange(1, 100_000), help="Number of shards, instead.  [by size]"),
    click.option("--dedupe", type=click.Choice(["off", "report"]), default="report", help="List pictures with the same bytes.  [report]"),
]
wants_tracebacks: list[bool] = []
"""Not empty once `-v` was typed."""
VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=lambda _, __, on: wants_tracebacks.append(True) if on else None,
    help="Show where in the program an error came from.",
)
WORKERS = [
    VERBOSE,
    click.option("--workers", type=click.IntRange(1, 1024), help="Processes.  [one per usable core]"),
]
CREW = [
    *WORKERS,
    click.option("--max-rejects", type=Limit(), default="1%", show_default=True, help="Bad pictures before a run fails; % is at least 10."),
    click.option("--strict", is_flag=True, help="Fail at the first bad picture."),
]
RUN = [
    *CREW,
    click.option("--overwrite", is_flag=True, help="Replace a bake that is there, finished or not."),
    click.option("--append", is_flag=True, help="Add the pictures that are new in SRC to the bake that is there, as new shards."),
    click.option("--deep", is_flag=True, help="Going on with an unfinished bake: compare finished shards by checksum, not by size."),
    click.option("--check-source", is_flag=True, help="Going on: compare pictures by content, not by time."),
    click.option("--allow-version-change", is_flag=True, help="Go on, though another Pillow began; its pixels may differ."),
    click.option("--preview/--no-preview", default=True, help="Draw preview.png, a contact sheet of what was stored.  [on]"),
]


def add(options: list[Callable[[F], F]]) -> Callable[[F], F]:
    """A decorator that adds options in the order of a list."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
