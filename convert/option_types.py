"""What options take, as Click sees it: paths, sizes, numbers for channels, levels, bytes, limits."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import click


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
