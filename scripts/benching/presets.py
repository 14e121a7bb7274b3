"""Three well-known experiences with DataLoader, as sets of options."""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "workers-curve": {"sweep": ["num_workers=0,1,2,4,8,16,32"], "formats": "folder,memmap"},
    "defaults-vs-tuned": {"formats": "folder,memmap", "loader": "both", "model": "none"},
    "formats": {"formats": None, "loader": "prebake", "model": "none", "cold": True},
}
"""`workers-curve`: an epoch's time for each number of workers. `defaults-vs-tuned`: the folder with DataLoader's defaults and tuned,
and a bake likewise. `formats`: all of them, alone, warm and cold."""


def with_preset(given: dict[str, Any], typed: set[str]) -> dict[str, Any]:
    """Options with those of the preset, where the user typed no other."""
    if given["preset"] is None:
        return given
    return given | {name: value for name, value in PRESETS[given["preset"]].items() if name not in typed}
