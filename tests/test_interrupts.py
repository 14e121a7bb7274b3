"""A signal that comes where Python drops what is raised ends the run all the same, and nothing is said of how."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from launch import ROOT

PROGRAM = """
import os, signal, sys, threading, time, weakref
from convert.interrupts import EndedError, end_once

number = int(sys.argv[2])

def raised(*_):
    os.kill(os.getpid(), number)
    time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

class Dropped:
    __del__ = raised

class Watched:
    pass

def destructor():
    Dropped()

def weak():
    watched = Watched()
    reference = weakref.ref(watched, raised)
    del watched

def fork():
    os.register_at_fork(after_in_parent=raised)
    if os.fork() == 0:
        os._exit(0)

def twice():
    Dropped()
    time.sleep(0.001)
    Dropped()

def at_once():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    raised()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])

class HalfBuilt:
    def __init__(self):
        raised()
        self.pool = []

    def __del__(self):
        self.pool.clear()

end_once()
try:
    globals()[sys.argv[1]]()
    time.sleep(20)
except EndedError as error:
    time.sleep(0.1)  # cleans up
    print(error.number)
"""


@pytest.mark.parametrize("where", ["destructor", "weak", "fork", "twice", "at_once", "HalfBuilt"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_dropped_signal_is_raised_again(where: str, number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, where, str(int(number))], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout in ({"2\n", "15\n"} if where == "at_once" else {f"{int(number)}\n"})


def test_other_errors_in_destructors_are_shown_as_ever() -> None:
    program = "from convert.interrupts import end_once; end_once()\nclass A:\n    def __del__(self): raise ValueError('seen')\nA()"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert "ValueError: seen" in done.stderr
