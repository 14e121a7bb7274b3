"""Answers which format trains fastest here: see `benching/`, beside this file."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from benching.command import main  # noqa: E402 - beside this file

if __name__ == "__main__":
    main()
