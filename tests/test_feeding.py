"""`torch_loader`: settings from what the process may use, and any of them by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import bake
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler, Subset, TensorDataset

from convert import machine as oracle
from convert.errors import PrebakeError
from readers import BakedDataset, CenterCrop, feeding, machine, torch_loader


@pytest.fixture(scope="module")
def dataset(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> BakedDataset:
    out = tmp_path_factory.mktemp("feeding") / "out"
    bake(photos, out, size=(32, 32))
    return BakedDataset(out)


@pytest.mark.parametrize(
    ("machine", "workers"),
    [((1, None), 1), ((2, None), 1), ((4, None), 3), ((8, None), 6), ((64, None), 16), ((64, "8"), 2), ((16, "12"), 1)],
)
def test_workers_by_cores_and_ranks(
    dataset: BakedDataset, monkeypatch: pytest.MonkeyPatch, machine: tuple[int, str | None], workers: int
) -> None:
    cores, ranks = machine
    monkeypatch.setattr(feeding, "cores", lambda: cores)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    if ranks:
        monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
    assert _settings(dataset, monkeypatch)["num_workers"] == workers


def _settings(dataset: Dataset[Any], monkeypatch: pytest.MonkeyPatch, **options: Any) -> dict[str, Any]:
    """What torch's DataLoader would be given: it warns of more workers than this machine has cores."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(feeding, "DataLoader", lambda _, **settings: found.update(settings))
    torch_loader(dataset, 8, **options)
    return found


def test_affinity_and_cgroups_are_heeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (machine.cores(), machine.memory()) == (oracle.cores(), oracle.memory())
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert machine.cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    own = tmp_path / Path("/proc/self/cgroup").read_text().splitlines()[-1].split(":", 2)[2].lstrip("/")
    own.mkdir(parents=True, exist_ok=True)
    (own / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "memory.max").write_text("123456789\n")
    for module in (machine, oracle):
        monkeypatch.setattr(module, "CGROUP", tmp_path)
    assert (machine.cores(), machine.memory()) == (oracle.cores(), oracle.memory()) == (1, 123456789)


@pytest.mark.parametrize(("memory", "prefetch"), [(1 << 40, 4), (4 * 8 * 32 * 32 * 3 * 4 * 5, 2), (1, 1)])
def test_prefetch_fits_the_memory(dataset: BakedDataset, monkeypatch: pytest.MonkeyPatch, memory: int, prefetch: int) -> None:
    monkeypatch.setattr(feeding, "memory", lambda: memory)
    found = _settings(dataset, monkeypatch, num_workers=2)
    assert (found["prefetch_factor"], found["persistent_workers"]) == (prefetch, True)


def test_the_loader_works_and_can_be_told(dataset: BakedDataset) -> None:
    part = dataset.with_(augment=[CenterCrop(24)])
    loader = torch_loader(part, 8, shuffle=True, num_workers=2, multiprocessing_context="spawn")
    assert isinstance(loader, DataLoader)
    assert loader.pin_memory == torch.cuda.is_available()
    for _ in range(2):
        assert sum(len(images) for images, _ in loader) == len(part)
    plain = torch_loader(part, 8, num_workers=0)
    assert torch.equal(next(iter(plain))[0], torch.stack([part[i][0] for i in range(8)]))
    told = torch_loader(part, 8, num_workers=1, prefetch_factor=7, persistent_workers=False, drop_last=True, pin_memory=False)
    assert (told.num_workers, told.prefetch_factor, told.persistent_workers, told.drop_last) == (1, 7, False, True)
    assert len(list(torch_loader(TensorDataset(torch.zeros(10, 2)), 4, num_workers=1))) == 3
    batches = BatchSampler(SequentialSampler(part), 5, drop_last=False)
    assert next(len(images) for images, _ in torch_loader(part, 5, batch_sampler=batches, num_workers=0)) == 5


def _to_tensor(picture: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(picture)).float()


def test_less_is_ready_in_a_small_shm(dataset: BakedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    info = list(os.statvfs("/dev/shm"))
    info[1], info[4] = 4096, 100
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(info))
    slow = Subset(dataset.with_(transform=_to_tensor), range(8))
    assert _settings(slow, monkeypatch, num_workers=2)["prefetch_factor"] == 2
    assert _settings(Subset(dataset, range(8)), monkeypatch, num_workers=2)["prefetch_factor"] == 4


def test_a_strange_environment(dataset: BakedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "many")
    with pytest.raises(PrebakeError, match="LOCAL_WORLD_SIZE=many"):
        torch_loader(dataset, 8)
