"""The options that every bake has, as Click sees them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Folder(click.Path):
    """A path; an empty one, as from a variable that is not set, is not the current folder."""

    name = "PATH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See Click."""
        if not str(value):
            self.fail("an empty path", param, ctx)
        with suppress(RuntimeError):  # ~somebody: no such user, so it is a name like any other
            value = str(Path(value).expanduser())
        return super().convert(value, param, ctx)


FOLDER = Folder(path_type=Path)


class Size(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic in newer Clicks only
    """`256` or `192x256`, height x width."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """See Click."""
        found = re.fullmatch(r"(\d{1,5})(?:[xX](\d{1,5}))?", value)
        if not found:
            self.fail(f"{value!r} is not a size: give 256, or 192x256 (height x width)", param, ctx)
        height, width = int(found[1]), int(found[2] or found[1])
        if not 1 <= min(height, width) <= max(height, width) <= 1 << 14:
            self.fail("a side must be from 1 to 16384 pixels", param, ctx)
        return height, width


class Channels(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic in newer Clicks only
    """One number for all channels, or one each for R, G and B."""

    name = "R,G,B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """See Click."""
        try:
            numbers = tuple(float(word) for word in value.split(","))
        except ValueError:
            numbers = ()
        if len(numbers) not in (1, 3):
            self.fail(f"{value!r} is not one number or three with commas, such as 0.485,0.456,0.406", param, ctx)
        return numbers


class Window(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic in newer Clicks only
    """`LO:HI`, or `auto`."""

    name = "LO:HI|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float] | str:
        """See Click."""
        if value == "auto":
            return "auto"
        found = re.fullmatch(r"(-?\d+(?:\.\d+)?):(-?\d+(?:\.\d+)?)", value)
        low, high = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
        if not 0 < high - low < math.inf:  # NaN and infinity minus infinity are neither
            self.fail(f"{value!r} is not a range of levels: give 0:4095, or auto", param, ctx)
        return low, high


class Bytes(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic in newer Clicks only
    """`256M`, `1G`: powers of 1024."""

    name = "BYTES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See Click."""
        found = re.fullmatch(r"(\d+)([KMGT]?)(i?B)?", value, re.IGNORECASE)
        if not found or not int(found[1]):
            self.fail(f"{value!r} is not a number of bytes: give 256M or 1G", param, ctx)
        return int(found[1]) << 10 * " KMGT".index(found[2].upper() or " ")


class Limit(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic in newer Clicks only
    """A count, or a share: `25`, `1%`."""

    name = "LIMIT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """See Click."""
        if not re.fullmatch(r"\d+|\d+(\.\d+)?%", value):
            self.fail(f"{value!r} is neither a count nor a share: give 25 or 1%", param, ctx)
        return str(value)


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
    click.option("--shard-size", type=Bytes(), help="Most pixel bytes in a shard.  [256M, less for small sets]"),
    click.option("--shards", type=click.IntRange(1, 100_000), help="Number of shards, instead.  [by size]"),
    click.option("--dedupe", type=click.Choice(["off", "report"]), default="report", help="List pictures with the same bytes.  [report]"),
]
CREW = [
    click.option("--workers", type=click.IntRange(1, 1024), help="Processes.  [one per usable core]"),
    click.option("--max-rejects", type=Limit(), default="1%", show_default=True, help="Bad pictures before a run fails; % is at least 10."),
    click.option("--strict", is_flag=True, help="Fail at the first bad picture."),
]
RUN = [
    *CREW,
    click.option("--overwrite", is_flag=True, help="Replace a bake that is there."),
    click.option("--preview/--no-preview", default=True, help="Draw preview.png, a contact sheet of what was stored.  [on]"),
]


def add(options: list[Callable[[F], F]]) -> Callable[[F], F]:
    """A decorator that adds options in the order of a list."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
