"""The order of a bake and the parts of a split: complete, reproducible for ever, and well mixed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from convert.errors import PrebakeError
from convert.order import permutation
from readers.split import divide

SEEDS = st.integers(0, (1 << 63) - 1)
MASK = (1 << 64) - 1


def walk(position: int, count: int, seed: int) -> int:
    """The same permutation in plain whole numbers: a Feistel network of six rounds, keyed by splitmix64, walked until inside."""

    def mix(x: int) -> int:
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
        return x ^ (x >> 31)

    half = 1
    while 1 << 2 * half < max(4, count):
        half += 1
    while True:
        left, right = position >> half, position & (1 << half) - 1
        for step in range(1, 7):
            key = mix(seed + step * 0x9E3779B97F4A7C15 & MASK)
            left, right = right, left ^ (mix(right ^ key) & (1 << half) - 1)
        position = left << half | right
        if position < count:
            return position


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 3000), SEEDS)
@example(1, 0)
@example(2, 0)
@example(3, 7)
@example(65536, 1)
@example(65537, 1)
@example(200_000, 2)
def test_it_is_a_permutation(count: int, seed: int) -> None:
    order = permutation(count, seed)
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(count))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 300), SEEDS)
def test_it_is_the_arithmetic_that_it_says(count: int, seed: int) -> None:
    assert permutation(count, seed).tolist() == [walk(position, count, seed) for position in range(count)]


@pytest.mark.parametrize(
    ("count", "seed", "order"),
    [
        (12, 0, [11, 5, 1, 8, 6, 3, 4, 0, 9, 2, 10, 7]),
        (20, 123_456_789, [0, 5, 14, 3, 17, 9, 4, 18, 11, 6, 13, 19, 2, 1, 7, 16, 10, 8, 15, 12]),
    ],
)
def test_the_order_never_changes(count: int, seed: int, order: list[int]) -> None:
    """A bake must be the same in ten years: if this fails, the arithmetic has been changed, and must be changed back."""
    assert permutation(count, seed).tolist() == order


def test_seeds_give_different_orders() -> None:
    orders = {tuple(permutation(50, seed).tolist()) for seed in [*range(200), 1 << 32, 1 << 62, (1 << 63) - 1]}
    assert len(orders) == 203


@pytest.mark.parametrize("count", [1000, 4096, 4097, 50_000])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_well_mixed(count: int, seed: int) -> None:
    order = permutation(count, seed).astype(float)
    positions = np.arange(count)
    assert abs(np.abs(order - positions).mean() / (count / 3) - 1) < 0.05
    assert abs(np.corrcoef(order, positions)[0, 1]) < 5 / np.sqrt(count)
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 5 / np.sqrt(count)  # neighbours are no more alike than any two
    classes = (order * 10 // count).astype(int)  # ten classes, one after the other in the source
    batches = [len(set(classes[start : start + 50].tolist())) for start in range(0, count - 49, 50)]
    assert np.mean(batches) > 9.5


def test_every_place_is_as_likely() -> None:
    counts = np.zeros((8, 8))
    for seed in range(4000):
        counts[np.arange(8), permutation(8, seed)] += 1
    chi_square = ((counts - 500) ** 2 / 500).sum()
    assert chi_square < 49 + 5 * np.sqrt(2 * 49)


def parts(count: int, fraction: float, seed: int, targets: npt.NDArray[np.int64] | None) -> tuple[set[int], set[int]]:
    """Both parts, after what holds for every division was checked."""
    first, second = divide(count, fraction, seed, targets)
    assert first.dtype == second.dtype == np.int64
    assert len(first) == round(fraction * count)
    assert (np.diff(first) > 0).all()
    assert (np.diff(second) > 0).all()
    np.testing.assert_array_equal(np.sort(np.concatenate([first, second])), np.arange(count))
    return set(first.tolist()), set(second.tolist())


@settings(deadline=None, max_examples=150)
@given(st.lists(st.integers(0, 12), min_size=2, max_size=300), st.floats(0.01, 0.99), st.integers(0, (1 << 32) - 1))
@example([0] * 99 + [1], 0.5, 0)
@example([0, 1, 2, 3, 4, 5], 0.5, 0)
@example([0, 0, 0, 5, 5, 5, 9, 9, 9], 2 / 3, 1)
def test_a_split_is_exact_and_fair_to_each_class(labels: list[int], fraction: float, seed: int) -> None:
    count, targets = len(labels), np.array(labels, np.int64)
    if not 0 < round(fraction * count) < count:
        with pytest.raises(PrebakeError, match="empty"):
            divide(count, fraction, seed, targets)
        return
    parts(count, fraction, seed, None)
    first, _ = parts(count, fraction, seed, targets)
    share = round(fraction * count) / count
    taken = np.bincount(targets[sorted(first)], minlength=13)
    assert np.abs(taken - np.bincount(targets, minlength=13) * share).max() < 1
    assert divide(count, fraction, seed, targets)[0].tolist() == sorted(first)


@pytest.mark.parametrize("targets", [None, np.arange(200) % 3])
def test_a_split_depends_on_its_seed_and_takes_from_everywhere(targets: npt.NDArray[np.int64] | None) -> None:
    firsts = [parts(200, 0.25, seed, targets)[0] for seed in range(40)]
    assert len(set(map(frozenset, firsts))) == 40
    assert parts(200, 0.25, 7, targets)[0] == firsts[7]
    often = np.bincount([index for first in firsts for index in first], minlength=200)
    assert abs(often[:100].sum() - 1000) < 150
    assert often.max() < 25


@pytest.mark.parametrize(("count", "fraction"), [(10, 0.0), (10, 1.0), (10, 0.04), (10, 0.96), (10, -0.5), (10, 1.5), (1, 0.5), (0, 0.5)])
def test_a_split_with_an_empty_part_is_refused(count: int, fraction: float) -> None:
    for targets in (None, np.zeros(count, np.int64)):
        with pytest.raises(PrebakeError, match="empty"):
            divide(count, fraction, 0, targets)


@pytest.mark.parametrize("fraction", [float("nan"), float("inf")])
def test_a_fraction_that_is_no_number_is_refused(fraction: float) -> None:
    with pytest.raises(PrebakeError, match="fraction"):
        divide(10, fraction, 0, None)
