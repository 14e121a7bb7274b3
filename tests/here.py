"""Runs prebake in this process, so that something can be done to its pictures at a given moment of a bake."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from convert import commands, run
from convert.cli import run_command
from convert.errors import PrebakeError
from convert.executors import local, serial
from convert.pack import pack

Done = Callable[[], object]
CAPABILITIES, OVERRIDES = 0x20080522, 0b110
"""Version of the kernel's structure; the bits by which root reads what nobody may."""


class Ran(NamedTuple):
    """What a command did."""

    code: int
    said: str
    error: str


class Here:
    """The commands of one test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._patch, self._capsys = monkeypatch, capsys
        monkeypatch.setattr(local, "EXECUTOR", serial.EXECUTOR)
        monkeypatch.setattr(commands, "GLANCE", 0.0)  # seconds in which pictures are tried for the plan

    def __call__(self, *args: object, before: dict[int, Done] | None = None) -> Ran:
        """Run a command; `before` a shard is made, something is done."""
        code = 0
        with self._patch.context() as patch:
            patch.setattr(sys, "argv", ["prebake", *map(str, args)])
            patch.setattr(run, "pack", _after(before or {}))
            try:
                run_command()
            except SystemExit as ended:
                code = int(ended.code or 0)
        return Ran(code, *self._capsys.readouterr())

    def good(self, *args: object, before: dict[int, Done] | None = None) -> str:
        """What a command says that must go well."""
        ran = self(*args, before=before)
        assert (ran.code, ran.error) == (0, "")
        return ran.said

    def refused(self, *args: object, before: dict[int, Done] | None = None) -> str:
        """The one line of a command that must fail."""
        ran = self(*args, before=before)
        assert (ran.code, ran.error.count("\n")) == (1, 1), ran.error
        return ran.error.strip()


def _after(before: dict[int, Done]) -> Callable[..., Any]:
    def late(out: Path, number: int, **more: Any) -> Any:
        before.get(number, int)()
        return pack(out, number, **more)

    return late


def end() -> None:
    """Ends a bake."""
    raise PrebakeError("ended")


@contextmanager
def as_anybody() -> Iterator[None]:
    """Without root's right to read everything."""
    libc, header, now = ctypes.CDLL(None, use_errno=True), (ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, now) == 0
    less = (ctypes.c_uint32 * 6)(*now)
    less[0] &= ~OVERRIDES
    assert libc.capset(header, less) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        assert libc.capset(header, now) == 0
