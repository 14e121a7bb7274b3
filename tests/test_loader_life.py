"""A Loader's life: threads end, children begin anew, and nothing of the user's settings is changed."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from epochs import ended, running, used_up
from launch import ROOT

from convert.errors import PrebakeError
from readers import Loader, RandomCrop, open_dataset


def broken_out_of(loader: Loader) -> None:
    for _ in loader:
        break


def dropped(loader: Loader) -> None:
    iterator = iter(loader)
    next(iterator)
    del iterator


def closed(loader: Loader) -> None:
    with loader:
        iterator = iter(loader)
        next(iterator)
    assert running() == 0
    with pytest.raises(StopIteration):
        next(iterator)


def raised_in(loader: Loader) -> None:
    def loop() -> None:
        for _ in loader:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loop()


def in_a_cycle(loader: Loader) -> None:
    cycle: list[Any] = [iter(loader)]
    cycle.append(cycle)
    next(cycle[0])


@pytest.mark.parametrize("way", [broken_out_of, used_up, dropped, closed, raised_in, in_a_cycle])
def test_threads_end(baked: Path, way: Callable[[Loader], None]) -> None:
    loader = Loader(open_dataset(baked), 2, threads=3)
    assert running() == 0
    way(loader)
    ended()
    assert sum(len(labels) for _, labels in loader) == len(open_dataset(baked))
    ended()


def test_a_script_that_breaks_out_ends_at_once(baked: Path) -> None:
    program = f"from readers import Loader, open_dataset\nit = iter(Loader(open_dataset({str(baked)!r}), 2))\nnext(it)\nkept = [it, it]"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - began < 50


SETTINGS = """
import sys, threading, torch
from readers import Loader, open_dataset
if sys.argv[2] != "default":
    torch.set_num_threads(int(sys.argv[2]))
def new():
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start(); thread.join()
    return found[0]
before = None if sys.argv[2] == "untouched" else (torch.get_num_threads(), new())
loader = Loader(open_dataset(sys.argv[1]), 2, threads=3)
for _ in range(3):
    for number, _ in enumerate(loader):
        assert before == (torch.get_num_threads(), new()), (before, torch.get_num_threads(), new())
        if number == 3: break
"""


@pytest.mark.parametrize("count", ["default", "1", "2", "5"])
def test_the_users_thread_counts_stay(baked: Path, count: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", SETTINGS, str(baked), count], env=environment, check=True, timeout=60)


def test_the_threads_compute_on_one_core(baked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    fill = Loader(open_dataset(baked), 2, threads=2)
    monkeypatch.setattr("readers.fill.render", lambda *_args, **_options: counts.append(torch.get_num_threads()))
    used_up(fill)
    assert set(counts) == {1}


def test_the_users_generators_stay(baked: Path) -> None:
    def draws() -> tuple[float, float, float]:
        return float(torch.rand(())), float(np.random.random()), random.random()

    def seed() -> None:
        torch.manual_seed(3), np.random.seed(3), random.seed(3)

    seed()
    expected = draws()
    seed()
    used_up(Loader(open_dataset(baked, augment=[RandomCrop(40)]), 4, shuffle=True))
    assert draws() == expected


def _child(loader: Loader, iterator: Any, expected: list[torch.Tensor], queue: Any) -> None:
    try:
        next(iterator)
    except PrebakeError as error:
        loader.set_epoch(0)
        pairs = zip(loader, expected, strict=True)
        # not torch.equal, which hangs in a forked child whose parent has used OpenMP
        same = all(np.array_equal(images.numpy(), other.numpy()) for (images, _), other in pairs)
        queue.put((str(error), same))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_begins_anew(baked: Path) -> None:
    loader = Loader(open_dataset(baked), 4, shuffle=True)
    expected = [images.clone() for images, _ in loader]
    iterator = iter(loader)
    next(iterator)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(loader, iterator, expected, queue))
    child.start()
    message, same = queue.get(timeout=20)
    child.join(60)
    assert child.exitcode == 0
    assert "begin a new one" in message
    assert same
    assert sum(1 for _ in iterator) == len(loader) - 1


def test_several_at_once_in_several_threads(baked: Path) -> None:
    dataset = open_dataset(baked, augment=[RandomCrop(40)])
    expected = [images.clone() for images, _ in Loader(dataset, 4, shuffle=True)]
    results: list[bool] = []

    def use() -> None:
        for _ in range(3):
            loader = Loader(dataset, 4, shuffle=True, threads=2)
            results.append(all(torch.equal(images, other) for (images, _), other in zip(loader, expected, strict=True)))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [True] * 12
    ended()
