"""The folder that a bake goes to: what it holds before, and what becomes of it when a run fails."""

import dataclasses
import functools
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from convert.errors import PrebakeError, printable
from convert.hashes import HASHES
from convert.manifest import MANIFEST, Manifest, read_manifest
from convert.plan import WORK, Plan
from convert.registry import format_names, load_format

JUNK = (".DS_Store", "Thumbs.db", "desktop.ini")
"""What file managers leave in a folder that was looked at."""


@functools.cache
def _ours() -> re.Pattern[str]:
    """The names that a bake's files have, in any format, with what LMDB's library leaves beside them."""
    suffixes = "|".join(re.escape(load_format(name).suffix) for name in format_names())
    shards = rf"shard-\d{{5,}}({suffixes})(-lock|\.\d+(\.layout)?\.partial)?"
    tables = r"(targets|offsets|sizes|keys|hashes)\.npy|keys\.bin|(samples|rejects|duplicates)\.csv"
    beside = r"manifest\.json(\.\d+\.partial)?|preview\.png"
    return re.compile(f"{shards}|{tables}|{beside}|{re.escape(WORK)}")


def check_place(out: Path, source: Path) -> None:
    """Look at both folders.

    Raises:
        PrebakeError: OUT lies inside the source, or is no folder; or the source is a bake.
    """
    if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(source)):
        raise PrebakeError(f"OUT {printable(out)} is inside the source {printable(source)}: choose a folder outside of it")
    if (source / MANIFEST).is_file() and (source / "keys.bin").is_file():
        raise PrebakeError(f"{printable(source)} is a bake already, not a folder of pictures")
    if (out.exists() or out.is_symlink()) and not out.is_dir():
        raise PrebakeError(f"OUT {printable(out)} is {'a file' if out.exists() else 'a link that leads nowhere'}: choose another name")


def check_kept(out: Path, used: dict[str, Path | None]) -> None:
    """Look that the bake reads nothing that it would replace; `used` says what it reads, by option.

    Raises:
        PrebakeError: it does.
    """
    for option, path in used.items():
        if path is None or not path.exists() or not out.exists():
            continue
        real = Path(os.path.realpath(path))
        if any(folder.samefile(out) for folder in (real, *real.parents)):
            what = "is what" if path.samefile(out) else "holds what"
            raise PrebakeError(f"OUT {printable(out)} {what} {option} {printable(path)} names, and would be replaced: choose another OUT")


def finished(out: Path, plan: Plan, overwrite: bool, left_open: tuple[str, ...] = ()) -> Manifest | None:
    """The manifest, if the very same bake is there already; None if there is room for this one.

    What is `left_open` of mean, std and window is not known yet, so it may be whatever it is there.

    Raises:
        PrebakeError: another bake, an unfinished one, or something else is there.
    """
    ours = _look(out)
    if not ours or overwrite:
        return None
    if not (out / MANIFEST).exists():
        raise PrebakeError(f"OUT {printable(out)} holds an unfinished bake: add --overwrite to start it again")
    there = read_manifest(out)
    plan = _as_there(plan, there, left_open)
    if there.plan != plan.fingerprint:
        raise PrebakeError(f"OUT {printable(out)} holds another bake ({_difference(there, plan)}): choose another OUT, or add --overwrite")
    sizes = {shard.name: shard.bytes for shard in there.shards if shard.count} | {file.name: file.bytes for file in there.files}
    for name, nbytes in sizes.items():
        path = out / name
        if not path.is_file() or path.stat().st_size != nbytes:
            raise PrebakeError(f"OUT {printable(out)} holds a damaged bake ({name} is missing or was changed): add --overwrite")
    shutil.rmtree(out / WORK, ignore_errors=True)  # of a run that was ended after its last step
    return there


def _as_there(plan: Plan, there: Manifest, names: tuple[str, ...]) -> Plan:
    """The plan, with some of what another bake has."""
    recipe = plan.recipe
    for name in names:
        if name == "window":
            recipe = dataclasses.replace(recipe, decoding=dataclasses.replace(recipe.decoding, window=there.decoding.window))
        else:
            recipe = dataclasses.replace(recipe, **{name: getattr(there, name)})
    return dataclasses.replace(plan, recipe=recipe)


