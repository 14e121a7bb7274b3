"""Memory that is used again: by one thread for one use, and never kept when it is large."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from readers.scratch import KEPT_NBYTES, scratch


def test_a_thread_gets_its_own_memory_again() -> None:
    first = scratch("one", 1000)
    assert np.shares_memory(first, scratch("one", 10))
    assert not np.shares_memory(first, scratch("other", 1000))
    assert len(scratch("one", 5000)) == 5000
    again = scratch("one", 1000)
    with ThreadPoolExecutor(1) as pool:
        assert not np.shares_memory(again, pool.submit(scratch, "one", 1000).result())


def test_large_memory_goes() -> None:
    assert not np.shares_memory(scratch("one", KEPT_NBYTES + 1), scratch("one", KEPT_NBYTES + 1))
    assert len(scratch("one", KEPT_NBYTES + 1)) == KEPT_NBYTES + 1
