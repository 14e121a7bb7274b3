"""Answers which format trains fastest here: see `benching/`, beside this file."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

if __name__ == "__main__":
    # Here, since workers that bake import this file too: torch would be billed to the conversion.
    from benching.command import main

    main()