def _look(out: Path) -> bool:
    """Whether a bake is there, finished or not.

    Raises:
        PrebakeError: something else is there, which is not ours to remove.
    """
    names = sorted(path.name for path in out.iterdir()) if out.exists() else []
    ours = WORK in names or {MANIFEST, "keys.bin"} <= set(names) or _readable(out)
    known = {name for name in names if _ours().fullmatch(name) and (name == WORK or not (out / name).is_dir())} if ours else set()
    foreign = [name for name in names if name not in known and name not in JUNK]
    if foreign:
        name = min(foreign, key=lambda name: bool(_ours().fullmatch(name)))
        raise PrebakeError(f"OUT {printable(out)} holds something else ({printable(name)}): choose an empty or a new folder")
    return ours


def _readable(out: Path) -> bool:
    """Whether a bake's manifest is there, whatever else was lost."""
    try:
        read_manifest(out)
    except PrebakeError:
        return False
    return True


def _difference(there: Manifest, plan: Plan) -> str:
    """What sets two bakes apart, in the user's words."""
    recipe = plan.recipe
    pairs = {
        "format": (there.format, plan.format),
        "size": ("x".join(map(str, there.shape[:2])), "x".join(map(str, recipe.size))),
        "resize": (there.resize, recipe.resize),
        "filter": (there.filter, recipe.filter),
        "dtype": (there.dtype, recipe.dtype),
        "color": (there.colour, recipe.colour),
        "mean": (there.mean, recipe.mean),
        "std": (there.std, recipe.std),
        "decoding": (dataclasses.asdict(there.decoding), dataclasses.asdict(recipe.decoding)),
        "options": (there.options, plan.options),
        "order": (there.order, plan.order),
        "seed": (there.seed, plan.seed),
        "shards": (len(there.shards), plan.shards),
        "Pillow": (there.pillow, plan.pillow),
        "classes": (there.classes, plan.classes),
        "dedupe": ("report" if any(file.name == HASHES for file in there.files) else "off", plan.dedupe),
    }
    for name, (old, new) in pairs.items():
        if old != new:
            verb = "differ" if name in ("options", "classes", "shards") else "differs"
            return f"its {name} {verb}" + (f": {old}, not {new}" if isinstance(old, str | int) else "")
    return "of other pictures" if there.source != plan.source else "labelled otherwise, or compared with another --like"


def held(out: Path) -> int:
    """Bytes of the bake that is there, which `--overwrite` frees."""
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) if out.exists() else 0


def sweep(out: Path) -> None:
    """Remove what a killed worker left half written."""
    for path in out.glob("shard-*.partial"):
        path.unlink(missing_ok=True)


def _clear(out: Path) -> None:
    """Remove a bake: the manifest first, so that what is left never looks whole; the work folder last, by which it is known as ours."""
    names = sorted((path.name for path in out.iterdir()), key=lambda name: (name != MANIFEST, name == WORK))
    for name in filter(_ours().fullmatch, names):
        if name == WORK:
            shutil.rmtree(out / name)
        else:
            (out / name).unlink()


@contextmanager
def place(out: Path) -> Iterator[Path]:
    """The folder, emptied, with its work folder, for the time of a run; when the run fails, nothing of it is left.

    Raises:
        PrebakeError: the folder cannot be made, or holds something else.
    """
    if out.is_dir():
        _look(out)
    made = [path for path in (out, *out.absolute().parents) if not path.exists()]
    try:
        try:
            out.mkdir(parents=True, exist_ok=True)
            (out / WORK).mkdir(exist_ok=True)  # the mark, before anything goes: what a `kill -9` leaves is known as ours
            _clear(out)
            (out / WORK).mkdir()
        except OSError as error:
            raise PrebakeError(f"OUT {printable(out)} cannot be written: {error.strerror}") from error
        yield out / WORK
    except BaseException:
        with suppress(OSError):  # what went wrong matters more; and somebody else may have put something there meanwhile
            if out.exists():
                _clear(out)
            for folder in made:
                folder.rmdir()
        raise
    shutil.rmtree(out / WORK, ignore_errors=True)
