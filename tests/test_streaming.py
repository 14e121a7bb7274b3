"""Tar shards as a stream: the samples of TarDataset, each once, over any number of ranks and workers."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import bake
from damage import listed
from launch import ROOT
from torch.utils.data import DataLoader

from convert.contracts import Pixels, Sample, ShardSpec
from convert.errors import PrebakeError
from convert.formats.webdataset import FORMAT
from convert.manifest import MANIFEST, Target, read_manifest
from readers import BakedDataset, open_dataset
from readers.streaming import Stream

SHARDS = 5


@pytest.fixture(scope="module")
def tars(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tars") / "out"
    bake(photos, out, "webdataset", size=(24, 20), shards=SHARDS, dtype="uint8")
    return out


def _bytes(image: torch.Tensor) -> bytes:
    return image.contiguous().numpy().tobytes()


def _right(dataset: BakedDataset) -> Counter[tuple[bytes, int]]:
    return Counter((_bytes(image), label) for image, label in dataset)


def _found(loader: Any) -> Counter[tuple[bytes, int]]:
    return Counter((_bytes(image), label) for images, labels in loader for image, label in zip(images, labels.tolist(), strict=True))


KINDS: dict[str, dict[str, Any]] = {
    **{dtype: {"dtype": dtype} for dtype in ("uint8", "float16", "float32")},
    "any size": {"dtype": "uint8", "resize": "short", "size": (24, 24)},
    "jpeg": {"dtype": "uint8", "encoding": "jpeg"},
    "jpeg of any size": {"dtype": "uint8", "encoding": "jpeg", "resize": "long", "size": (24, 24)},
    "gray jpeg": {"dtype": "uint8", "encoding": "jpeg", "colour": "gray"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_samples_are_those_of_the_bake(photos: Path, tmp_path: Path, kind: str) -> None:
    bake(photos, tmp_path / "out", "webdataset", shards=SHARDS, **{"size": (24, 20)} | KINDS[kind])
    dataset, stream = open_dataset(tmp_path / "out"), Stream(tmp_path / "out")
    assert len(stream) == len(dataset)
    for (image, label), (right, known) in zip(stream, dataset, strict=True):
        assert torch.equal(image, right)
        assert image.is_contiguous()
        assert (type(label), label) == (int, known)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("workers", [0, 2, SHARDS + 2])
@pytest.mark.parametrize("shuffle", [False, True])
def test_each_sample_once(tars: Path, workers: int, shuffle: bool) -> None:
    stream = Stream(tars, shuffle=shuffle, buffer=8)
    assert _found(DataLoader(stream, batch_size=4, num_workers=workers)) == _right(open_dataset(tars))


@pytest.mark.parametrize("ranks", [2, 3, SHARDS + 1])
def test_ranks_share_the_shards(tars: Path, ranks: int) -> None:
    streams = [Stream(tars, shuffle=True, rank=rank, world_size=ranks, seed=2) for rank in range(ranks)]
    found = [_found(DataLoader(stream, batch_size=4, num_workers=2)) for stream in streams]
    assert [part.total() for part in found] == [len(stream) for stream in streams]
    assert sum(found, Counter()) == _right(open_dataset(tars))


RANK = """
import sys, torch
from torch.utils.data import DataLoader
from readers.streaming import Stream
stream = Stream(sys.argv[1], shuffle=True)  # before the group is there
torch.distributed.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=int(sys.argv[3]), world_size=2)
for context in ("fork", "spawn"):
    for images, labels in DataLoader(stream, batch_size=4, num_workers=2, multiprocessing_context=context):
        print(context, *(f"{image.double().sum():.6f}" for image in images))
    print("length", len(stream))
