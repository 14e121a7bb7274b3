"""The folder that a bake goes to: what it holds before, and what becomes of it when a run fails."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from convert.errors import PrebakeError, printable
from convert.manifest import MANIFEST, Manifest, read_manifest
from convert.plan import WORK, Plan

OURS = re.compile(
    r"shard-\d{5,}\.\w+(\.\d+\.partial)?|manifest\.json(\.\d+\.partial)?|(targets|offsets|sizes|keys)\.npy|keys\.bin"
    r"|(samples|rejects)\.csv|preview\.png|\.prebake"
)


def check_place(out: Path, source: Path) -> None:
    """Look at both folders.

    Raises:
        PrebakeError: OUT lies inside the source, or is no folder; or the source is a bake.
    """
    if out.resolve().is_relative_to(source.resolve()):
        raise PrebakeError(f"OUT {printable(out)} is inside the source {printable(source)}: choose a folder outside of it")
    if (source / MANIFEST).is_file() and (source / "keys.bin").is_file():
        raise PrebakeError(f"{printable(source)} is a bake already, not a folder of pictures")
    if out.exists() and not out.is_dir():
        raise PrebakeError(f"OUT {printable(out)} is a file: choose another name")


def finished(out: Path, plan: Plan, overwrite: bool) -> Manifest | None:
    """The manifest, if the very same bake is there already; None if there is room for this one.

    Raises:
        PrebakeError: another bake, an unfinished one, or something else is there.
    """
    names = sorted(path.name for path in out.iterdir()) if out.exists() else []
    foreign = [name for name in names if not OURS.fullmatch(name)]
    if foreign:
        raise PrebakeError(f"OUT {printable(out)} holds something else ({printable(foreign[0])}): choose an empty or a new folder")
    if not names or overwrite:
        return None
    if MANIFEST not in names:
        raise PrebakeError(f"OUT {printable(out)} holds an unfinished bake: add --overwrite to start it again")
    there = read_manifest(out)
    if there.plan != plan.fingerprint:
        raise PrebakeError(f"OUT {printable(out)} holds another bake ({_difference(there, plan)}): choose another OUT, or add --overwrite")
    return there


def _difference(there: Manifest, plan: Plan) -> str:
    """What sets two bakes apart, in the user's words."""
    recipe = plan.recipe
    pairs = {
        "format": (there.format, plan.format),
        "size": ("x".join(map(str, there.shape[:2])), "x".join(map(str, recipe.size))),
        "resize": (there.resize, recipe.resize),
        "filter": (there.filter, recipe.filter),
        "dtype": (there.dtype, recipe.dtype),
        "mean": (there.mean, recipe.mean),
        "std": (there.std, recipe.std),
        "options": (there.options, plan.options),
        "order": (there.order, plan.order),
        "seed": (there.seed, plan.seed),
        "shards": (len(there.shards), plan.shards),
        "Pillow": (there.pillow, plan.pillow),
        "classes": (there.classes, plan.classes),
    }
    for name, (old, new) in pairs.items():
        if old != new:
            return f"its {name} differ{'s' if name not in ('options', 'classes', 'shards') else ''}" + (
                f": {old}, not {new}" if len(f"{old}{new}") < 200 else ""
            )
    return "of other pictures" if there.source != plan.source else "labelled otherwise"


def held(out: Path) -> int:
    """Bytes of the bake that is there, which `--overwrite` frees."""
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) if out.exists() else 0


def sweep(out: Path) -> None:
    """Remove what a killed worker left half written."""
    for path in out.glob("shard-*.partial"):
        path.unlink()


def _clear(out: Path) -> None:
    """Remove a bake; the manifest first, so that what is left never looks whole."""
    names = sorted((path.name for path in out.iterdir()), key=lambda name: name != MANIFEST)
    for name in filter(OURS.fullmatch, names):
        path = out / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@contextmanager
def place(out: Path) -> Iterator[Path]:
    """The folder, emptied, with its work folder, for the time of a run; when the run fails, nothing of it is left.

    Raises:
        PrebakeError: the folder cannot be made.
    """
    made = [path for path in (out, *out.absolute().parents) if not path.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        _clear(out)
        (out / WORK).mkdir()
    except OSError as error:
        raise PrebakeError(f"OUT {printable(out)} cannot be written: {error.strerror}") from error
    try:
        yield out / WORK
    except BaseException:
        _clear(out)
        with suppress(OSError):  # somebody else has put something there meanwhile
            for folder in made:
                folder.rmdir()
        raise
    shutil.rmtree(out / WORK)
