"""Runs a measuring script in a process of its own: what another left in memory, or forked, costs page faults in the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parent


def measured(script: str, work: Path, rounds: int) -> dict[str, Any]:
    """What `script` prints of a folder, as JSON."""
    environment = os.environ | {"PYTHONPATH": f"{SCRIPTS.parent}{os.pathsep}{SCRIPTS}"}
    words = [sys.executable, str(SCRIPTS / script), str(work), str(rounds)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return dict(json.loads(done.stdout))
