"""Which formats and executors there are: the folder is the list, nothing else is edited."""

import importlib
import importlib.util
import pkgutil
from pathlib import Path
from typing import cast

from convert.contracts import Executor, Format
from convert.errors import PrebakeError, UsageError


def format_names() -> list[str]:
    """The formats' words, as in `prebake WORD SRC OUT`."""
    return sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent / "formats")]))


def load_format(name: str) -> Format:
    """Import a format, its library not yet.

    Raises:
        UsageError: no such format.
    """
    if name not in format_names():
        raise UsageError(f"unknown format {name!r}: there are {', '.join(format_names())}")
    return cast(Format, importlib.import_module(f"convert.formats.{name}").FORMAT)


def require(name: str) -> Format:
    """The format, once its library is known to be installed.

    Raises:
        PrebakeError: the library is missing; says what to install.
    """
    found = load_format(name)
    if found.requires and importlib.util.find_spec(found.requires) is None:
        raise PrebakeError(f"the format {name} needs the package {found.requires}, which is not installed: pip install {found.requires}")
    return found


def load_executor(name: str) -> Executor:
    """Import an executor: `local` or `serial`."""
    return cast(Executor, importlib.import_module(f"convert.executors.{name}").EXECUTOR)
