"""Single fields of a manifest: each is what it should be, or a ValueError that shows it."""

from __future__ import annotations

from typing import Any

from convert.errors import printable

LIMIT = 1 << 62


def need(good: bool, what: str) -> None:
    """Raise a ValueError unless something holds."""
    if not good:
        raise ValueError(what)


def whole(value: Any, low: int = 0, high: int = LIMIT) -> int:
    """A whole number in a range."""
    need(type(value) is int and low <= value <= high, f"{value!r} is not a whole number from {low} to {high}")
    return int(value)


def text(value: Any, *choices: str) -> str:
    """A text, one of the choices if there are any."""
    need(isinstance(value, str) and (not choices or value in choices), f"{value!r} is not {' or '.join(choices) or 'text'}")
    return str(value)


def file_name(value: Any) -> str:
    """A file's name that leads nowhere else; the work folder's begins with a dot."""
    plain = isinstance(value, str) and value == printable(value) and value[:1] not in ("", ".") and not set(value) & set("/\\")
    need(plain, f"{value!r} is not a file's name")
    return str(value)


def items(value: Any) -> list[Any]:
    """A list."""
    need(isinstance(value, list), f"{value!r} is not a list")
    return list(value)


def table(value: Any) -> dict[str, Any]:
    """An object."""
    need(isinstance(value, dict), f"{value!r} is not an object")
    return dict(value)


def flat(value: Any) -> dict[str, Any]:
    """An object of plain values: what is nested may be deeper than Python can follow."""
    found = table(value)
    for name, inner in found.items():
        need(inner is None or isinstance(inner, bool | int | str), f"{name!r} is neither a number nor text")
    return found


def numbers(value: Any, count: int, low: float, high: float = 1) -> tuple[float, ...]:
    """So many numbers from `low` to `high`."""
    found = tuple(items(value))
    good = len(found) == count and all(type(v) in (int, float) and low <= v <= high for v in found)
    need(good, f"{value!r} is not {count} numbers from {low:.3g} to {high:.3g}")
    return found
