"""The command line of the bench."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from benching.bench import measure
from benching.contenders import device_of
from benching.page import page
from benching.settings import FOLDER, MODELS, Settings
from benching.table import table
from convert.errors import PrebakeError, UsageError
from convert.machine import cores
from convert.registry import format_names


def say(line: str) -> None:
    """What goes on, beside the results."""
    click.echo(f"bench: {line}", err=True)


@contextlib.contextmanager
def workplace(where: Path | None, keep: bool) -> Iterator[Path]:
    """A folder for the bakes, which goes with the block unless it is to be kept."""
    if keep:
        kept = Path(tempfile.mkdtemp(prefix="prebake-bench-", dir=where))
        yield kept
        say(f"kept: {kept}")
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


def settings_of(given: dict[str, Any]) -> Settings:
    """Options, settled for this machine.

    Raises:
        UsageError: they make no sense.
    """
    device = device_of(given["device"])
    gpu = device.startswith("cuda")
    model = given["model"] or ("resnet50" if gpu else "mobilenet_v3_small")
    return Settings(
        data=given["data"],
        baked=tuple(given["baked"]),
        formats=words(given["formats"], (FOLDER, *format_names()), "--formats"),
        dtypes=words(given["dtypes"], ("float16", "float32", "uint8"), "--dtypes"),
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
        workers=cores() if given["workers"] is None else given["workers"],
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--data", type=click.Path(path_type=Path), help="Folder of pictures.")
@click.option("--baked", type=click.Path(path_type=Path), multiple=True, help="A bake that is there already; may be repeated.")
@click.option("--formats", metavar="A,B", help="folder, and formats to bake.  [all]")
@click.option("--dtypes", metavar="A,B", default="float16", show_default=True, help="Of the rows to bake.")
@click.option("--model", type=click.Choice(MODELS), help="[resnet50 on a GPU, else mobilenet_v3_small]")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1.")
@click.option("--epochs", type=click.IntRange(1), default=3, show_default=True, help="Rounds; medians are shown.")
@click.option("--batch-size", type=click.IntRange(1), help="[256 on a GPU, else 32]")
@click.option("--augment", type=click.Choice(["crop", "rrc"]), default="crop", show_default=True, help="With a flip.")
@click.option("--amp/--no-amp", default=None, help="Autocast.  [on a GPU]")
@click.option("--channels-last/--no-channels-last", default=True, show_default=True)
@click.option("--loader", type=click.Choice(["prebake", "dataloader", "both"]), default="both", show_default=True, help="For bakes.")
@click.option("--samples", type=click.IntRange(1), help="Pictures at most.  [8192 on a GPU, else 1024]")
@click.option("--workers", type=click.IntRange(0), help="Of the tuned folder.  [usable cores]")
@click.option("--cold", is_flag=True, help="Also time epochs after the page cache was dropped.")
@click.option("--work", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Where to bake.  [a temporary folder]")
@click.option("--keep", is_flag=True, help="Leave the bakes there.")
@click.option("--json", "to_json", type=click.Path(path_type=Path), help="Write the figures.")
@click.option("--html", "to_html", type=click.Path(path_type=Path), help="Write a page with charts.")
def main(**given: Any) -> None:
    """Measure which format trains fastest here, and what it costs."""
    try:
        settings = settings_of(given)
        with workplace(given["work"], given["keep"]) as work:
            told = measure(settings, work, say)
    except PrebakeError as error:
        click.echo(f"bench: {error}", err=True)
        sys.exit(error.exit_code)
    text = table(told)
    click.echo(text)
    if given["to_json"]:
        given["to_json"].write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    if given["to_html"]:
        given["to_html"].write_text(page(told, text), "utf-8", "xmlcharrefreplace")
