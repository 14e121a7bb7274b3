"""Says that the bench was stopped by Ctrl-C or by `kill`, and exits as shells expect it."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from convert.interrupts import EndedError


def end(error: KeyboardInterrupt) -> NoReturn:
    """With 128 and the signal's number."""
    number = error.number if isinstance(error, EndedError) else signal.SIGINT
    sys.stderr.write(f"bench: {'interrupted' if number == signal.SIGINT else 'ended from outside'}\n")
    sys.exit(128 + number)
