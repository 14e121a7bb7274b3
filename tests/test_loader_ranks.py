"""Ranks: what each takes, with and without torch.distributed, and how threads are divided among them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import bake
from hypothesis import given
from hypothesis import strategies as st
from launch import ROOT

from convert.errors import PrebakeError
from readers import Loader, RandomCrop, open_dataset
from readers.ranks import Share, local_ranks
from readers.threads import thread_count

COUNTS = {"count": st.integers(1, 70), "batch": st.integers(1, 9), "world": st.integers(1, 6), "start": st.integers(0, 80)}


def shares(count: int, batch: int, world: int, start: int, **how: bool) -> list[Share]:
    return [Share(count, min(start, count), batch=batch, rank=rank, world=world, **how) for rank in range(world)]


def positions(share: Share) -> list[int]:
    return [position for step in range(share.steps) for position in share.positions(step).tolist()]


@given(**COUNTS)
def test_evaluation_takes_each_once(count: int, batch: int, world: int, start: int) -> None:
    parts = [positions(share) for share in shares(count, batch, world, start, even=False, drop_last=False)]
    assert sorted(position for part in parts for position in part) == list(range(min(start, count), count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@given(**COUNTS)
def test_training_takes_equal_steps_and_leaves_nothing_out(count: int, batch: int, world: int, start: int) -> None:
    parts = shares(count, batch, world, start, even=True, drop_last=False)
    assert len({(share.steps, share.samples) for share in parts}) == 1
    taken = sorted(position for share in parts for position in positions(share))
    begin = min(start, count)
    assert taken == list(range(begin, begin + len(taken)))
    assert 0 <= len(taken) - (count - begin) < world


@given(**COUNTS)
def test_drop_last_takes_full_batches_only(count: int, batch: int, world: int, start: int) -> None:
    for even in (False, True):
        parts = shares(count, batch, world, start, even=even, drop_last=True)
        sizes = {tuple(len(share.positions(step)) for step in range(share.steps)) for share in parts}
        assert len(sizes) == 1
        assert set(sizes.pop()) <= {batch}
        left = count - min(start, count) - sum(share.samples for share in parts)
        assert 0 <= left < batch * world


@given(**COUNTS, even=st.booleans(), steps=st.integers(0, 9), batch_after=st.integers(1, 9), world_after=st.integers(1, 6))
def test_other_ranks_go_on_where_these_were(
    count: int, batch: int, world: int, start: int, *, even: bool, steps: int, batch_after: int, world_after: int
) -> None:
    before = shares(count, batch, world, start, even=even, drop_last=False)
    done = sorted(p for share in before for step in range(min(steps, share.steps)) for p in share.positions(step).tolist())
    after = shares(count, batch_after, world_after, before[0].taken(steps), even=even, drop_last=False)
    rest = sorted(p for share in after for p in positions(share) if p < count)
    assert [p for p in done if p < count] + rest == list(range(min(start, count), count))


def test_several_positions_at_once_are_those_of_the_steps() -> None:
    share = Share(50, 3, batch=4, rank=1, world=3, even=True, drop_last=False)
    assert share.positions(1, 2).tolist() == [*share.positions(1).tolist(), *share.positions(2).tolist()]


def test_ranks_together_are_one(baked: Path) -> None:
    dataset = open_dataset(baked, augment=[RandomCrop(50)], return_index=True)
    for options in ({"shuffle": True}, {"weights": "balanced"}, {"order": "quasi"}):
        whole: dict[int, torch.Tensor] = dict(enumerate(torch.cat([batch[0] for batch in Loader(dataset, 6, **options)])))
        for rank in range(3):
            loader: Any = Loader(dataset, 4, rank=rank, world_size=3, **options)
            mine = torch.cat([batch[0] for batch in loader])
            assert len(mine) == len(dataset) // 3
            assert all(torch.equal(image, whole[rank + 3 * number]) for number, image in enumerate(mine))


def test_launched_ranks_that_do_not_know_each_other_are_an_error(baked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    with pytest.raises(PrebakeError, match="init_process_group"):
        Loader(open_dataset(baked), 4)
    assert len(Loader(open_dataset(baked), 4, rank=0, world_size=1)) > 0
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert len(Loader(open_dataset(baked), 4)) > 0


def test_threads_are_divided_among_the_ranks_of_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readers.threads.cores", lambda: 24)
    assert [thread_count("auto", ranks) for ranks in (1, 4, 8, 100)] == [8, 6, 3, 1]
    assert thread_count(11, 4) == 11
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert local_ranks(12) == 3
    monkeypatch.delenv("LOCAL_WORLD_SIZE")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    assert local_ranks(12) == 4
    assert local_ranks(2) == 2


RANK = """
import sys
import numpy as np, torch
from readers import Loader, RandomCrop, open_dataset
rank, store, baked, out = int(sys.argv[1]), *sys.argv[2:5]
torch.distributed.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
dataset = open_dataset(baked, augment=[RandomCrop(12)], return_index=True)
evaluation = [batch[-1].tolist() for batch in Loader(dataset, 4)]
train = Loader(dataset, 4, shuffle=True, seed=2)
steps = torch.tensor([sum(1 for _ in train)])
torch.distributed.all_reduce(steps)  # would wait for ever, were steps unequal inside the loop
running, seen = iter(train), []
for _ in range(2):
    batch = next(running)
    gathered = torch.ones(1)
    torch.distributed.all_reduce(gathered)
    seen.append(batch[-1].tolist())
torch.save({"evaluation": evaluation, "steps": steps, "seen": seen, "state": train.state_dict(), "len": len(train)}, f"{out}/{rank}")
torch.distributed.destroy_process_group()
"""


def test_two_real_ranks(photos: Path, tmp_path: Path) -> None:
    bake(photos, tmp_path / "baked", size=(16, 16))
    words = [str(tmp_path / "store"), str(tmp_path / "baked"), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ranks = [subprocess.Popen([sys.executable, "-c", RANK, str(rank), *words], env=environment) for rank in range(2)]
    assert [rank.wait(90) for rank in ranks] == [0, 0]
    found = [torch.load(tmp_path / str(rank)) for rank in range(2)]
    count = len(open_dataset(tmp_path / "baked"))
    taken = [[i for batch in part["evaluation"] for i in batch] for part in found]
    assert sorted(taken[0] + taken[1]) == list(range(count))
    assert abs(len(taken[0]) - len(taken[1])) <= 1
    assert found[0]["len"] == found[1]["len"] == int(found[0]["steps"]) / 2
    assert found[0]["state"] == found[1]["state"]
    assert found[0]["state"]["samples"] == 16
    alone = open_dataset(tmp_path / "baked", augment=[RandomCrop(12)], return_index=True)
    loader = Loader(alone, 16, shuffle=True, seed=2)
    loader.set_epoch(1)
    together = np.stack([np.concatenate(part["seen"]) for part in found]).T.reshape(-1)
    assert next(iter(loader))[-1].tolist() == together.tolist()
    alone_again = Loader(alone, 5, shuffle=True, seed=2)
    alone_again.load_state_dict(found[0]["state"])
    rest = torch.cat([batch[-1] for batch in alone_again]).tolist()
    assert sorted([*together.tolist(), *rest]) == list(range(count))
