"""The errors that a user sees as one line, and the way names and numbers are shown in them."""


class PrebakeError(Exception):
    """What went wrong, with which file, and what to do next, in one line. The command line exits with 1."""

    exit_code = 1


class UsageError(PrebakeError):
    """The call itself makes no sense. The command line exits with 2."""

    exit_code = 2


class WorkerDiedError(PrebakeError):
    """A worker process ended before its task did: the task may work when tried again."""


class NotStartedError(PrebakeError):
    """No worker was left to begin this task."""


def counted(count: int, noun: str) -> str:
    """`1 class`, `2 classes`, `1,281,167 pictures`."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{ending}"


def human(nbytes: float) -> str:
    """Bytes in decimal units, as disks are sold: `78.6 MB`."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if nbytes < 1000 or unit == "TB":
            break
        nbytes /= 1000
    return f"{nbytes:.0f} {unit}" if unit == "bytes" else f"{nbytes:.1f} {unit}"


def printable(name: object) -> str:
    r"""A name as one line that any terminal takes: control characters and undecodable bytes as escapes.

    Text in any script stays as it is: `printable("caf\udce9\n") == "caf\\udce9\\n"`.
    """
    return "".join(
        c if c.isprintable() and not 0xD800 <= ord(c) < 0xE000 else c.encode("unicode_escape", "surrogatepass").decode() for c in str(name)
    )
