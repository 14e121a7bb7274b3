"""Random numbers and permutations as pure functions of a key and a position: nothing is stored, and nothing depends on who asks, or when.

NumPy promises no stream of its generators across versions; this arithmetic cannot change.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
ROUNDS = 8
LEAST_BITS = 8
"""With fewer bits or rounds, permutations of a handful of things are not all as likely."""

Bits = npt.NDArray[np.uint64]


def mix(x: Bits) -> Bits:
    """Scrambles 64 bits: the finaliser of splitmix64 (Steele, Lea and Flood, 2014), a bijection."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def key(*numbers: int) -> int:
    """64 bits from some whole numbers, in their order."""
    state = 0
    for number in numbers:  # the same as `mix`, on one of Python's own numbers, which is faster for one
        x = (state + (number + 1) * GOLDEN) & MASK
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
        state = x ^ (x >> 31)
    return state


def permute(position: npt.NDArray[np.int64], count: int, key: int) -> npt.NDArray[np.int64]:
    """Where a keyed permutation of range(count) takes some positions, each in that range.

    A balanced Feistel network over the next even number of bits; what falls outside of the range walks on until it is inside (cycle
    walking: Black and Rogaway, 2002).
    """
    half = (max(LEAST_BITS, (count - 1).bit_length()) + 1) // 2
    shift, mask = np.uint64(half), np.uint64((1 << half) - 1)
    keys = [np.uint64((key + number * GOLDEN) & MASK) for number in range(ROUNDS)]
    x = position.astype(np.uint64)
    todo = np.arange(len(x))
    while len(todo):
        left, right = x[todo] >> shift, x[todo] & mask
        for number in keys:
            left, right = right, left ^ (mix(right + number) & mask)
        x[todo] = (left << shift) | right
        todo = todo[x[todo] >= np.uint64(count)]
    return x.astype(np.int64)


def uniform(position: npt.NDArray[np.int64], key: int) -> npt.NDArray[np.float64]:
    """A number in [0, 1) for each position, a multiple of 2^-53."""
    bits = mix(mix(position.astype(np.uint64) + np.uint64(key)) ^ np.uint64(key))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
