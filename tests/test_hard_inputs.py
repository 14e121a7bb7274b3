"""Small nasty files of the kinds that broke other converters: what is accepted has the right colours, what is rejected the right reason."""

from __future__ import annotations

import base64
import csv
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launch import prebake
from PIL import features

from convert.contracts import RejectError
from convert.image.decode import decode
from convert.reading import read_item
from convert.source import scan
from readers import open_dataset

DATA = Path(__file__).parent / "data"
OPTIONAL = ("avif", "littlecms2", "webp")
"""Parts that a build of Pillow may lack."""
ENTRIES: dict[str, dict[str, Any]] = json.loads((DATA / "expected.json").read_text())["entries"]


def _path(name: str) -> str:
    """An entry's path in the tar; names that are not UTF-8 stand there in base64."""
    entry = ENTRIES[name]
    return os.fsdecode(base64.b64decode(entry["path_b64"])) if "path_b64" in entry else name


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hard")
    with tarfile.open(DATA / "hard_inputs.tar") as tar:
        tar.extractall(root, filter="fully_trusted")  # links to nowhere, a pipe: that is the point
    return root


@pytest.fixture(scope="module")
def candidates(tree: Path) -> set[str]:
    return {f"{part}/{key}" for part in ("imagefolder", "class_order") for key in scan(tree / part).keys}


@pytest.mark.parametrize("name", [pytest.param(name, id=name.encode("ascii", "backslashreplace").decode()[:80]) for name in ENTRIES])
def test_an_entry(tree: Path, candidates: set[str], name: str) -> None:
    entry, path = ENTRIES[name], _path(name)
    missing = [part for part in entry.get("needs", []) if part in OPTIONAL and not features.check(part)]
    if entry["action"] == "ignore":
        assert path not in candidates
        return
    assert path in candidates
    try:
        levels = np.asarray(decode(read_item(tree, path)).picture)
    except RejectError as error:
        if entry.get("advisory"):
            return  # another build may see it otherwise
        reasons = entry["reason"] if entry["action"] == "reject" else "unsupported_format" if missing else "none: accept it"
        assert error.reason in reasons, error.detail  # noqa: PT017 - either way ends a file
        return
    assert entry["action"] == "accept" or entry.get("advisory")
    assert levels.shape == (*reversed(entry.get("size", levels.shape[1::-1])), 3)
    for probe in [] if missing else entry.get("probes", []):
        x, y = probe["xy"]
        assert np.abs(levels[y, x].astype(int) - probe["rgb"]).max() <= probe["tol"], probe


def test_the_whole_tree_bakes(tree: Path, tmp_path: Path) -> None:
    done = prebake("lmdb", tree / "imagefolder", tmp_path / "out", "--size", "64x96", "--resize", "stretch", "--max-rejects", "50")
    assert (done.returncode, done.stderr) == (0, "")
    with (tmp_path / "out" / "rejects.csv").open(newline="", errors="surrogateescape") as file:
        rejects = {f"imagefolder/{row['key']}": row["reason"] for row in csv.DictReader(file)}
    for name, entry in ENTRIES.items():
        if name.startswith("imagefolder/") and not entry.get("advisory") and not entry.get("needs"):
            assert (_path(name) in rejects) == (entry["action"] == "reject"), name
    dataset = open_dataset(tmp_path / "out")
    keys = {f"imagefolder/{key}": i for i, key in enumerate(dataset.keys)}
    compared = 0
    for name, entry in ENTRIES.items():
        if _path(name) in keys and entry.get("size") == [96, 64] and entry.get("probes") and not entry.get("needs"):
            image = dataset.image(keys[_path(name)])
            assert all(np.abs(image[p["xy"][1], p["xy"][0]].astype(int) - p["rgb"]).max() <= p["tol"] for p in entry["probes"]), name
            assert dataset.classes[dataset[keys[_path(name)]][1]] == entry["class"], name
            compared += 1
    assert compared > 60
