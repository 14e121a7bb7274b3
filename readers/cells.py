"""What the cells of a table mean: numbers where all of a column are numbers and none loses a digit, else texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

WHOLE = re.compile(rb"-?[1-9]\d{0,18}|0")
"""`-0` is none: int64 has no sign for it."""
FLOAT = re.compile(rb"-?((?:0|[1-9]\d{0,18})?\.\d*|[1-9](?=e-))(?:[eE][+-]?\d+)?")
"""Leading zeros and twenty digits are no number but somebody's id, which must stay what it is; so must `1E17`, without a point. `1e-05`
is how programs write small numbers."""
DIGITS = 17
"""Significant digits that every float64 can be written in, and read back (IEEE 754: 1 + ceil(53 log10 2))."""
UNKNOWN = (b"", b"nan", b"NaN")
"""In a column of numbers."""


def text(cell: bytes) -> str:
    """What a cell says, as it stands in the file; bytes that are not UTF-8 come as from `os.fsdecode`."""
    if cell.startswith(b'"'):
        cell = cell[1:-1].replace(b'""', b'"')
    return cell.decode("utf-8", "surrogateescape")


def texts(cells: Sequence[bytes]) -> npt.NDArray[Any]:
    """Cells as texts, an array of Python objects."""
    array = np.empty(len(cells), object)
    array[:] = [text(cell) for cell in cells]
    return array


def typed(cells: Sequence[bytes]) -> npt.NDArray[Any]:
    """Cells as int64 if all are whole numbers, as float64 if all are numbers or unknown (NaN) and one is known, else as texts."""
    bare = [cell.strip(b" ") for cell in cells]
    if all(map(WHOLE.fullmatch, bare)):
        whole = [int(cell) for cell in bare]
        return np.array(whole, np.int64) if _fit(whole, 1 << 63) else texts(cells)
    known = [cell for cell in bare if cell not in UNKNOWN]
    exact = _fit([int(cell) for cell in known if WHOLE.fullmatch(cell)], 1 << 53)
    if not known or not exact or not all(map(_number, known)):
        return texts(cells)
    return np.array([float("nan") if cell in UNKNOWN else float(cell) for cell in bare], np.float64)


def _number(cell: bytes) -> bool:
    """Whether it is a whole number, or a fraction that a float64 gives back digit by digit."""
    if WHOLE.fullmatch(cell):
        return True
    found = FLOAT.fullmatch(cell)
    if not found or found[1] == b".":
        return False
    digits = _significant(found[1].decode())
    mantissa, _, _ = f"{abs(float(cell)):.{max(len(digits), 1) - 1}e}".partition("e")  # `inf` where it is too large, 0 where too small
    return len(digits) <= DIGITS and _significant(mantissa) == digits


def _significant(mantissa: str) -> str:
    return mantissa.replace(".", "").strip("0")


def _fit(numbers: Sequence[int], end: int) -> bool:
    return all(-end <= number < end for number in numbers)
