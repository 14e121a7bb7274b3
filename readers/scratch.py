"""Memory that a thread uses again and again: the first write to fresh pages costs as much as what is computed into them."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

KEPT_NBYTES = 16 << 20
"""Of one piece; what is larger is made anew, and goes."""

_own = threading.local()


def scratch(use: str, nbytes: int) -> npt.NDArray[np.uint8]:
    """So many bytes, flat, with anything in them: the same at each call of a thread for one use, so for nothing that outlives the next."""
    if nbytes > KEPT_NBYTES:
        return np.empty(nbytes, np.uint8)
    kept: npt.NDArray[np.uint8] | None = getattr(_own, use, None)
    if kept is None or len(kept) < nbytes:
        kept = np.empty(nbytes, np.uint8)
        setattr(_own, use, kept)
    return kept[:nbytes]
