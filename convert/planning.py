"""Makes a plan of a source, of what a table says of its pictures, and of what was chosen."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from convert.image.pillow import pillow_versions
from convert.labels.label import Labelled
from convert.manifest import Keys, Target
from convert.plan import Plan
from convert.source import Source


def source_fingerprint(keys: Keys, sizes: npt.NDArray[np.int64]) -> str:
    """SHA-256 over keys and sizes, in hex."""
    digest = hashlib.sha256()
    for key, size in zip(keys, sizes.tolist(), strict=True):
        digest.update(f"{size} {len(key)} {key}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def make_plan(source: Source, labelled: Labelled | None = None, **chosen: Any) -> Plan:
    """Put a source and the user's choices together: `chosen` are the plan's format, options, recipe, classes, order, seed and shards.

    Without a table, labels follow `classes`, which is empty for a flat folder.
    """
    if labelled is not None:
        target, targets, columns, labelling = labelled.target, labelled.targets, labelled.columns, labelled.digest
    elif source.folders:
        target, targets, columns, labelling = Target("class", 1), source.labels(chosen["classes"]), {}, ""
    else:
        target, targets, columns, labelling = Target("none", 0), None, {}, ""
    return Plan(
        **chosen,
        root=str(source.root.absolute()),
        target=target,
        source=source_fingerprint(source.keys, source.sizes),
        labelling=labelling,
        pillow=pillow_versions(),
        keys=source.keys,
        targets=targets,
        columns=columns,
        stamps=np.stack([source.sizes, source.times], axis=1),
    )
