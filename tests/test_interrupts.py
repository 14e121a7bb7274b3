"""A signal that comes where Python drops what is raised ends the run all the same, and nothing is said of how."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import bake
from launch import ROOT
from pictures import image_folder

PROGRAM = """
import os, signal, sys, threading, time, weakref
from convert.interrupts import EndedError, end_once, signals_held_back

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

def held():
    Dropped()
    with signals_held_back():
        time.sleep(0.2)
        print("whole")

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


def test_what_was_dropped_waits_for_what_must_not_be_ended_halfway() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, "held", "15"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "whole\n15\n", "")


SHUTDOWN = """
import atexit, os, signal, sys, threading, time

def ended(kill=os.kill, pid=os.getpid(), numbers=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
    for number in numbers:
        kill(pid, number)

def waits():
    threading.main_thread().join()
    ended()

class Late:
    def __del__(self, ended=ended):
        ended()

class Importing:
    def find_spec(self, name, path=None, target=None):
        if name == "convert.cli":
            os.kill(os.getpid(), signal.SIGINT)

if __name__ == "__main__":
    where, *sys.argv[1:] = sys.argv[1:]
    if where == "thread":
        threading.Thread(target=waits).start()
    elif where == "atexit":
        atexit.register(ended)
    else:  # of a module, which goes after Python's handling of signals has ended
        late = Late()
    if sys.argv[1] == "importing":
        sys.meta_path.insert(0, Importing())
    from convert.__main__ import main
    main()
"""


@pytest.fixture(scope="module")
def baked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shutdown")
    bake(image_folder(folder / "source", {"cat": 2}), folder / "out", size=(8, 8))
    return folder / "out"


@pytest.mark.parametrize("where", ["thread", "atexit", "late"])
@pytest.mark.parametrize(("word", "code", "lines"), [("--version", 0, 0), ("verify", 0, 0), ("nonsense", 2, 4), ("importing", 130, 1)])
def test_what_comes_after_all_is_said_changes_nothing(baked: Path, *, where: str, word: str, code: int, lines: int) -> None:
    """Python itself takes a while to end, and hands signals back to the system meanwhile."""
    words = [sys.executable, "-c", SHUTDOWN, where, word, *([str(baked)] if word == "verify" else [])]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (code, lines), done.stderr
    assert ("all as they were written" in done.stdout) == (word == "verify")


def test_other_errors_in_destructors_are_shown_as_ever() -> None:
    program = "from convert.interrupts import end_once; end_once()\nclass A:\n    def __del__(self): raise ValueError('seen')\nA()"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert "ValueError: seen" in done.stderr
