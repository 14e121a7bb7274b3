"""The entry point of `prebake`, which is `python -m convert`: answers Ctrl-C from the first moment."""

import signal
import sys

from convert.interrupts import EndedError, end_once

NEEDED = {"PIL": "pillow", "click": "click", "numpy": "numpy", "simplejpeg": "simplejpeg", "tqdm": "tqdm"}
"""Modules that every bake needs, and the distributions they come from."""


def main() -> None:
    """The console script."""
    end_once()
    try:
        from convert.cli import run_command  # takes a while, and Ctrl-C may come meanwhile

        run_command()
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.stderr.write(f"prebake: the package {NEEDED[error.name]} is not installed: pip install {NEEDED[error.name]}\n")
        sys.exit(1)
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, EndedError) else signal.SIGINT
        kept = "; ".join(getattr(error, "__notes__", ["nothing unfinished was kept"]))
        sys.stderr.write(f"prebake: {'interrupted' if number == signal.SIGINT else 'ended from outside'}; {kept}\n")
        sys.exit(128 + number)


if __name__ == "__main__":
    main()
