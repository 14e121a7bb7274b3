"""Ctrl-C and its like: what ends a run, once, and what must not be ended halfway."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C; `kill`, `timeout`, a container or a queue that stops; a terminal that goes away."""


class EndedError(KeyboardInterrupt):
    """One of these signals came. A KeyboardInterrupt, since that is what every library lets through."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


_ended: list[int] = []


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Cleaning up takes a moment: an impatient second Ctrl-C must not stop it halfway."""
    del frame
    _ended.append(number)
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise EndedError(number)


def heed() -> None:
    """Raise EndedError again if it was raised where Python drops it: in a destructor or a weak reference's callback."""
    if _ended:
        raise EndedError(_ended[0])


def end_once() -> None:
    """Raise EndedError at the first of these signals, and no more. What is ignored already (`nohup`) stays so."""
    for ending in ENDING:
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, _end)


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Deliver these signals afterwards: for what leaves a mess when it is stopped halfway. In a thread, nothing is to be held."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before = {ending: handler for ending in ENDING if callable(handler := signal.getsignal(ending))}
    for ending in before:
        signal.signal(ending, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
        for number, frame in came:
            before[signal.Signals(number)](number, frame)
