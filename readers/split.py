"""Divides a data set in two, by class, by group, by both or by neither, the same way for ever."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, counted
from readers.rows import Index

EXACT = 64
"""So many of the largest groups, and as many others, are chosen to meet the size exactly; the rest before, as they come."""


def divide(count: int, fraction: float, seed: int, targets: Index | None) -> tuple[Index, Index]:
    """Two sorted sets of indices; the first holds `round(fraction * count)`.

    With `targets`, each class is divided by the same fraction, rounded so that the total is right (largest remainder). The draw is
    NumPy's RandomState, whose stream is frozen.

    Raises:
        PrebakeError: one part would be empty.
    """
    total = _total(count, fraction, seed)
    order = np.random.RandomState(seed).permutation(count)
    if targets is None:
        chosen = order[:total]
    else:
        _, number, sizes = np.unique(targets, return_inverse=True, return_counts=True)
        quota = sizes * (total / count)
        take = np.floor(quota).astype(np.int64)
        most = np.argsort(take - quota, kind="stable")  # largest remainder first
        take[most[: total - int(take.sum())]] += 1
        by_class = order[np.argsort(number[order], kind="stable")]
        rank = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen = by_class[rank < np.repeat(take, sizes)]
    first = np.zeros(count, bool)
    first[chosen] = True
    return np.flatnonzero(first), np.flatnonzero(~first)


def divide_groups(names: npt.NDArray[Any], fraction: float, seed: int, targets: Index | None) -> tuple[Index, Index]:
    """Two sorted sets of indices; rows of one name (N,) stay together, and a blank name (empty, None, NaN) is a group by itself.

    Without `targets`, the first set is as near to `round(fraction * N)` rows as whole groups allow: exactly so up to 128 groups, and
    by a choice among 128 of them where there are more. With `targets`, groups come in order of size (powers of two, and at random among
    these), and each goes where it leaves the smaller sum of `(rows - wanted)^2 / rows in all` over the classes and the whole.

    Raises:
        PrebakeError: one part would be empty.
    """
    _check(fraction, seed)
    group = _numbers(names)
    sizes = np.bincount(group)
    if len(sizes) < 2:
        raise PrebakeError(
            f"split(group=...): all {len(names)} pictures are of one group: no division of the groups leaves both parts non-empty"
        )
    total = _total(len(names), fraction, seed)
    order = np.random.RandomState(seed).permutation(len(sizes))
    if targets is not None:
        order = order[np.argsort(-np.frexp(sizes[order])[1], kind="stable")]
    chosen = np.zeros(len(sizes), bool)
    chosen[order] = _sized(sizes[order], total) if targets is None else _alike(order, group, targets, total)
    return np.flatnonzero(chosen[group]), np.flatnonzero(~chosen[group])


def _total(count: int, fraction: float, seed: int) -> int:
    """Rows of the first part."""
    _check(fraction, seed)
    total = round(fraction * count)
    if not 0 < total < count:
        what = f"split({fraction}) of {counted(count, 'picture')} leaves one part empty"
        raise PrebakeError(f"{what}: {f'give a fraction nearer to 0.5 than {fraction}' if count > 1 else 'it takes two or more'}")
    return total


def _check(fraction: float, seed: int) -> None:
    if not 0 < fraction < 1:
        raise PrebakeError(f"split({fraction}) leaves one part empty: give a fraction between 0 and 1")
    if not 0 <= seed < 1 << 32:
        raise PrebakeError(f"split(seed={seed}): a seed is from 0 to {(1 << 32) - 1}")


def _numbers(names: npt.NDArray[Any]) -> Index:
    """A number for each name, in order of first appearance."""
    seen: dict[Any, int] = {}
    blank = (name is None or name != name or (isinstance(name, str) and not name.strip()) for name in names.tolist())
    keys = (object() if alone else name for name, alone in zip(names.tolist(), blank, strict=True))
    return np.fromiter((seen.setdefault(key, len(seen)) for key in keys), np.int64, len(names))


def _sized(sizes: Index, total: int) -> npt.NDArray[np.bool_]:
    """Which groups, of those in an order, have nearly `total` rows together; earlier ones rather than later ones."""
    largest = np.zeros(len(sizes), bool)
    largest[np.argsort(-sizes, kind="stable")[:EXACT]] = True
    others = np.flatnonzero(~largest)
    early, late = others[:-EXACT], np.concatenate([np.flatnonzero(largest), others[-EXACT:]])
    late.sort()
    room = total * int(sizes[early].sum()) // int(sizes.sum())
    chosen = np.zeros(len(sizes), bool)
    for place, size in zip(early.tolist(), sizes[early].tolist(), strict=True):
        chosen[place] = size <= room
        room -= size * (size <= room)
    chosen[late] = _nearest(sizes[late].tolist(), total - int(sizes[chosen].sum()))
    return chosen


def _nearest(sizes: list[int], total: int) -> list[bool]:
    """The same, as near as can be, and neither all nor none: bit s of a number says whether the groups behind can have s rows."""
    behind = [1]
    for size in reversed(sizes):
        behind.append(behind[-1] | behind[-1] << size)
    sums = behind.pop() ^ 1 ^ (1 << sum(sizes))
    below, above = sums & ((1 << total + 1) - 1), sums >> total
    found = [below.bit_length() - 1] * (below > 0) + [total + (above & -above).bit_length() - 1] * (above > 0)
    rest = min(found, key=lambda rows: abs(rows - total))
    chosen = []
    for size, others in zip(sizes, reversed(behind), strict=True):
        chosen.append(rest >= size and bool(others >> rest - size & 1))
        rest -= size * chosen[-1]
    return chosen


def _alike(order: Index, group: Index, targets: Index, total: int) -> list[bool]:
    """Which groups, in the order given, keep the classes' shares."""
    _, label = np.unique(targets, return_inverse=True)
    classes = int(label.max()) + 1
    pairs, rows = np.unique(group * classes + label, return_counts=True)
    ends = np.searchsorted(pairs, np.arange(len(order) + 1) * classes).tolist()
    labels, counts = (pairs % classes).tolist(), rows.tolist()
    weight = [*(1 / np.bincount(label)).tolist(), 1 / len(group)]
    share = total / len(group)
    excess = [0.0] * (classes + 1)
    chosen: list[bool] = []
    for number in order.tolist():
        span = slice(ends[number], ends[number + 1])
        held = [*zip(labels[span], counts[span], strict=True), (classes, sum(counts[span]))]
        cost = sum(weight[k] * n * (2 * excess[k] + n * (1 - 2 * share)) for k, n in held)  # of the first part, over the second
        last = len(chosen) == len(order) - 1 and len(set(chosen)) == 1
        chosen.append(not chosen[0] if last else cost <= 0)
        for k, n in held:
            excess[k] += n * (chosen[-1] - share)
    return chosen