torch.distributed.barrier()
torch.distributed.destroy_process_group()
"""


def test_two_real_ranks(tars: Path, tmp_path: Path) -> None:
    (tmp_path / "rank.py").write_text("if __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in RANK.strip().splitlines()))
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "rank.py"), str(tars), str(tmp_path / "meet")]
    runs = [subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True, env=environment) for rank in range(2)]
    lines = [line.split() for run in runs for line in run.communicate(timeout=100)[0].splitlines()]
    assert [run.returncode for run in runs] == [0, 0]
    right = Counter(f"{image.double().sum():.6f}" for image, _ in open_dataset(tars))
    for context in ("fork", "spawn"):
        assert Counter(word for line in lines if line[0] == context for word in line[1:]) == right
    assert sum(int(line[1]) for line in lines if line[0] == "length") == 2 * right.total()


def test_epochs_differ_and_repeat(tars: Path) -> None:
    stream = Stream(tars, shuffle=True, buffer=8, seed=3)
    loader = DataLoader(stream, batch_size=None, num_workers=2, persistent_workers=True)
    orders = []
    for epoch in (0, 1, 0):
        stream.set_epoch(epoch)  # seen by workers that are there already
        orders.append([_bytes(image) for image, _ in loader])
    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    assert [_bytes(image) for image, _ in Stream(tars, shuffle=True, buffer=8, seed=4)] != orders[0]


def test_ranks_that_do_not_know_each_other_are_refused(tars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(PrebakeError, match="is not initialised"):
        list(Stream(tars))
    counts = [shard.count for shard in read_manifest(tars).shards]
    assert len(Stream(tars, rank=1, world_size=2)) == sum(counts[1::2])


def test_urls(tars: Path) -> None:
    right = _right(open_dataset(tars))
    files = sorted(tars.glob("*.tar"))
    stream = Stream([path.as_uri() for path in files], like=tars)
    assert _found(DataLoader(stream, batch_size=3, num_workers=2)) == right
    braces = Stream(f"{tars}/shard-{{00000..{SHARDS - 1:05d}}}.tar", like=tars)
    assert _found(DataLoader(braces, batch_size=3)) == right
    with pytest.raises(TypeError, match="no length"):
        len(stream)
    with pytest.raises(PrebakeError, match="give like="):
        list(Stream(str(files[0])))


def test_no_labels_and_values(photos: Path, tmp_path: Path) -> None:
    folder = min(path for path in photos.iterdir() if path.is_dir())
    bake(folder, tmp_path / "none", "webdataset", size=(8, 8))
    alone, right = list(Stream(tmp_path / "none")), list(open_dataset(tmp_path / "none"))
    assert all(torch.equal(a, b) for a, b in zip(alone, right, strict=True))


def test_values(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((6, 4, 4, 3), np.float32)
    spec = ShardSpec(0, 6, Pixels(4, 4, 3, "float32"), Target("values", 2))
    with FORMAT.write_shard(tmp_path / "values.tar", spec, {}) as add:
        for i, row in enumerate(rows):
            add(Sample(str(i), row, (i / 2, float("nan"))))
    images, values = next(iter(DataLoader(Stream(str(tmp_path / "values.tar")), batch_size=6)))
    assert np.array_equal(images.permute(0, 2, 3, 1).numpy(), rows)
    assert values.dtype == torch.float32
    assert values[:, 0].tolist() == [0, 0.5, 1, 1.5, 2, 2.5]
    assert values[:, 1].isnan().all()


@pytest.mark.parametrize("damage", ["cut", "vanished", "torn", "short"])
def test_damage_is_told(tars: Path, tmp_path: Path, damage: str) -> None:
    copy = shutil.copytree(tars, tmp_path / "copy")
    manifest = read_manifest(copy)
    shard = manifest.shards[2]
    path = copy / shard.name
    if damage == "vanished":
        path.unlink()
    elif damage == "cut":
        os.truncate(path, 4000)
    else:  # the manifest agrees with the size
        os.truncate(path, 4000 if damage == "torn" else (shard.first or 0) + 2 * (shard.stride or 0) - 128 - 512)
        shards = [dataclasses.replace(s, bytes=path.stat().st_size, first=None, stride=None) if s == shard else s for s in manifest.shards]
        np.save(copy / "offsets.npy", np.zeros(manifest.count, np.int64))  # which no stream reads
        (copy / MANIFEST).write_text(listed(copy, dataclasses.replace(manifest, shards=tuple(shards)), "offsets.npy").to_json())
    for workers in (0, 1):
        with pytest.raises(PrebakeError, match=shard.name):
            list(DataLoader(Stream(copy), batch_size=2, num_workers=workers))


def test_what_cannot_be_streamed(baked: Path, format: str, tmp_path: Path) -> None:
    if format != "webdataset":
        with pytest.raises(PrebakeError, match="only tar shards"):
            Stream(baked)
    with pytest.raises(PrebakeError, match="no such bake"):
        Stream(tmp_path / "nothing")
    with pytest.raises(PrebakeError, match="no such bake"):
        Stream([])
    with pytest.raises(PrebakeError, match="give both"):
        Stream([str(tmp_path)], rank=2, world_size=2)
