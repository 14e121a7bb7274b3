"""Makes settings out of options, for the machine that they are used on."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benching.settings import FOLDER, Settings
from convert.errors import UsageError, printable
from convert.machine import cores
from convert.registry import format_names


@contextlib.contextmanager
def workplace(where: Path | None, keep: bool, say: Callable[[str], None]) -> Iterator[Path]:
    """A folder for the bakes, which goes with the block unless it is to be kept."""
    if keep:
        kept = Path(tempfile.mkdtemp(prefix="prebake-bench-", dir=where))
        say(f"bakes are kept in {printable(kept)}")
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="prebake-bench-", dir=where) as folder:
        yield Path(folder)


def words(text: str | None, known: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Comma-separated words, of those that are known.

    Raises:
        UsageError: one is not.
    """
    found = known if text is None else tuple(word.strip() for word in text.split(",") if word.strip())
    for word in found:
        if word not in known:
            raise UsageError(f"{option} {word}: there are {', '.join(known)}")
    return found


def device_of(word: str) -> str:
    """A device; `auto` is the GPU, if torch sees one.

    Raises:
        UsageError: there is no such device.
    """
    if word == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if word != "cpu" and word not in {"cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))}:
        raise UsageError(f"--device {word}: give auto, cpu, cuda or cuda:0 and so on")
    if word == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: torch sees no GPU here")
    return word


def settings_of(given: dict[str, Any]) -> Settings:
    """Options, settled for this machine.

    Raises:
        UsageError: they make no sense.
    """
    device = device_of(given["device"])
    gpu = device.startswith("cuda")
    if gpu:
        torch.cuda.set_device(device if ":" in device else "cuda:0")  # pinned memory, streams and events then belong to it too
        torch.backends.cudnn.benchmark = True  # all batches are of one shape, and so the upper bound is as high as it gets
    # A sweep is of loaders, unless a model is asked for.
    model = given["model"] or ("none" if given["sweep"] else "resnet50" if gpu else "mobilenet_v3_small")
    return Settings(
        data=given["data"],
        baked=tuple(given["baked"]),
        formats=words(given["formats"], (FOLDER, *format_names()), "--formats"),
        dtypes=words(given["dtypes"], ("float16", "float32", "uint8"), "--dtypes"),
        encodings=words(given["encodings"], ("raw", "jpeg"), "--encodings"),
        loader=given["loader"],
        model=model,
        device=device,
        batch=given["batch_size"] or (256 if gpu else 32),
        augment=given["augment"],
        amp=gpu if given["amp"] is None else given["amp"],
        channels_last=given["channels_last"],
        epochs=given["epochs"],
        samples=given["samples"] or (8192 if gpu else 1024),
        cold=given["cold"],
        plain=given["preset"] == "defaults-vs-tuned",
        workers=cores() if given["workers"] is None else given["workers"],
    )
