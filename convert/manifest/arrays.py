"""Opens side files that may be anything: a pipe would be waited for, a device has no end, and an array's header may say what it likes."""

from __future__ import annotations

import errno
import stat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = b"\x93NUMPY"


def regular(path: Path) -> Path:
    """The path, if a regular file is there.

    Raises:
        OSError: nothing is there, or something else.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return path


def load_array(path: Path, *, mapped: bool = True) -> npt.NDArray[Any]:
    """Map an `.npy` file, or read it; nothing is unpickled.

    Raises:
        OSError: it cannot be read, or is no regular file.
        ValueError: it holds something else.
    """
    with regular(path).open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:  # of an archive NumPy would make something else
            raise ValueError("it is no array")
    try:
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # what NumPy, zipfile and tokenize have against bytes is of any type
        raise ValueError(f"it is no array: {type(error).__name__}: {error}") from error
    return np.asarray(array)
