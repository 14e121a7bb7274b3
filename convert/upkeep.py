"""What `verify` and `repair` do with the options that the command line took."""

from __future__ import annotations

from typing import Any

import click

from convert import machine
from convert import repair as repairing
from convert import verify as verifying
from convert.errors import counted
from convert.lock import check_free
from convert.plan import WORK
from convert.preview import PREVIEW
from convert.tasks import Crew


def verify(given: dict[str, Any]) -> int:
    """Compare a bake with its manifest, and return the exit code."""
    verdict = verifying.verify(given["baked"], Crew(given["workers"] or machine.cores()), deep=given["deep"])
    click.echo(verifying.told(verdict))
    return 1 if verdict.wrong else 0


def repair(given: dict[str, Any]) -> int:
    """Make bad shards again, and return the exit code."""
    folder = given["baked"]
    check_free(folder / WORK, folder)
    crew = Crew(given["workers"] or machine.cores())
    done = repairing.repair(folder, given["source"], crew, allow_version_change=given["allow_version_change"])
    for shard in done.shards:
        click.echo(f"made again {shard.name}, {counted(shard.count, 'row')}")
    if done.drawn:
        click.echo(f"drew again {PREVIEW}")
    made = {shard.name for shard in done.shards} | ({PREVIEW} if done.drawn else set())
    done.before.tried = True
    done.before.wrong = {name: what for name, what in done.before.wrong.items() if name not in made}
    click.echo(verifying.told(done.before))
    return 1 if done.before.wrong else 0
