"""The entry point of `prebake`, which is `python -m convert`: answers Ctrl-C from the first moment, and only the first one."""

import signal
import sys
from types import FrameType

INTERRUPTED = 130


def _interrupt_once(signum: int, frame: FrameType | None) -> None:
    """Cleaning up takes a moment: an impatient second Ctrl-C must not stop it halfway."""
    del frame
    signal.signal(signum, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """The console script."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores Ctrl-C, and goes on doing so
        signal.signal(signal.SIGINT, _interrupt_once)
    try:
        from convert.cli import run_command  # takes a while, and Ctrl-C may come meanwhile

        run_command()
    except KeyboardInterrupt:
        sys.stderr.write("prebake: interrupted; nothing unfinished was kept\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
