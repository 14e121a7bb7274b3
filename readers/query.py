"""Which rows an expression is true for: its tree is walked, and each operator works on whole columns.

NaN, a blank in a column of numbers, is as in Python: neither less nor more than anything, and equal to nothing, not even to itself.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError
from readers.expression import DEEP, Expression
from readers.operators import ARITHMETIC, among, compare, compute

Array = npt.NDArray[Any]

KINDS = {"b": "a condition", "i": "a number", "f": "a number", "O": "a text"}
SHOWN = 5


def select(text: str, columns: Sequence[str], column: Callable[[str], Array]) -> npt.NDArray[np.bool_]:
    """Which rows (N,) an expression is true for.

    Args:
        text: such as `fold != 0 and sex in ('f', 'x')`.
        columns: the names that there are.
        column: gives a column (N,) by its name: int64, float64 or texts; refuses an unknown name.

    Raises:
        PrebakeError: the expression is not understood, compares texts with numbers, or is true for no row.
    """
    if not isinstance(text, str):
        raise PrebakeError(f"where() takes an expression such as 'fold != 0', not {type(text).__name__}; subset() takes a mask")
    query = _Query(Expression(text, columns), column)
    mask = query.condition(query.expression.tree)
    if not query.used:
        query.expression.fail("it names no column")
    if not mask.any():
        held = "; ".join(f"{name} is {_some(values)}" for name, values in query.used.items())
        query.expression.fail(f"it is true for no row; {held}")
    return mask


def _some(values: Array) -> str:
    different = np.unique(values).tolist()
    return ", ".join(map(repr, different[:SHOWN])) + ", ..." * (len(different) > SHOWN)


class _Query:
    def __init__(self, expression: Expression, column: Callable[[str], Array]) -> None:
        self.expression, self._column = expression, column
        self.used: dict[str, Array] = {}
        self._handlers: dict[type[ast.AST], Callable[[Any], Array]] = {
            ast.Name: self._name,
            ast.Constant: self._constant,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.BoolOp: self._joined,
            ast.Compare: self._compared,
        }

    def value(self, node: ast.expr) -> Array:
        """What a part of the tree is: an array (N,), or () where it names no column; of conditions, numbers or texts."""
        handler = self._handlers.get(type(node))
        if handler is None:
            self.expression.refuse(node)
        try:
            return handler(node)
        except RecursionError:
            self.expression.fail(DEEP)

    def condition(self, node: ast.expr) -> Array:
        value = self.value(node)
        if value.dtype != bool:
            self.expression.refuse(node, f"it is {KINDS[value.dtype.kind]}, and no condition; compare it with something")
        return value

    def _number(self, node: ast.expr) -> Array:
        value = self.value(node)
        if value.dtype.kind not in "if":
            self.expression.refuse(node, f"it is {KINDS[value.dtype.kind]}, and only numbers can be computed with")
        return value

    def _name(self, node: ast.Name) -> Array:
        name = self.expression.column(node)
        if name not in self.used:
            self.used[name] = self._column(name)
        return self.used[name]

    def _constant(self, node: ast.Constant) -> Array:
        kinds: dict[type, type] = {str: object, int: np.int64, float: np.float64}
        kind = kinds.get(type(node.value))
        if kind is None:
            self.expression.refuse(node, "columns hold numbers and texts; a text stands in quotes")
        try:
            return np.array(node.value, kind)
        except OverflowError:
            self.expression.refuse(node, "whole numbers have 64 bits at most")

    def _unary(self, node: ast.UnaryOp) -> Array:
        if isinstance(node.op, ast.Not):
            return np.asarray(~self.condition(node.operand))
        if isinstance(node.op, ast.USub):
            return self._computed(node, ast.Sub(), np.array(0), self._number(node.operand))
        return self.expression.refuse(node)

    def _binary(self, node: ast.BinOp) -> Array:
        if isinstance(node.op, ast.BitAnd | ast.BitOr):
            self.expression.refuse(node, "conditions are joined with: and, or, not")
        if type(node.op) not in ARITHMETIC:
            self.expression.refuse(node)
        return self._computed(node, node.op, self._number(node.left), self._number(node.right))

    def _computed(self, node: ast.expr, op: ast.operator, left: Array, right: Array) -> Array:
        try:
            return compute(op, left, right)
        except OverflowError:
            self.expression.refuse(node, "it leads to whole numbers of more than 64 bits")

    def _joined(self, node: ast.BoolOp) -> Array:
        join = operator.and_ if isinstance(node.op, ast.And) else operator.or_
        return np.asarray(functools.reduce(join, map(self.condition, node.values)))

    def _compared(self, node: ast.Compare) -> Array:
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            self.expression.refuse(node, "write == or !=")
        nodes = [node.left, *node.comparators]
        pairs = zip(nodes, node.ops, nodes[1:], strict=False)
        return np.asarray(functools.reduce(operator.and_, (self._pair(left, op, right) for left, op, right in pairs)))

    def _pair(self, first: ast.expr, op: ast.cmpop, second: ast.expr) -> Array:
        if isinstance(op, ast.In | ast.NotIn):
            return self._among(first, second) ^ isinstance(op, ast.NotIn)
        left, right = self.value(first), self.value(second)
        self._same_kind(first, left, second, right)
        return compare(op, left, right)

    def _among(self, first: ast.expr, second: ast.expr) -> Array:
        if not isinstance(second, ast.Tuple | ast.List):
            self.expression.refuse(second, "behind `in` stands a list of values: in (1, 2), in ('a',)")
        left = self.value(first)
        values = []
        for node in second.elts:
            value = self.value(node)
            if value.ndim:
                self.expression.refuse(node, "behind `in` stands a list of values, not of columns")
            self._same_kind(first, left, node, value)
            values.append(value.item())
        return among(left, set(values))

    def _same_kind(self, first: ast.expr, left: Array, second: ast.expr, right: Array) -> None:
        one, two = KINDS[left.dtype.kind], KINDS[right.dtype.kind]
        if one != two or "b" in left.dtype.kind:
            shown = self.expression.shown
            self.expression.fail(f"{shown(first)} is {one} and {shown(second)} is {two}: they cannot be compared")
