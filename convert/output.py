"""The folder that a bake goes to: what it holds before, and what becomes of it when a run fails."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from convert.clearing import empty, is_ours
from convert.errors import PrebakeError, printable
from convert.links import check_plain
from convert.lock import LOCK, locked
from convert.manifest import MANIFEST, read_manifest
from convert.plan import WORK

APPEND, NEXT = "append", "next"
"""In the work folder: new shards for a bake that is there, and what will lie beside all of them."""
JUNK = (".DS_Store", "Thumbs.db", "desktop.ini")
"""What file managers leave in a folder that was looked at."""


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


def look(out: Path) -> bool:
    """Whether a bake is there, finished or not.

    Raises:
        PrebakeError: something else is there, which is not ours to remove.
    """
    check_plain(out / WORK)
    names = sorted(path.name for path in out.iterdir()) if out.exists() else []
    ours = WORK in names or {MANIFEST, "keys.bin"} <= set(names) or _readable(out)
    known = {name for name in names if is_ours(name) and (name == WORK or not (out / name).is_dir())} if ours else set()
    foreign = [name for name in names if name not in known and name not in JUNK]
    if foreign:
        name = min(foreign, key=is_ours)
        raise PrebakeError(f"OUT {printable(out)} holds something else ({printable(name)}): choose an empty or a new folder")
    return ours


def _readable(out: Path) -> bool:
    """Whether a bake's manifest is there, whatever else was lost."""
    try:
        read_manifest(out)
    except PrebakeError:
        return False
    return True


def held(out: Path) -> int:
    """Bytes of the bake that is there, which `--overwrite` frees."""
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) if out.exists() else 0


@contextmanager
def place(out: Path) -> Iterator[Path]:
    """The work folder of a bake, locked for the time of a run. After one that went well nothing stays in it but what is being appended.

    Folders that are empty then are removed.

    Raises:
        PrebakeError: the folder cannot be made, holds something else, or another run writes there.
    """
    if out.is_dir():
        look(out)
    made = [path for path in (out, *out.absolute().parents) if not path.exists()]
    work = out / WORK
    try:
        with _entered(work, out):
            yield work
            empty(work, LOCK, APPEND)
    finally:
        with suppress(OSError):  # not empty: there is a bake, or somebody else has put something there meanwhile
            work.rmdir()
            for folder in made:
                folder.rmdir()


@contextmanager
def _entered(work: Path, out: Path) -> Iterator[None]:
    """The lock, in a folder that is made for it: the mark by which what a `kill -9` leaves is known as ours."""
    with ExitStack() as stack:
        try:
            work.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(work, out))
        except OSError as error:
            raise PrebakeError(f"OUT {printable(out)} cannot be written: {error.strerror}") from error
        yield


def tidy(out: Path) -> None:
    """Remove what a run left that was ended after its last step."""
    if (out / WORK).exists():
        with suppress(PrebakeError), place(out):  # somebody else is at it, or it is read-only: the bake is whole all the same
            pass
