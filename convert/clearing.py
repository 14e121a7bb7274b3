"""Removes what is ours from a folder, and nothing else: a bake, or what a killed process left of one."""

import functools
import re
import shutil
from pathlib import Path

from convert.lock import LOCK
from convert.manifest import MANIFEST
from convert.plan import WORK
from convert.registry import format_names, load_format
from convert.replace import sync


@functools.cache
def _ours() -> re.Pattern[str]:
    """The names that a bake's files have, in any format, with what LMDB's library leaves beside them."""
    suffixes = "|".join(re.escape(load_format(name).suffix) for name in format_names())
    shards = rf"shard-\d{{5,}}({suffixes})(-lock|\.\d+(\.layout)?\.partial)?"
    tables = r"(targets|offsets|lengths|sizes|keys|hashes)\.npy|keys\.bin|(samples|rejects|duplicates)\.csv"
    beside = r"manifest\.json(\.\d+\.partial)?|preview\.png"
    return re.compile(f"{shards}|{tables}|{beside}|{re.escape(WORK)}")


def is_ours(name: str) -> bool:
    """Whether a bake has files of that name."""
    return _ours().fullmatch(name) is not None


def sweep(out: Path) -> None:
    """Remove what a killed process left half written."""
    for path in (*out.glob("*.partial"), *(out / WORK).glob("*.partial")):
        if is_ours(path.name) or path.parent.name == WORK:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def clear(out: Path) -> None:
    """Remove a bake: the manifest first, so that what is left never looks whole; last the work folder's content, by which it is ours.

    The folder itself stays, and the lock in it.
    """
    names = sorted((path.name for path in out.iterdir()), key=lambda name: (name != MANIFEST, name == WORK))
    for name in filter(is_ours, names):
        if name == WORK:
            empty(out / WORK, LOCK)
        else:
            (out / name).unlink()
        if name == MANIFEST:
            sync(out)  # a power cut must not bring it back, beside other shards


def clear_tables(out: Path) -> None:
    """Remove what lies beside the shards of an unfinished bake: it is made again, and may have other names."""
    for path in out.iterdir():
        if path.name != WORK and not path.name.startswith("shard-") and is_ours(path.name):
            path.unlink()


def empty(work: Path, *kept: str) -> None:
    """Remove a work folder's content, but for what is to be kept."""
    for path in sorted(work.iterdir()):
        if path.name in kept:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
