"""Looks at a user's own loader: where each batch's time goes, what the machine does meanwhile, and what to try first."""

from __future__ import annotations

import importlib
import itertools
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benching.clocks import shares
from benching.epochs import run
from benching.load import Load
from benching.meters import Meter
from benching.settings import Settings
from benching.work import Nothing, Training, model_threads, to_device
from convert.errors import UsageError, printable
from convert.machine import cores

WARM, SECONDS = 3, 10.0
"""Batches before the clock starts, and how long it runs at most."""


def _made(target: str) -> Any:
    """What `module:function` gives.

    Raises:
        UsageError: there is no such function, or it gives nothing that can be iterated.
    """
    module, _, name = target.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        make = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"--diagnose {printable(target)}: {printable(error)}; give module:function, from this folder or installed"
        ) from error
    loader = make()
    if not hasattr(loader, "__iter__"):
        raise UsageError(f"--diagnose {printable(target)} gave a {type(loader).__name__}, which cannot be iterated: return the loader")
    return loader


def _for_a_while(loader: Any, until: Callable[[], bool]) -> Iterator[Any]:
    """Epoch after epoch; one, of what can be iterated once only."""
    while True:
        empty = True
        for batch in loader:
            empty = False
            yield batch
            if until():
                return
        if empty:
            return


def diagnose(target: str, settings: Settings, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure it for ten seconds, training the model asked for.

    Raises:
        UsageError: there is no such loader, or its batches hold no images.
    """
    meter, loader = Meter(), _made(target)
    say(f"{target}: {WARM} batches to warm up, then {SECONDS:.0f} s")
    began: list[float] = []
    batches = _for_a_while(loader, lambda: bool(began) and time.monotonic() - began[0] > SECONDS)
    with model_threads(settings):
        first = list(itertools.islice(batches, WARM))
        if not first:
            raise UsageError(f"--diagnose {printable(target)}: the loader gives no batches")
        if not isinstance(first[0], torch.Tensor) and not (isinstance(first[0], list | tuple) and isinstance(first[0][0], torch.Tensor)):
            raise UsageError(f"--diagnose {printable(target)}: batches must be images or (images, labels), as tensors")
        work = Training(settings, 0) if settings.trains else Nothing()
        for batch in first:
            work(*to_device(batch, settings.device))
        del first, batch
        before, load = time.perf_counter(), Load.now()
        began.append(time.monotonic())
        done = run(batches, work, settings.device, meter=meter, checked=0)
        if not done.pictures:
            raise UsageError(f"--diagnose {printable(target)}: nothing is left after {WARM} batches to warm up: give a longer loader")
        machine = load.until(Load.now(), time.perf_counter() - before)
    parts = shares(done.steps)
    steps = {name: {"median": 1e3 * float(np.median(took)), "share": parts[name]} for name, took in done.steps.items()}
    told = {"loader": target, "pictures_per_s": done.pictures / done.seconds, "steps_ms": steps, "load": machine}
    told |= {"schema": 1, "workers": getattr(loader, "num_workers", None), "model": settings.model, "device": settings.device}
    return told | {"suspects": suspects(told, gpu=settings.device.startswith("cuda"))}


def suspects(told: dict[str, Any], gpu: bool) -> list[str]:
    """What holds it up, most likely first, with what to try."""
    found, load, workers = [], told["load"], told["workers"]
    waiting, copying = (told["steps_ms"][name]["share"] for name in ("waiting", "copying"))
    busy = sum(load["cores"]) / max(1, len(load["cores"]))
    if load["throttled"] > 0.05:
        found.append("the cgroup's CPU quota throttles: ask for more CPU, or use fewer workers. cat /sys/fs/cgroup/cpu.max")
    if copying > 0.2 and gpu:
        found.append("copying to the GPU takes long: pin_memory=True, and .to(device, non_blocking=True)")
    if waiting < 0.05:
        what = "GPU" if gpu else "model" if told["model"] != "none" else ""
        found.append(
            f"{what}-bound: the loader keeps up; a faster one will not help" if what else "nothing waits: give --model to train one"
        )
    elif load["disk_mb_per_s"] > 50 and busy < 0.7:
        found.append(
            f"disk-bound: {load['disk_mb_per_s']:.0f} MB/s are read while cores idle: a faster disk, or more memory for the page cache. "
            "bench.py --data FOLDER --cold says how fast bakes come from this disk"
        )
    elif workers is not None and workers < cores() and busy < 0.8:
        found.append(f"too few workers: {workers} for {cores()} cores: bench.py --data FOLDER --sweep num_workers={workers},{cores()}")
    elif busy < 0.5:
        found.append(
            "neither cores nor disks are busy: it waits for something else (network, a lock, sleep). py-spy dump --pid PID shows where"
        )
    else:
        found.append("decode-bound: the cores are busy making batches: bake once. make bench DATA=FOLDER says what that gains")
    return found


def report(told: dict[str, Any]) -> str:
    """For a terminal."""
    parts = [f"  {name:<10}{part['median']:>9.1f} ms  {100 * part['share']:>3.0f} %" for name, part in told["steps_ms"].items()]
    load = told["load"]
    return "\n".join(
        [
            f"{printable(told['loader'])}: {told['pictures_per_s']:,.0f} pictures/s; of each batch, median and share:",
            *parts,
            f"  cores busy: {' '.join(f'{100 * share:.0f}%' for share in load['cores'][:8])}{' ...' if len(load['cores']) > 8 else ''}",
            f"  disks: {load['disk_mb_per_s']:.0f} MB/s; throttled {100 * load['throttled']:.0f} % of the time",
            *(line for suspect in told["suspects"] for line in textwrap.wrap(f"- {suspect}", 80, subsequent_indent="  ")),
        ]
    )
