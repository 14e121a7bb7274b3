"""The entry point of `prebake`, which is `python -m convert`: answers Ctrl-C from the first moment."""

import signal
import sys

from convert.interrupts import EndedError, all_is_said, end_once

NEEDED = {"PIL": "pillow", "click": "click", "numpy": "numpy", "simplejpeg": "simplejpeg", "tqdm": "tqdm"}
"""Modules that every bake needs, and the distributions they come from."""


def main() -> None:
    """The console script."""
    end_once()
    try:
        try:
            from convert.cli import run_command  # takes a while, and Ctrl-C may come meanwhile

            run_command()
        finally:
            all_is_said()
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.stderr.write(f"prebake: the package {NEEDED[error.name]} is not installed: pip install {NEEDED[error.name]}\n")
        sys.exit(1)
    except KeyboardInterrupt as error:
        all_is_said()  # it may be the first call that was ended
        number = error.number if isinstance(error, EndedError) else signal.SIGINT
        what = "interrupted" if number == signal.SIGINT else "ended from outside"
        sys.stderr.write(f"prebake: {'; '.join([what, *getattr(error, '__notes__', [])])}\n")
        sys.exit(128 + number)


if __name__ == "__main__":
    main()
