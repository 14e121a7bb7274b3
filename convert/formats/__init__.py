"""One module for each container; each exports FORMAT."""

import functools
import io
import json
from typing import Any

import numpy as np

NPY_HEADER = 128
"""Bytes of a .npy header, version 1.0, for any array of rows: padded to 64 bytes, and never longer."""


def target_json(target: int | tuple[float, ...]) -> bytes:
    """A label in decimal digits, or a JSON list of values, in which null stands for NaN."""
    if isinstance(target, int):
        return b"%d" % target
    return json.dumps([None if value != value else value for value in target]).encode()


@functools.lru_cache(maxsize=256)
def npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The .npy header of an array in C order."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype.str, "fortran_order": False, "shape": shape})
    if buffer.tell() != NPY_HEADER:
        raise AssertionError(f"a .npy header of {buffer.tell()} bytes")
    return buffer.getvalue()
