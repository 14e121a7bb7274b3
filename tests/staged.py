"""Sends the Loader's batches the way to a device, with the CPU as the device: what tests can see of it without a GPU."""

from __future__ import annotations

import pytest
import torch

from readers.device import Staging


def stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on."""
    monkeypatch.setattr("readers.loader.staging_for", lambda _device, fill, **how: Staging(torch.device("cpu"), fill, **how))
