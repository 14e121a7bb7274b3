"""The command line of the bench."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path
from typing import Any

import click

from benching import diagnose, sections, sweep, swept
from benching.bench import measure, prepare
from benching.ended import end
from benching.grid import NAMES, parse
from benching.machine import describe
from benching.markdown import markdown
from benching.output import Told, check, write
from benching.page import curves_page, page
from benching.presets import PRESETS, with_preset
from benching.settings import MODELS, Settings
from benching.settle import settings_of, workplace
from benching.table import plain
from convert.errors import PrebakeError, UsageError, printable


def say(line: str) -> None:
    """What goes on, beside the results."""
    click.echo(f"bench: {line}", err=True)


def seconds(text: str) -> float:
    """Of `90`, `90s` or `3min`.

    Raises:
        UsageError: it is none of them.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|min)?", text)
    if match is None:
        raise UsageError(f"--sweep-budget {text}: write 90s or 3min")
    return float(match[1]) * (60 if match[2] == "min" else 1)


def carry_out(given: dict[str, Any]) -> Told:
    """Do what is asked for.

    Raises:
        PrebakeError: see what is asked for.
    """
    settings = settings_of(given)
    if given["diagnose"]:
        told = diagnose.diagnose(given["diagnose"], settings, say)
        text = diagnose.report(told)
        return Told(told, text, f"```\n{text}\n```\n", curves_page("prebake bench: a loader", [], text))
    if settings.data is None and not settings.baked:
        raise UsageError("nothing to measure: give --data FOLDER, or --baked DIR")
    with workplace(given["work"], given["keep"], say) as work:
        if given["sweep"]:
            return try_settings(settings, work, given)
        told = measure(settings, work, say)
    parts = sections.about(told), sections.sections(told), sections.last(told)
    return Told(told, text := plain(*parts), markdown(*parts), page(told, text))


def try_settings(settings: Settings, work: Path, given: dict[str, Any]) -> Told:
    """The same for a sweep.

    Raises:
        PrebakeError: see `sweep`.
    """
    grid, budget = parse(given["sweep"]), seconds(given["sweep_budget"])
    about = describe(settings.device, work, settings.data)
    pictures, bakes = prepare(settings, work, say)
    found = sweep.sweep_all(pictures, bakes, settings, grid=grid, budget=budget, say=say)
    # A chart for each: a folder's curve would lie flat below a bake's.
    curves = [
        (f"{one.name}, {name}", [(name, [(str(point.value), point.pictures_per_s) for point in points])])
        for one in found
        for name, points in one.curves.items()
        if points
    ]
    parts = [*sections.here(about), swept.asked(settings)], swept.sections(found), swept.best(found)
    figures = {"schema": 1, "machine": about, "sweep": [dataclasses.asdict(one) for one in found]}
    return Told(figures, text := plain(*parts), markdown(*parts), curves_page("prebake bench: a sweep", curves, text))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--data", type=click.Path(path_type=Path), help="Folder of pictures.")
@click.option("--baked", type=click.Path(path_type=Path), multiple=True, help="A bake that is there already; may be repeated.")
@click.option("--formats", metavar="A,B", help="folder, and formats to bake.  [all]")
@click.option("--dtypes", metavar="A,B", default="float16", show_default=True, help="Of the raw rows to bake.")
@click.option("--encodings", metavar="A,B", default="raw", show_default=True, help="raw, jpeg: JPEG rows beside the raw ones, or alone.")
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
@click.option("--preset", type=click.Choice(sorted(PRESETS)), help="Options that replay a well-known experience.")
@click.option("--sweep", metavar="NAME=A,B", multiple=True, help="Try DataLoader's settings; with --model in training, else alone.")
@click.option("--sweep-budget", default="3min", show_default=True, help="Time for all of it.")
@click.option("--diagnose", metavar="MODULE:FUNCTION", help="Look at a loader of yours instead.")
@click.argument("words", nargs=-1)
@click.option("--json", "to_json", type=click.Path(path_type=Path), help="Write the figures.")
@click.option("--markdown", "to_markdown", type=click.Path(path_type=Path), help="Write the tables, to paste.")
@click.option("--html", "to_html", type=click.Path(path_type=Path), help="Write a page with charts.")
@click.option("--png", "to_png", type=click.Path(file_okay=False, path_type=Path), help="Write its charts into a folder.")
@click.pass_context
def main(context: click.Context, /, **given: Any) -> None:
    """Measure which format trains fastest here, and what it costs.

    --baked and --sweep take further words: --sweep num_workers=0,2 batch_size=64,256
    """
    typed = {name for name in given if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE}
    try:
        _deal_out_words(given, typed)
        check(given)
        told = carry_out(with_preset(given, typed))
        click.echo(told.text)
        write(told, given)
    except PrebakeError as error:
        say(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        say(printable(error))
        sys.exit(1)
    except KeyboardInterrupt as error:
        end(error)


def _deal_out_words(given: dict[str, Any], typed: set[str]) -> None:
    """Words behind --sweep and --baked, which click leaves over, go where they belong.

    Raises:
        UsageError: they belong nowhere.
    """
    settings = [word for word in given["words"] if given["sweep"] and word.partition("=")[0] in NAMES]
    folders = [word for word in given["words"] if word not in settings]
    if folders and "baked" not in typed:
        what = f"--sweep {folders[0]}: write NAME=0,1,2" if given["sweep"] else f"{folders[0]}: write --data {folders[0]}, or --baked"
        raise UsageError(what)
    given["sweep"] = [*given["sweep"], *settings]
    given["baked"] = [*given["baked"], *map(Path, folders)]
