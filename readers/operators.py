"""What the operators of an expression make of whole columns: what Python makes of their cells, but a division by zero gives NaN."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ARITHMETIC: dict[type[ast.operator], Callable[[Array, Array], Array]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.Mod: np.remainder,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Array, Array], Array]] = {
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}


def compute(op: ast.operator, left: Array, right: Array) -> Array:
    """Arithmetic on numbers, int64 or float64.

    Raises:
        OverflowError: a whole number of more than 64 bits comes of it.
    """
    function = ARITHMETIC[type(op)]
    if isinstance(op, ast.Div | ast.Mod) and (right == 0).any():
        right = np.where(right == 0, np.nan, right)
    with np.errstate(all="ignore"):
        value = np.asarray(function(left, right))
        if value.dtype.kind == "i" and (np.abs(function(left.astype(np.float64), right.astype(np.float64))) >= 2.0**63).any():
            raise OverflowError
    return value


def compare(op: ast.cmpop, left: Array, right: Array) -> Array:
    """Comparison of numbers or of texts."""
    if left.dtype != right.dtype:
        left = left.astype(object)  # Python compares whole numbers with others exactly, NumPy by way of float64
    with np.errstate(invalid="ignore"):
        return np.asarray(COMPARISONS[type(op)](left, right), bool)


def among(column: Array, values: set[Any]) -> Array:
    """Which cells are one of some values."""
    return np.array([value in values for value in column.reshape(-1).tolist()], bool).reshape(column.shape)
