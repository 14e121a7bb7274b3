"""Bakes from nobody knows where: an error or the right pixels, no path that leads out, no crash, and nothing wrong that `verify` misses."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import bake
from damage import nine_rows
from pictures import image_folder

from convert.errors import PrebakeError
from convert.manifest import MANIFEST, Manifest, read_manifest
from convert.registry import load_format
from convert.tasks import Crew
from convert.verify import verify
from readers import open_dataset

CREW = Crew(1, "serial", quiet=True)
HEAD = 4096
EXTREMES = (b"\0" * 8, b"\xff" * 8, b"\x7f" + b"\xff" * 7)


@pytest.fixture(scope="module")
def folder(format: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nine_rows(tmp_path_factory.mktemp(format), format)


def sealed(folder: Path, manifest: Manifest) -> None:
    """As somebody would write it who knows how: sizes and checksums are those of the files."""
    paths = [folder / shard.name for shard in manifest.shards]
    found: list[dict[str, Any]] = [{"bytes": path.stat().st_size, "checksum": digest(path)} for path in paths]
    shards = tuple(dataclasses.replace(shard, **facts) for shard, facts in zip(manifest.shards, found, strict=True))
    (folder / MANIFEST).write_text(dataclasses.replace(manifest, shards=shards).sealed().to_json())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def mutated(data: bytes, random: np.random.Generator, reach: int) -> bytes:
    """A few bytes near the beginning changed; the length stays."""
    new = bytearray(data)
    for _ in range(int(random.integers(1, 9))):
        place = int(random.integers(min(reach, len(new))))
        kind = int(random.integers(3))
        if kind == 0:
            new[place] ^= 1 << int(random.integers(8))
        elif kind == 1:
            new[place : place + 8] = EXTREMES[int(random.integers(3))][: len(new) - place]
        else:
            new[place] = int(random.integers(256))
    return bytes(new)


def test_a_manifest_with_any_bytes_changed(folder: Path) -> None:
    """It is refused, or `verify` sees it, or it says the same."""
    text, random = (folder / MANIFEST).read_bytes(), np.random.default_rng(7)
    before = read_manifest(folder)
    try:
        for _ in range(150):
            (folder / MANIFEST).write_bytes(mutated(text, random, len(text)))
            with contextlib.suppress(PrebakeError):
                assert verify(folder, CREW).wrong or read_manifest(folder) == before
    finally:
        (folder / MANIFEST).write_bytes(text)


def test_a_container_with_its_head_changed(folder: Path) -> None:
    """Readers open no container, so they give what stands where the rows are; `verify` sees every change."""
    manifest = read_manifest(folder)
    path = folder / manifest.shards[0].name
    data, random = path.read_bytes(), np.random.default_rng(8)
    try:
        for _ in range(100):
            new = mutated(data, random, HEAD)
            path.write_bytes(new)
            assert (path.name in verify(folder, CREW).wrong) == (new != data)
            dataset = open_dataset(folder)
            assert all(dataset.image(index).shape == (8, 8, 3) for index in range(len(dataset)))
    finally:
        path.write_bytes(data)


def test_libraries_that_open_hostile_heads(format: str, tmp_path: Path) -> None:
    """With checksums that fit, `--deep` lets the container's own library at it: in a process whose end is no more than an answer."""
    source = image_folder(tmp_path / "source", {"cat": 12, "dog": 12})
    bake(source, tmp_path / "out", format, size=(8, 8), shards=12)
    manifest, random = read_manifest(tmp_path / "out"), np.random.default_rng(9)
    for shard in manifest.shards[1:]:
        path = tmp_path / "out" / shard.name
        path.write_bytes(mutated(path.read_bytes(), random, 256))
    sealed(tmp_path / "out", manifest)
    assert not verify(tmp_path / "out", CREW).wrong
    verdict = verify(tmp_path / "out", Crew(2, quiet=True), deep=True)
    assert manifest.shards[0].name not in verdict.wrong
    assert all(what and "\n" not in what for what in verdict.wrong.values())


@pytest.mark.parametrize("kind", ["link", "soft", "storage", "virtual"])
def test_hdf5_that_leads_elsewhere(tmp_path: Path, kind: str) -> None:
    folder = nine_rows(tmp_path, "hdf5")
    manifest = read_manifest(folder)
    path = folder / manifest.shards[0].name
    secret = tmp_path / "secret.h5"
    shutil.copy(path, secret)
    shape = (manifest.shards[0].count, 8, 8, 3)
    with h5py.File(path, "w") as file:
        if kind == "link":
            file["images"] = h5py.ExternalLink(str(secret), "images")
        elif kind == "soft":
            file["images"] = h5py.SoftLink("/elsewhere")
        elif kind == "storage":
            file.create_dataset("images", shape, "<f2", external=[(str(secret), 2048, h5py.h5f.UNLIMITED)])
        else:
            layout = h5py.VirtualLayout(shape, "<f2")
            layout[:] = h5py.VirtualSource(str(secret), "images", shape)
            file.create_virtual_dataset("images", layout)
        file["filling"] = np.zeros(10_000, np.uint8)
    with pytest.raises(PrebakeError, match="has no images of its own, in one piece"):
        load_format("hdf5").locate(path, np.full(shape[0], 8 * 8 * 3 * 2))
    sealed(folder, manifest)
    assert "has no images of its own" in verify(folder, CREW, deep=True).wrong[path.name]


def test_arrays_of_objects_are_not_unpickled(tmp_path: Path) -> None:
    """A pickle may run anything."""
    folder = nine_rows(tmp_path, "memmap")
    for name in ("targets.npy", "keys.npy"):
        copy = Path(shutil.copytree(folder, tmp_path / name))
        np.save(copy / name, np.array([{"a": 1}] * 9, object), allow_pickle=True)
        fields = json.loads((copy / MANIFEST).read_text())
        for file in fields["files"]:
            file["bytes"] = (copy / file["name"]).stat().st_size
        (copy / MANIFEST).write_text(json.dumps(fields))
        with pytest.raises(PrebakeError, match="cannot be read"):
            open_dataset(copy)


def test_links_in_a_bake_are_replaced_not_followed(tmp_path: Path) -> None:
    """`repair` and `--overwrite` write into the folder, never through a link in it."""
    folder = nine_rows(tmp_path, "memmap")
    name = read_manifest(folder).shards[0].name
    (folder / name).unlink()
    (tmp_path / "mine").write_text("mine")
    (folder / name).symlink_to(tmp_path / "mine")
    bake(tmp_path / "source", folder, size=(8, 8), shards=2)
    assert not (folder / name).is_symlink()
    assert (tmp_path / "mine").read_text() == "mine"
