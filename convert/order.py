"""The order of a shuffled bake, as a pure function of (seed, count).

A keyed Feistel network with cycle walking: a bijection of range(n). NumPy does not promise that a generator's `permutation` stays the
same across versions; this arithmetic cannot change. Mixing function: splitmix64 (Steele, Lea, Flood 2014, "Fast splittable
pseudorandom number generators").
"""

import numpy as np
import numpy.typing as npt

ROUNDS = 6
GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """splitmix64's finaliser: 64 bits in, 64 well-mixed bits out."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def permutation(count: int, seed: int) -> npt.NDArray[np.int64]:
    """A permutation of range(count): element p is what stands at position p."""
    half = (max(2, (count - 1).bit_length()) + 1) // 2
    mask, shift = np.uint64((1 << half) - 1), np.uint64(half)
    keys = mix(np.array([(seed + (k + 1) * GOLDEN) & MASK for k in range(ROUNDS)], np.uint64))
    result = np.arange(count, dtype=np.uint64)
    outside = np.ones(count, bool)
    while outside.any():  # walk the cycle until inside: on average less than four times
        left, right = result[outside] >> shift, result[outside] & mask
        for key in keys:
            left, right = right, left ^ (mix(right ^ key) & mask)
        result[outside] = (left << shift) | right
        outside = result >= np.uint64(count)
    return result.astype(np.int64)
