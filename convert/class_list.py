"""Class lists that are given: read from a file, and held against the labels of a source."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from convert.errors import PrebakeError, UsageError, counted, printable
from convert.labels.asked import Asked
from convert.manifest import Manifest
from convert.source import Source

KINDS = {"class": "classes", "values": "values", "none": "no labels"}


def read_class_file(path: Path) -> tuple[str, ...]:
    """The names in a file, one a line, in label order.

    Raises:
        PrebakeError: it cannot be read, is empty, or has a name twice.
    """
    try:
        lines = path.read_text("utf-8-sig", "surrogateescape").replace("\r\n", "\n").split("\n")
    except OSError as error:
        raise PrebakeError(f"--classes {printable(path)} cannot be read: {error.strerror}") from error
    names = tuple(line for line in lines if line.strip())
    doubles = {name for name, count in Counter(names).items() if count > 1}
    if doubles or not names:
        raise PrebakeError(
            f"--classes {printable(path)}: " + (f"{printable(min(doubles))} stands there twice" if doubles else "no names in it")
        )
    return names


def check_folder_names(source: Source, names: tuple[str, ...], path: Path | None) -> None:
    """Look whether the class folders are all in a list.

    Raises:
        PrebakeError: one is not, or there are none at all.
    """
    if not source.folders and names:
        raise PrebakeError(f"{printable(source.root)} has no class folders, but {printable(path)} names {len(names)} classes")
    known = set(names)
    unknown = [folder for folder in source.folders if folder not in known]
    if unknown:
        shown = ", ".join(map(printable, unknown[:5])) + (" ..." if len(unknown) > 5 else "")
        raise PrebakeError(f"{printable(source.root)} has {counted(len(unknown), 'class')} that {printable(path)} does not know: {shown}")


def check_kind(like: Manifest, path: Path, table: Asked | None) -> None:
    """Look whether two bakes will have targets of one kind: classes, values of the same columns, or none.

    Raises:
        UsageError: they will not.
    """
    there, columns = like.target.kind, ", ".join(map(printable, like.classes))
    if there == "values" and (table is None or table.kind != there):
        raise UsageError(f"--like {printable(path)} has values ({columns}): give --labels, and --target or --label-sep, as there")
    if table is None:
        return
    if table.kind != there:
        raise UsageError(f"--like {printable(path)} has {KINDS[there]}, and --labels would give {KINDS[table.kind]}: ask for the same")
    if table.target is not None and table.target != like.classes:
        asked = ", ".join(map(printable, table.target))
        raise UsageError(f"--like {printable(path)} has the columns {columns}, and --target names {asked}")
