"""An expression over columns as a tree: Python's own parser reads it, whatever the columns are called; it is never run as Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NoReturn

from convert.errors import PrebakeError, printable

TOKEN = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|`(?P<quoted>[^`]+)`|(?P<word>\w+)|(?P<space>\s+)|(?P<comment>\#.*)""", re.DOTALL
)
WORDS = ("and", "or", "not", "in")
"""Of the language: a column called so stands in backticks; one called `class`, which is a word of Python's, need not."""
GRAMMAR = (
    "a condition is made of columns, numbers, 'texts', == != < <= > >=, in (a, b), and, or, not, + - * / % and parentheses; "
    "a column whose name is no word stands in `backticks`"
)
DEEP = "it is nested too deeply; a long list of values goes with: in (a, b)"


SHOWN = 200
"""Characters of an expression in a message."""


class Expression:
    """A user's text, its tree, and which word of the tree stands for which column."""

    def __init__(self, text: str, columns: Sequence[str]) -> None:
        """Parse.

        Raises:
            PrebakeError: it is no expression of Python's.
        """
        self._text = text
        self._known = set(columns).difference(WORDS)
        self._names: list[str] = []
        self._mark = "_"
        while self._mark in text:
            self._mark += "_"
        self._code = TOKEN.sub(self._token, text).strip()
        try:
            self.tree = ast.parse(self._code, mode="eval").body
        except SyntaxError as error:
            rest = self._as_written(self._code[max(0, (error.offset or 1) - 1) :])
            self.fail(f"at {rest!r} it is not understood: {GRAMMAR}")
        except (ValueError, RecursionError, MemoryError):
            self.fail(DEEP)

    def column(self, node: ast.Name) -> str:
        """The column that a word of the tree stands for; the word itself where there is none."""
        word = node.id.removeprefix(self._mark)
        return node.id if word == node.id else self._names[int(word)]

    def shown(self, node: ast.AST) -> str:
        """A part of the tree, as the user wrote it."""
        return self._as_written(ast.get_source_segment(self._code, node) or "")

    def refuse(self, node: ast.AST, why: str = GRAMMAR) -> NoReturn:
        """Raise a PrebakeError that points at a part of the tree."""
        self.fail(f"{self.shown(node)} is not understood: {why}")

    def fail(self, what: str) -> NoReturn:
        """Raise a PrebakeError that shows the whole."""
        raise PrebakeError(printable(f"where({_short(self._text)!r}): {what}"))

    def _token(self, match: re.Match[str]) -> str:
        if match["comment"]:
            self.fail(f"{match[0]} is not understood: {GRAMMAR}")
        if match["space"]:
            return " "
        word = match["word"]
        if match["text"] or (word and (word not in self._known or word[0].isdigit())):
            return match[0].encode("utf-8", "backslashreplace").decode()  # names that are not UTF-8 are no text for Python's parser
        self._names.append(word or match["quoted"])
        return f" {self._mark}{len(self._names) - 1} "

    def _as_written(self, code: str) -> str:
        def name(match: re.Match[str]) -> str:
            name = self._names[int(match[1])]
            return name if name.isidentifier() else f"`{name}`"

        return _short(re.sub(rf" ?{self._mark}(\d+) ?", name, code).strip())


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."
