"""A Loader's epochs and states: it goes on where a state was taken, and refuses those of something else."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import bake
from epochs import indexed, same, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from convert.errors import PrebakeError
from readers import Loader, RandomCrop, open_dataset


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_it_goes_on_where_a_state_was_taken(tmp_path_factory: pytest.TempPathFactory, photos: Path, data: st.DataObject) -> None:
    baked = tmp_path_factory.getbasetemp() / "resume"
    if not baked.exists():
        bake(photos, baked, size=(24, 24))
    dataset = indexed(baked, augment=[RandomCrop(20)])
    order: Any = data.draw(st.sampled_from(["sequential", "shuffle", "quasi"]))
    options: dict[str, Any] = {"order": order, "seed": 5, "threads": 2}
    whole = Loader(dataset, 4, **options)
    epochs = [samples(whole) for _ in range(4)]
    batch_size, stop = data.draw(st.integers(1, 12)), data.draw(st.integers(0, 40))
    first = Loader(dataset, batch_size, **options)
    received = [len(batch[0]) for batch in itertools.islice(itertools.chain(first, first), stop)]
    state = first.state_dict()
    second = Loader(dataset, data.draw(st.integers(1, 12)), **options)
    second.load_state_dict(state)
    if data.draw(st.booleans()):
        second.set_epoch(state["epoch"])
    rest = [sample for epoch in epochs for sample in epoch][sum(received) :]
    got = samples(second) + samples(second)
    assert len(got) > len(dataset)
    assert same(got, rest[: len(got)])


def test_a_state_counts_what_was_received(baked: Path) -> None:
    loader = Loader(open_dataset(baked), 4, prefetch=3)
    assert loader.state_dict()["samples"] == 0
    running = iter(loader)
    for received in range(1, len(loader) + 1):
        next(running)
        state = loader.state_dict()
        last = received == len(loader)
        assert (state["epoch"], state["samples"]) == ((1, 0) if last else (0, 4 * received))
    with pytest.raises(StopIteration):
        next(running)
    assert loader.state_dict()["epoch"] == 1


def test_epochs(baked: Path) -> None:
    dataset = indexed(baked)
    loader = Loader(dataset, 8, shuffle=True)
    epochs = [samples(loader) for _ in range(3)]
    loader.set_epoch(1)
    assert same(samples(loader), epochs[1])
    assert same(samples(loader), epochs[2])
    loader.set_epoch(0)
    next(iter(loader))  # half an epoch is one too
    assert same(samples(loader), epochs[1])
    loader.set_epoch(0)
    loader.set_epoch(0)
    both = zip(loader, loader, strict=True)  # two at once
    pairs = [(a[-1].tolist(), b[-1].tolist()) for a, b in both]
    assert [i for a, _ in pairs for i in a] == [i for _, i in epochs[0]]
    assert [i for _, b in pairs for i in b] == [i for _, i in epochs[1]]


def test_a_state_of_something_else_is_refused_by_name(baked: Path, photos: Path, tmp_path: Path) -> None:
    bake(photos, tmp_path / "other", size=(16, 16))
    dataset = open_dataset(baked)
    state = Loader(dataset, 4, shuffle=True, seed=1).state_dict()
    others = {
        "bake": Loader(open_dataset(tmp_path / "other"), 4, shuffle=True, seed=1),
        "order": Loader(dataset, 4, order="quasi", seed=1),
        "seed": Loader(dataset, 4, shuffle=True, seed=2),
        "indices": Loader(dataset, 4, shuffle=True, seed=1, indices=list(range(len(dataset)))[::-1]),
        "pictures": Loader(dataset, 4, shuffle=True, seed=1, indices=[3, 1]),
        "weights": Loader(dataset, 4, shuffle=True, seed=1, weights="balanced"),
    }
    for name, other in others.items():
        with pytest.raises(PrebakeError, match=f"another {name}"):
            other.load_state_dict(state)
    with pytest.raises(PrebakeError, match="no state"):
        others["seed"].load_state_dict({"epoch": 3})
    with pytest.raises(PrebakeError, match="damaged"):
        Loader(dataset, 4, shuffle=True, seed=1).load_state_dict(state | {"samples": 1000})


def test_a_state_goes_from_one_format_to_another(photos: Path, tmp_path: Path) -> None:
    for format in ("memmap", "lmdb"):
        bake(photos, tmp_path / format, format, size=(24, 24))
    bake(photos, tmp_path / "other", size=(24, 24), seed=1)
    first = Loader(indexed(tmp_path / "memmap"), 4, shuffle=True)
    right = [batch[-1].tolist() for batch in first]
    loader = Loader(indexed(tmp_path / "memmap"), 4, shuffle=True)
    batches = iter(loader)
    next(batches)
    there, other = (Loader(indexed(tmp_path / name), 4, shuffle=True) for name in ("lmdb", "other"))
    there.load_state_dict(loader.state_dict())
    assert [batch[-1].tolist() for batch in there] == right[1:]
    with pytest.raises(PrebakeError, match="another bake"):
        other.load_state_dict(loader.state_dict())


def test_odd_arguments_are_said_by_name(baked: Path) -> None:
    dataset = open_dataset(baked)
    with pytest.raises(PrebakeError, match="indices="):
        Loader(dataset, 4, indices=[1.5])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a Loader is threads"):
        pickle.dumps(Loader(dataset, 4))
    assert len(Loader(dataset, 4, weights=torch.ones(len(dataset)))) > 0  # type: ignore[arg-type]


def test_an_epoch_whose_rest_fills_no_batch_is_over(baked: Path) -> None:
    dataset = open_dataset(baked)
    count = len(dataset)
    first = Loader(dataset, count - 2, drop_last=False)
    next(iter(first))
    then = Loader(dataset, 8, drop_last=True)
    then.load_state_dict(first.state_dict())
    assert list(then) == []
    state = then.state_dict()
    assert (state["epoch"], state["samples"]) == (1, 0)
    assert len(list(then)) == count // 8
