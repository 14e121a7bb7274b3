"""What several tests need: a folder of pictures, and a way to bake it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pictures import image_folder

from convert.commands import RECIPE
from convert.manifest import Manifest
from convert.registry import format_names
from convert.request import Request
from convert.resolve import resolve, settle
from convert.run import carry_out
from convert.tasks import Crew

Baker = Callable[..., Manifest]
CLASSES = {"1": 7, "10": 5, "2": 9, "v1.5 class": 4, "__background__": 5}


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty pictures in five classes; or, with PREBAKE_PHOTOS, a folder of the user's own."""
    if own := os.environ.get("PREBAKE_PHOTOS"):
        return Path(own)
    return image_folder(tmp_path_factory.mktemp("photos") / "source", CLASSES)


def bake(source: Path, out: Path, format: str = "memmap", *, workers: int = 1, executor: str = "serial", **asked: Any) -> Manifest:
    """Bake in this process, as the command line does with --overwrite, but with torchvision's pixels; options by name."""
    as_torchvision = {} if "like" in asked else {"exact": True, "icc": "ignore"}
    recipe: dict[str, Any] = as_torchvision | {name: asked.pop(name) for name in RECIPE if name in asked}
    preview, max_rejects = asked.pop("preview", False), asked.pop("max_rejects", "1%")
    crew = Crew(workers, executor, max_rejects, quiet=True)
    request = Request(source=source, out=out, format=format, recipe=recipe, crew=crew, **asked)
    plan, _ = resolve(request)
    return carry_out(settle(request, plan), out, crew, preview=preview, overwrite=True).manifest


@pytest.fixture(scope="session", params=format_names())
def format(request: pytest.FixtureRequest) -> str:
    """Each format that there is."""
    return str(request.param)


@pytest.fixture(scope="session")
def baked(photos: Path, format: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The photos in each format: float16, 64 x 64, three shards."""
    out = tmp_path_factory.mktemp("baked") / format
    bake(photos, out, format, size=(64, 64), shards=3)
    return out
