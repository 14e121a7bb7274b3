"""Ctrl-C and its like: what ends a run, once, and what must not be ended halfway."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C; `kill`, `timeout`, a container or a queue that stops; a terminal that goes away."""
LATER = 0.02
"""Seconds until an error that was dropped is raised again: callbacks are short."""


class EndedError(KeyboardInterrupt):
    """One of these signals came. A KeyboardInterrupt, since that is what every library lets through."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


_came: list[int] = []


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Cleaning up takes a moment: an impatient second Ctrl-C must not stop it halfway."""
    del frame
    _came.append(number)
    for ending in ENDING:
        signal.signal(ending, _enough)
    raise EndedError(number)


def _enough(number: int, frame: FrameType | None) -> None:
    """Not SIG_IGN: of a signal that is on its way when that is set, Python complains."""


def _not_raised(what: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised in a destructor, in a weak reference's callback and around a fork: raise it a moment later, elsewhere."""
    error = what.exc_value
    if isinstance(error, EndedError):
        number = error.number
        signal.signal(signal.SIGALRM, lambda _, frame: _end(number, frame))
        signal.setitimer(signal.ITIMER_REAL, LATER)
    elif not _came:  # then it is what half-built objects have to complain of, such as a DataLoader that was still starting its workers
        sys.__unraisablehook__(what)


def all_is_said() -> None:
    """From now on these signals change nothing: Python is about to end, and its own handling of them ends before it does."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    for end in (_enough, signal.SIG_IGN):  # one after the other: what is on its way then is raised here, or comes to nothing
        for ending in (*ENDING, signal.SIGALRM):
            signal.signal(ending, end)


def end_once() -> None:
    """Raise EndedError at the first of these signals, and no more. What is ignored already (`nohup`) stays so."""
    sys.unraisablehook = _not_raised
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
    raising = (*ENDING, signal.SIGALRM)  # the last one for what was dropped
    before = {ending: handler for ending in raising if callable(handler := signal.getsignal(ending))}
    for ending in before:
        signal.signal(ending, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
        for number, frame in came:
            before[signal.Signals(number)](number, frame)
