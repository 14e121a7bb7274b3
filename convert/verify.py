"""Compares a finished bake with its manifest, file by file, and by `deep` row by row."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from convert import progress
from convert.contracts import Outcome
from convert.errors import NotStartedError, WorkerDiedError, counted, human, printable
from convert.inspection import Spared, inspect
from convert.manifest import MANIFEST, Manifest, Shard, SideFile, read_manifest
from convert.output import JUNK
from convert.plan import WORK
from convert.preview import PREVIEW
from convert.registry import load_executor
from convert.survey import work_folder
from convert.tables import check_tables
from convert.tasks import Crew, bar, check_process


@dataclass
class Verdict:
    """What `verify` found."""

    folder: Path
    manifest: Manifest
    deep: bool
    wrong: dict[str, str] = field(default_factory=dict)
    """By file: what is wrong with it."""
    tried: bool = False
    """Whether `repair` could do nothing about it."""
    left: list[str] = field(default_factory=list)
    """What lies there and is not of the bake."""

    @property
    def bad_shards(self) -> list[int]:
        """Their numbers: those that can be read, and are not what they were."""
        return [number for number, shard in enumerate(self.manifest.shards) if shard.name in self.wrong and shard.name not in self.unread]

    @property
    def torn(self) -> bool:
        """Whether the contact sheet is bad, and can be drawn again."""
        return PREVIEW in self.wrong and PREVIEW not in self.unread

    @property
    def unread(self) -> list[str]:
        """What cannot be read, so that nobody knows what is wrong with it."""
        return [name for name, what in self.wrong.items() if isinstance(what, Spared)]


def verify(folder: Path, crew: Crew, *, deep: bool = False) -> Verdict:
    """Look at every file of a bake.

    Raises:
        PrebakeError: it is none, it is unfinished, or its manifest cannot be read.
    """
    check_process()
    manifest = read_manifest(folder)
    files: list[Shard | SideFile] = [*manifest.shards, *manifest.files]
    verdict = Verdict(folder, manifest, deep, left=_left(folder, {MANIFEST, *(file.name for file in files)}))
    with work_folder() as work:
        progress.create(work, len(manifest.shards))
        with bar(work, manifest.count, crew, "verifying") as tick:
            found = _all(functools.partial(inspect, folder, manifest, work, deep), len(files), crew, tick)
    verdict.wrong = {files[number].name: wrong for number, wrong in sorted(found.items()) if wrong}
    if manifest.sealed() != manifest:
        verdict.wrong[MANIFEST] = "was changed since it was written"
    elif deep and not verdict.wrong:
        verdict.wrong = check_tables(folder, manifest)
    return verdict


def _left(folder: Path, names: set[str]) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in (*names, *JUNK, WORK) and not path.name.endswith("-lock"))


def _all(function: Callable[[int], str], count: int, crew: Crew, tick: Callable[[], None]) -> dict[int, str]:
    """What each call returns. A file may end the process that opens it: each that was open then is looked at once more, alone."""
    found: dict[int, str] = {}
    died: list[int] = []

    def run(numbers: list[int], workers: int) -> None:
        with closing(load_executor(crew.executor)(function, numbers, workers)) as outcomes:
            for outcome in outcomes:
                tick()
                if outcome is not None:
                    take(outcome)

    def take(outcome: Outcome) -> None:
        if isinstance(outcome.error, WorkerDiedError | NotStartedError):
            died.append(outcome.task)
        else:
            found[outcome.task] = outcome.value if outcome.error is None else f"cannot be looked at: {printable(outcome.error)}"

    run(list(range(count)), crew.workers)
    alone, died = died, []
    for number in alone:
        run([number], 1)
    return found | dict.fromkeys(died, "ends the process that opens it")


def told(verdict: Verdict) -> str:
    """What a person reads."""
    folder = printable(verdict.folder)
    files: list[Shard | SideFile] = [*verdict.manifest.shards, *verdict.manifest.files]
    lines = [f"left over  {printable(name)}: not of this bake, may be removed" for name in verdict.left[:10]]
    if not verdict.wrong:
        how = "and every row is as it should be" if verdict.deep else "by size and checksum"
        nbytes = human(sum(file.bytes for file in files))
        return "\n".join([*lines, f"{folder}: {counted(len(files), 'file')}, {nbytes}, all as they were written, {how}"])
    unread = verdict.unread
    lines += [f"{'unread' if name in unread else 'bad':<11}{printable(name)} {what}" for name, what in verdict.wrong.items()]
    more = f", {len(unread)} not read" if unread else ""
    lines.append(f"{folder}: {len(verdict.wrong) - len(unread)} of {counted(len(files) + 1, 'file')} bad{more}")
    return "\n".join([*lines, *_advice(verdict)])


def _advice(verdict: Verdict) -> list[str]:
    """What to do next."""
    folder = printable(verdict.folder)
    if MANIFEST in verdict.wrong:
        return ["what is in the manifest cannot be trusted: copy the bake again, or bake it again"]
    shards = verdict.bad_shards
    if len(shards) == len([shard for shard in verdict.manifest.shards if shard.count]) and len(verdict.wrong) > len(shards):
        return ["nothing here is what the manifest says: is it of another bake?"]
    made = {PREVIEW, *(verdict.manifest.shards[number].name for number in shards)}
    tables = [name for name in verdict.wrong if name not in made and name not in verdict.unread]
    how = "shards need the very pictures that were baked: put those back, or bake again"
    if not verdict.tried:
        what = "bad shards" if shards else PREVIEW
        how = f"the {what} can be made again: prebake repair {folder} --source SRC"
    lines = [how] if shards or (verdict.torn and not tables) else []
    if folders := [printable(name) for name in verdict.wrong if (verdict.folder / name).is_dir()]:
        lines.insert(0, f"first move what lies in the place of {', '.join(folders)} elsewhere")
    if verdict.unread:
        lines.insert(0, "what is not read is not damaged, and stays: see to its permissions and the disk")
    return lines + ([f"repair cannot make {', '.join(tables)} again: copy the bake again, or bake it again"] if tables else [])
