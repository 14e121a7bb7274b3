"""Answers which format trains fastest here: see `benching/`, beside this file."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

if __name__ == "__main__":
    from benching.ended import end

    from convert.interrupts import end_once

    end_once()  # what was baked must go at Ctrl-C and `kill` too
    try:
        # Here, since workers that bake import this file too: torch would be billed to the conversion.
        from benching.command import main

        main()
    except KeyboardInterrupt as error:
        end(error)
