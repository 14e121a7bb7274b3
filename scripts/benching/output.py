"""What was found, in every form, and the files that it goes into."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from benching import pngs
from convert.errors import UsageError, printable

FILES = ("to_json", "to_markdown", "to_html", "to_png")
"""Options that name one."""


@dataclass
class Told:
    """What was found, in every form."""

    figures: dict[str, Any]
    text: str
    """For a terminal."""
    markdown: str
    page: str


def check(given: dict[str, Any]) -> None:
    """Look whether the files can be written, before minutes are spent on what goes into them.

    Raises:
        UsageError: one cannot.
    """
    for path in (given[name] for name in FILES if given[name]):
        if path.is_dir() and path != given["to_png"]:
            raise UsageError(f"{printable(path)} is a folder: give a file's name")
        folder = path.absolute().parent
        if not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise UsageError(f"{printable(path)}: {printable(folder)} is no folder that can be written into")


def write(told: Told, given: dict[str, Any]) -> None:
    """All files that were asked for."""
    if given["to_json"]:
        given["to_json"].write_text(json.dumps(told.figures, indent=1, allow_nan=False) + "\n", "utf-8")
    if given["to_markdown"]:
        given["to_markdown"].write_text(told.markdown, "utf-8", "backslashreplace")
    if given["to_html"]:
        given["to_html"].write_text(told.page, "utf-8", "xmlcharrefreplace")
    if given["to_png"]:
        pngs.write(told.page, given["to_png"])
