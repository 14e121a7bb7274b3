"""Orders and random numbers: permutations that are ones, distributions that are even, blocks that are read in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from readers import Loader, RandomCrop, open_dataset
from readers.keyed import key, permute, uniform
from readers.order import Order


def order(kind: Any, count: int, *, seed: int = 0, row_nbytes: int = 1 << 20, **options: Any) -> Order:
    return Order(kind, count, seed=seed, mean_nbytes=row_nbytes, **{"stored": None, "weights": None, **options})


@settings(deadline=None)
@example(count=1, number=0)
@given(count=st.integers(1, 3000), number=st.integers(0, (1 << 64) - 1))
def test_a_permutation_is_one(count: int, number: int) -> None:
    assert sorted(permute(np.arange(count), count, number).tolist()) == list(range(count))


@pytest.mark.parametrize("count", [1 << 31, (1 << 40) + 1, 1 << 62])
def test_a_large_permutation_stays_in_its_range_and_never_meets_itself(count: int) -> None:
    position = np.random.default_rng(0).integers(0, count, 20_000)
    there = permute(position, count, 7)
    assert there.min() >= 0
    assert there.max() < count
    assert len(np.unique(there)) == len(np.unique(position))


def test_permutations_are_as_random_as_shuffles() -> None:
    count, keys = 6, 10_000
    places = np.zeros((count, count))
    pairs = np.zeros((count, count))
    for number in range(keys):
        there = permute(np.arange(count), count, key(number))
        places[np.arange(count), there] += 1
        pairs[there[0], there[1]] += 1
    expected = keys / count
    assert ((places - expected) ** 2 / expected).sum() < 25 + 6 * np.sqrt(50)
    others = pairs[~np.eye(count, dtype=bool)]
    assert ((others - keys / 30) ** 2 / (keys / 30)).sum() < 29 + 6 * np.sqrt(58)


def test_numbers_are_even_and_know_nothing_of_each_other() -> None:
    position = np.arange(200_000)
    streams = np.stack([uniform(position, key(seed, epoch, 0, call)) for seed in (0, 1) for epoch in (0, 1) for call in (0, 1)])
    assert streams.min() >= 0
    assert streams.max() < 1
    assert np.abs(streams.mean(axis=1) - 0.5).max() < 5 / np.sqrt(12 * 200_000)
    assert np.abs(np.corrcoef(streams) - np.eye(8)).max() < 5 / np.sqrt(200_000)
    assert abs(np.corrcoef(streams[0][1:], streams[0][:-1])[0, 1]) < 5 / np.sqrt(200_000)
    assert uniform(position[77:80], key(1, 1, 0, 1)).tolist() == streams[7][77:80].tolist()


def test_the_stream_never_changes() -> None:
    assert permute(np.arange(8), 1_281_167, key(0, 0, 2)).tolist() == PERMUTED
    assert uniform(np.arange(3), key(0, 0, 0, 0)).tolist() == UNIFORM


PERMUTED = [17433, 734712, 50389, 835035, 1235266, 275028, 272501, 334788]
UNIFORM = [0.1973236285088018, 0.46936447396449876, 0.30891776971671936]


@pytest.mark.parametrize("count", [1, 63, 64, 256, 257, 600, 1111])
def test_quasi_takes_each_once_and_whole_blocks_together(count: int) -> None:
    quasi = order("quasi", count)  # four rows to a block, 256 to a window
    epochs = [quasi.at(epoch, np.arange(count)) for epoch in range(2)]
    for taken in epochs:
        assert sorted(taken.tolist()) == list(range(count))
        for start in range(0, count, 256):
            window = np.sort(taken[start : start + 256])
            runs = 1 + int((np.diff(window) != 1).sum())
            assert runs <= -(-len(window) // 4) + 2  # the turn may cut one in two, and the last block may be short
    assert count < 4 or epochs[0].tolist() != epochs[1].tolist()


def test_quasi_follows_the_rows_of_a_part() -> None:
    stored = np.random.default_rng(0).permutation(1000)[:512]
    taken = stored[order("quasi", 512, stored=stored).at(0, np.arange(512))]
    assert sorted(taken.tolist()) == sorted(stored.tolist())
    rank = np.argsort(np.argsort(stored))[order("quasi", 512, stored=stored).at(0, np.arange(256))]
    assert int((np.diff(np.sort(rank)) != 1).sum()) <= 64 + 1


def test_weights_are_frequencies() -> None:
    weights = np.array([0.0, 1, 2, 0, 5, 0])
    drawn = np.concatenate([order("shuffle", 6, weights=weights).at(epoch, np.arange(1000)) for epoch in range(40)])
    share = np.bincount(drawn, minlength=6) / len(drawn)
    assert share[weights == 0].max() == 0
    assert np.abs(share - weights / 8).max() < 0.01


def test_the_largest_number_draws_the_last_that_has_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    for weights in ([0.1] * 3 + [0.0], [1e-300, 1.0, 0.0], [0.3, 0.6, 0.1]):
        monkeypatch.setattr("readers.keyed.uniform", lambda position, _key: np.full(len(position), np.nextafter(1.0, 0.0)))
        taken = order("shuffle", len(weights), weights=np.array(weights)).at(0, np.arange(2))
        assert taken.tolist() == [int(np.flatnonzero(weights).max())] * 2


def test_balanced_draws_every_class_as_often(baked: Path) -> None:
    dataset = open_dataset(baked, augment=[RandomCrop(60)], return_index=True)
    loader = Loader(dataset, 10, weights="balanced", seed=1)
    labels = torch.cat([batch[1] for _ in range(200) for batch in loader])
    share = np.bincount(labels, minlength=5) / len(labels)
    assert len(labels) == 200 * len(dataset)
    assert np.abs(share - 0.2).max() < 0.02
    some = np.flatnonzero(np.asarray(dataset.targets) < 2)
    few = torch.cat([batch[1] for _ in range(100) for batch in Loader(dataset, 10, weights="balanced", indices=some, seed=1)])
    assert set(few.tolist()) == {0, 1}


def test_a_picture_drawn_twice_has_two_crops(baked: Path) -> None:
    dataset = open_dataset(baked, augment=[RandomCrop(32)], return_index=True)
    weights = np.zeros(len(dataset))
    weights[7] = 1
    batch = next(iter(Loader(dataset, len(dataset), weights=weights)))
    assert set(batch[2].tolist()) == {7}
    assert len({image.numpy().tobytes() for image in batch[0]}) > len(dataset) * 0.8
