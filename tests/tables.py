"""Makes folders of tiny pictures and tables of labels, and plans a bake of them without writing one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pictures import jpeg, photo

from convert.errors import PrebakeError
from convert.plan import Plan
from convert.request import Request
from convert.resolve import resolve
from convert.source import Source

TINY = jpeg(photo(0, 16, 16))


def pictures(root: Path, *names: str) -> Path:
    """The same tiny JPEG under each name."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(TINY)
    return root


def table(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
    return path


def plan_of(root: Path, labels: Path | None = None, **asked: Any) -> tuple[Plan, Source]:
    """What `prebake memmap ROOT OUT --labels LABELS ...` would bake."""
    return resolve(Request(source=root, out=None, format="memmap", labels=labels, **asked))


def labelled(root: Path, labels: Path, **asked: Any) -> dict[str, Any]:
    """The target of each key."""
    plan, _ = plan_of(root, labels, **asked)
    return {key: plan.target_of(item) for item, key in enumerate(plan.keys)}


def classed(root: Path, labels: Path, **asked: Any) -> dict[str, str]:
    """The class of each key, by name."""
    plan, _ = plan_of(root, labels, **asked)
    assert plan.targets is not None
    return {key: plan.classes[int(plan.targets[item])] for item, key in enumerate(plan.keys)}


def complaint(root: Path, labels: Path | None = None, **asked: Any) -> str:
    """The one line that says why a bake is refused."""
    with pytest.raises(PrebakeError) as caught:
        plan_of(root, labels, **asked)
    assert "\n" not in str(caught.value)
    return str(caught.value)
