"""A Loader's state: where it is, and in what: a state of anything else is refused by name."""

from __future__ import annotations

import hashlib
import operator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from convert.errors import PrebakeError, printable
from convert.manifest import Manifest

VERSION = 1


def check_count(name: str, value: Any, least: int) -> int:
    """A whole number of a user's.

    Raises:
        PrebakeError: it is none, or too small, or of more than 64 bits.
    """
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not least <= number < 1 << 63:
        raise PrebakeError(f"{name}={printable(repr(value))}: give a whole number, {least} or more")
    return number


def contents_of(manifest: Manifest) -> str:
    """SHA-256 of what a bake holds in which order, in hex: the same for every container of the same pictures, rows and labels."""
    names = ("keys.bin", "keys.npy", "targets.npy", "sizes.npy", "lengths.npy")
    checksums = [file.checksum for file in manifest.files if file.name in names]
    return hashlib.sha256(
        repr((checksums, manifest.shape, manifest.encoding, manifest.dtype, manifest.classes)).encode("utf-8", "surrogateescape")
    ).hexdigest()


def _digest(numbers: npt.NDArray[Any] | None) -> str:
    """SHA-256 of an array, in hex; of none, a word."""
    return "all" if numbers is None else hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest()


@dataclass(frozen=True)
class Identity:
    """What an epoch's order depends on."""

    words: dict[str, Any]

    @classmethod
    def of(
        cls, bake: str, order: str, *, seed: int, count: int, indices: npt.NDArray[Any] | None, weights: npt.NDArray[Any] | None
    ) -> Self:
        """Of a bake's contents and a Loader's options."""
        given = "no" if weights is None else _digest(weights)
        words = {"bake": bake, "order": order, "seed": int(seed), "pictures": count, "indices": _digest(indices), "weights": given}
        return cls({"version": VERSION, **words})

    def check(self, state: Any, count: int) -> tuple[int, int]:
        """Epoch and samples of a state.

        Raises:
            PrebakeError: it was taken elsewhere, or is none.
        """
        if not isinstance(state, dict) or not {*self.words, "epoch", "samples"} <= state.keys():
            raise PrebakeError("load_state_dict: this is no state of a Loader")
        for name, own in self.words.items():
            if state[name] != own:
                raise PrebakeError(
                    f"load_state_dict: the state is of another {name} ({printable(str(state[name])[:20])}, here {str(own)[:20]}): "
                    "give the Loader the data set and the options with which it was taken"
                )
        epoch, samples = check_count("epoch", state["epoch"], 0), check_count("samples", state["samples"], 0)
        if samples > count:
            raise PrebakeError(f"load_state_dict: {samples} samples of an epoch of {count}: the state is damaged")
        return epoch, samples
