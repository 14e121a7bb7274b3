"""Refuses a work folder that holds a link or a special file: nothing of ours is written, truncated or removed through one."""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path

from convert.errors import PrebakeError, printable

VIEW = "view"
"""In a work folder: links to shards, from which a contact sheet is drawn. Only there are links ours, and they are only removed."""
KINDS = {stat.S_IFLNK: "symbolic link", stat.S_IFREG: "file", stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket"}


def check_plain(work: Path) -> None:
    """Look that a work folder, where there is one, is a folder, and all in it folders and files.

    Raises:
        PrebakeError: something is neither; says what, and what to do.
    """
    todo = [work]
    while todo:
        path = todo.pop()
        with suppress(FileNotFoundError, NotADirectoryError):  # there is none; or another run has removed it meanwhile
            kind = stat.S_IFMT(path.lstat().st_mode)
            if kind == stat.S_IFDIR:
                todo += [] if path == work / VIEW else path.iterdir()
            elif kind != stat.S_IFREG or path == work:
                what = f"{printable(path)} is a {KINDS.get(kind, 'device')}"
                own = "a folder" if path == work else "files"
                raise PrebakeError(f"{what}, where prebake keeps {own} of its own: move it away, and run this again")
