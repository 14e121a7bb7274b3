"""Launches prebake in a process of its own, as a user does, and reads what that says and leaves."""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from readers import open_dataset

ROOT = Path(__file__).parent.parent
PREBAKE = (sys.executable, "-m", "convert")
SMALL = ("--size", "16")


def prebake(*args: object, cwd: Path = ROOT, command: tuple[str, ...] = PREBAKE) -> subprocess.CompletedProcess[str]:
    words = [*command, *map(str, args)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]), "COLUMNS": "80"}
    return subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, errors="surrogateescape", timeout=60, check=False
    )


def bake(*args: object) -> str:
    """What a run of small rows prints that must go well."""
    done = prebake(*args, *SMALL)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that an error is, without its first word."""
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("prebake: ")
    return done.stderr.removeprefix("prebake: ").strip()


def tree(*roots: Path) -> dict[str, tuple[int, bytes | None]]:
    """All names below some folders, with times and contents: equal only if nothing was touched."""
    paths = (path for root in roots for path in (root, *root.rglob("*")))
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None) for path in paths}


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file in a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def rows(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return list(csv.DictReader(file))


def labels(out: Path) -> dict[str, int]:
    """Label of each key: the table and the readers say the same."""
    dataset = open_dataset(out)
    assert dataset.targets is not None
    found = dict(zip(dataset.keys, dataset.targets.tolist(), strict=True))
    assert {row["key"]: int(row["label"]) for row in rows(out / "samples.csv")} == found
    return found
