"""The command line: one subcommand for each format, `plan`, `stats`, `verify`, `repair` and `doctor`."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from convert import __version__, options
from convert.errors import PrebakeError, printable
from convert.label_options import LABELS
from convert.option_types import FOLDER
from convert.registry import format_names, load_format


class Commands(click.Group):
    """Finds the formats' subcommands in the registry, and imports one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Formats first."""
        return [*format_names(), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See Click."""
        if cmd_name in format_names():
            return _format_command(cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """See Click; an unknown word is most often an unknown format."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            ctx.fail(f"no command or format {args[0]!r}: there are {', '.join(self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@options.VERBOSE
@click.version_option(__version__, prog_name="prebake")
def cli() -> None:
    """Bake a folder of pictures, once, into a data set that trains at memory speed."""


def _format_command(name: str) -> click.Command:
    """The subcommand of a format: the common options, and its own."""
    format = load_format(name)

    @click.argument("source", metavar="SRC", type=FOLDER)
    @click.argument("out", metavar="OUT", type=FOLDER)
    @options.add([*options.PIXELS, *options.SET, *LABELS, *options.RUN])
    def bake(**given: Any) -> None:
        from convert import commands  # `--help` must start at once

        commands.bake(name, given)

    own = [click.Option([f"--{option.name}"], is_flag=True, help=option.help) for option in format.options]
    command = click.command(name, help=f"Bake the pictures below SRC into OUT: {format.summary}.")(bake)
    command.params += own
    return command


@cli.command("plan", short_help="Say what a bake would be, and write nothing.")
@click.argument("source", metavar="SRC", type=FOLDER)
@click.argument("out", metavar="[OUT]", type=FOLDER, required=False)
@click.option("--format", default="memmap", show_default=True, help="The format it would be.")
@options.add([*options.PIXELS, *options.SET, *LABELS, *options.RUN])
def plan_command(**given: Any) -> None:
    """Do everything that a bake of SRC does before the first byte is written, and write nothing."""
    from convert import commands  # `--help` must start at once

    commands.plan(given)


@cli.command("stats", short_help="Mean and std of the pixels of a folder or of a bake.")
@click.argument("source", metavar="SRC|BAKED", type=FOLDER)
@options.add([*options.PIXELS, *options.SET, *LABELS, *options.CREW])
@click.option("--json", "as_json", is_flag=True, help="For machines: all digits.")
@click.pass_context
def stats_command(ctx: click.Context, /, source: Path, as_json: bool, **given: Any) -> None:
    """Print mean and std per channel of the pixels that a bake of SRC would store, or that BAKED holds, and write nothing.

    Every pixel of every row counts, for levels from 0 to 1, summed up exactly. The std is the population's: the divisor is n.
    SRC takes all options of a bake; those that change no level change nothing.
    """
    from convert import commands  # `--help` must start at once

    typed = [param for param in ctx.command.params if ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE]
    own = ("source", "as_json", "workers", "max_rejects", "strict")
    flags = [param.opts[0] for param in typed if param.name not in own]
    figures = commands.figures(source, given, flags)
    click.echo(figures.to_json() if as_json else figures.to_text())


@cli.command("verify", short_help="Compare a bake with what was written.")
@click.argument("baked", metavar="BAKED", type=FOLDER)
@click.option("--deep", is_flag=True, help="Also open every shard, and compare rows, labels and tables.")
@options.add(options.WORKERS)
def verify_command(**given: Any) -> None:
    """Compare every file of BAKED with its size and checksum in the manifest, and list those that are bad. The exit code is 1 then."""
    from convert import upkeep  # `--help` must start at once

    sys.exit(upkeep.verify(given))


@cli.command("repair", short_help="Make a bake's bad shards again.")
@click.argument("baked", metavar="BAKED", type=FOLDER)
@click.option("--source", required=True, metavar="SRC", type=FOLDER, help="The folder of pictures that was baked.")
@click.option("--allow-version-change", is_flag=True, help="Though another Pillow made the bake; pixels may differ.")
@options.add(options.WORKERS)
def repair_command(**given: Any) -> None:
    """Verify BAKED, and make the shards that are bad again, from the pictures below SRC. All others stay untouched."""
    from convert import upkeep  # `--help` must start at once

    sys.exit(upkeep.repair(given))


@cli.command("doctor")
def doctor_command() -> None:
    """Print what is installed where, and what this machine lets a process use."""
    from convert.doctor import examine  # `--help` must start at once

    click.echo(examine())


def _show_traceback() -> None:
    """What `-v` asks for: where the error came from, those of workers included."""
    if options.wants_tracebacks:
        traceback.print_exc()


def run_command() -> None:
    """Run what the user typed: an error is one line, and its exit code 1, or 2 for usage."""
    try:
        cli.main(prog_name="prebake", standalone_mode=False)
    except click.Abort as error:  # what Click makes of a KeyboardInterrupt, and of an EOFError, such as an empty .npy gives
        raise error.__context__ or KeyboardInterrupt from None
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except PrebakeError as error:
        _show_traceback()
        click.echo(f"prebake: {'; '.join([str(error), *getattr(error, '__notes__', [])])}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # `prebake ... | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # a folder that may not be entered, a name that is too long
        _show_traceback()
        name = f"{printable(error.filename)}: " if error.filename else ""
        click.echo(f"prebake: {name}{error.strerror or error}", err=True)
        sys.exit(1)
