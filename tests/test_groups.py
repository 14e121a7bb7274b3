"""`split(group=...)`: no group is divided, sizes are near, classes keep their shares, and one seed is one split for ever."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from columns import with_columns
from conftest import bake
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import image_folder

from convert.errors import PrebakeError
from readers import open_dataset
from readers.split import divide_groups

SIZES = st.lists(st.integers(1, 9), min_size=2, max_size=9)


def _names(sizes: list[int], seed: int) -> np.ndarray[Any, Any]:
    """Rows of as many groups, in any order."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))


@settings(max_examples=200, deadline=None)
@given(SIZES, st.floats(0.1, 0.9), st.integers(0, 2**32 - 1), st.booleans())
def test_groups_stay_whole_and_the_size_is_the_nearest(sizes: list[int], fraction: float, seed: int, stratify: bool) -> None:
    names = _names(sizes, seed)
    wanted = round(fraction * len(names))
    if not 0 < wanted < len(names):
        return
    first, second = divide_groups(names, fraction, seed, names % 2 if stratify else None)
    assert sorted([*first, *second]) == list(range(len(names)))
    assert sorted(first) == first.tolist()
    assert len(first)
    assert len(second)
    assert not set(names[first]) & set(names[second])
    if not stratify:
        reachable = {sum(some) for count in range(1, len(sizes)) for some in itertools.combinations(sizes, count)}
        assert abs(len(first) - wanted) == min(abs(rows - wanted) for rows in reachable)


@pytest.mark.parametrize("sizes", [[3] * 400 + [5] * 100, [1] * 5000, list(range(1, 300))], ids=lambda sizes: str(len(sizes)))
def test_many_groups_come_near_too(sizes: list[int]) -> None:
    names = _names(sizes, 0)
    for seed in range(3):
        first, second = divide_groups(names, 0.8, seed, None)
        assert not set(names[first]) & set(names[second])
        assert len(first) == round(0.8 * len(names))


def test_a_group_that_is_nearly_all() -> None:
    names = _names([100_000] + [1] * 600, 0)
    first, second = divide_groups(names, 0.8, 0, None)
    assert np.bincount(names[first])[0] == 100_000
    assert len(second) > 0


def test_classes_keep_their_shares() -> None:
    random = np.random.default_rng(0)
    names = random.integers(0, 300, 6000)
    kind = random.permutation(300) % 3  # one class in each group, another for a tenth of its rows
    targets = np.where(random.random(6000) < 0.9, kind[names], 3)
    first, _ = divide_groups(names, 0.75, 7, targets)
    wanted = 0.75 * np.bincount(targets)
    assert (np.abs(np.bincount(targets[first]) - wanted) < 10).all()
    apart, _ = divide_groups(names, 0.75, 7, None)
    assert (np.abs(np.bincount(targets[apart]) - wanted) > 10).any()


def test_a_split_is_the_same_for_ever() -> None:
    names = np.array(list("aabbbcccddddeefghiij"))
    targets = np.arange(20) % 3
    plain = ["".join(sorted(set(names[divide_groups(names, 0.6, seed, None)[0]]))) for seed in range(3)]
    alike = ["".join(sorted(set(names[divide_groups(names, 0.6, seed, targets)[0]]))) for seed in range(3)]
    assert plain == ["bcegij", "abcegj", "abcefh"]
    assert alike == ["abdhi", "bdefgj", "acdfgh"]


@pytest.mark.parametrize("blank", ["", "  ", None, float("nan")], ids=repr)
def test_a_blank_is_a_group_by_itself(blank: object) -> None:
    names = np.array([blank] * 4 + ["a"] * 2, object)
    for targets in (None, np.zeros(6, np.int64)):
        first, second = divide_groups(names, 0.5, 0, targets)
        assert len(first) == len(second) == 3


def test_a_column_a_list_or_an_array(tmp_path: Path) -> None:
    bake(image_folder(tmp_path / "source", {"cat": 9, "dog": 9}), tmp_path / "out", size=(8, 8))
    patients = ["a", "b", "c", "d", "", " "] * 3
    dataset = open_dataset(with_columns(tmp_path / "out", {"patient": patients, "number": [1, "", 2] * 6}))
    first, second = dataset.split(0.5, seed=3, group="patient")
    assert (len(first), len(second)) == (9, 9)
    assert not (set(first.column("patient")) & set(second.column("patient"))) - {"", " "}
    for same in (patients, np.array(patients), np.array([name or None for name in patients], object)):
        assert dataset.split(0.5, seed=3, group=same)[0].keys[:] == first.keys[:]
    ones = dataset.split(0.6, group="number")
    assert sorted(len(set(part.column("number")[~np.isnan(part.column("number"))])) for part in ones) in ([0, 2], [1, 1])
    assert len(ones[0]) == round(0.6 * 18)  # six rows without a number go anywhere
    half = dataset.split(0.5, stratify=True, group="patient")
    assert [part.class_counts.sum() for part in half] == [len(part) for part in half]
    nested = first.split(0.5, group="patient")
    assert sorted([*nested[0].keys, *nested[1].keys]) == sorted(first.keys)


def test_refusals(tmp_path: Path) -> None:
    bake(image_folder(tmp_path / "source", {"cat": 2, "dog": 4}), tmp_path / "out", size=(8, 8))
    dataset = open_dataset(tmp_path / "out")
    with pytest.raises(PrebakeError, match="no column patient; the nearest first, it has "):
        dataset.split(0.5, group="patient")
    with pytest.raises(PrebakeError, match="all 6 pictures are of one group: no division of the groups leaves both parts non-empty"):
        dataset.split(0.5, group="shard")
    with pytest.raises(PrebakeError, match=r"split\(group=...\) takes a column's name or 6 values, not \(2,\)"):
        dataset.split(0.5, group=["a", "b"])
    for wrong in (0.0, 1.0, 2, float("nan")):
        for group in ("key", "shard", None):
            with pytest.raises(PrebakeError, match="leaves one part empty: give a fraction between 0 and 1"):
                dataset.split(wrong, group=group)
    for wrong in (0.01, 0.99):
        with pytest.raises(
            PrebakeError, match=rf"split\({wrong}\) of 6 pictures leaves one part empty: give .* nearer to 0.5 than {wrong}"
        ):
            dataset.split(wrong, group="key")
        with pytest.raises(PrebakeError, match="no division of the groups leaves both parts non-empty"):
            dataset.split(wrong, group="shard")
    with pytest.raises(PrebakeError, match="a seed is from 0"):
        dataset.split(0.5, seed=-1, group="key")
