"""The same pictures and options give the same bytes: whatever the workers, the executor, the place, or how often it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import bake
from launch import digests

from convert.registry import load_format


@pytest.mark.parametrize("with_keys", [False, True])
def test_output_does_not_depend_on_who_made_it(photos: Path, format: str, tmp_path: Path, with_keys: bool) -> None:
    options = {option.name.replace("-", "_"): True for option in load_format(format).options} if with_keys else {}
    runs = {"serial": (1, "serial"), "again": (1, "serial"), "one": (1, "local"), "two": (2, "local"), "four": (4, "local")}
    made = {}
    for name, (workers, executor) in runs.items():
        out = tmp_path / name / "out"
        bake(photos, out, format, workers=workers, executor=executor, size=(40, 40), shards=5, preview=True, options=options)
        made[name] = digests(out)
    assert len(made["serial"]) > 8
    assert all(one == made["serial"] for one in made.values())


def test_the_seed_changes_the_order_and_nothing_else(photos: Path, tmp_path: Path) -> None:
    for seed in (0, 1):
        bake(photos, tmp_path / str(seed), seed=seed, size=(16, 16))
    first, second = ((tmp_path / seed / "keys.bin").read_bytes() for seed in "01")
    assert first != second
    assert sorted(first) == sorted(second)


def test_shards_do_not_depend_on_the_machine(photos: Path, tmp_path: Path) -> None:
    manifest = bake(photos, tmp_path / "out", size=(16, 16), shard_size=10 * 16 * 16 * 3 * 2)
    count = manifest.count
    assert len(manifest.shards) == -(-count // 10)
    assert max(shard.count for shard in manifest.shards) - min(shard.count for shard in manifest.shards) <= 1
