"""Opens a table as text: UTF-8 with or without a mark, UTF-16 with one; bytes that are no UTF-8 stay as they are."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from convert.errors import PrebakeError, printable

HEAD = 4096


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """The file as text, its line ends untouched. Undecodable bytes are surrogate escapes, as in keys: a name may hold them.

    Raises:
        PrebakeError: it cannot be read, or is no text.
    """
    try:
        if not path.is_file():
            raise PrebakeError(f"{printable(path)}: {'not a file' if path.exists() else 'no such file'}")
        with path.open("rb") as file:
            head = file.read(HEAD)
        utf16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if b"\0" in head and not utf16:
            raise PrebakeError(f"{printable(path)} is not text: save the table as CSV, in UTF-8")
        encoding, errors = ("utf-16", "strict") if utf16 else ("utf-8-sig", "surrogateescape")
        with path.open(encoding=encoding, errors=errors, newline="") as text:
            yield text
    except UnicodeDecodeError as error:
        raise PrebakeError(f"{printable(path)} begins as UTF-16 and does not go on so: save the table in UTF-8") from error
    except OSError as error:
        raise PrebakeError(f"{printable(path)} cannot be read: {error.strerror}") from error
