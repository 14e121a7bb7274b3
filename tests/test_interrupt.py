"""A bake that is interrupted, killed or out of room ends soon, says so in one line, and leaves nothing that looks complete."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pictures import jpeg, photo

from convert.errors import PrebakeError
from convert.manifest import MANIFEST, read_manifest
from convert.registry import format_names

ROOT = Path(__file__).parent.parent
SOON = 5.0
"""Seconds within which everything must have ended: two are promised, the rest is for a busy machine."""
LATE = 60.0
PAGE = 4096
RUN = ("--size", "128", "--shards", "6", "--workers", "2", "--order", "source")
UNCHECKED = """
import sys
import convert.report
from convert.__main__ import main
from convert.executors import local, serial
convert.report.check_room = lambda *_: None
if sys.argv.pop(1) == "serial":
    local.EXECUTOR = serial.EXECUTOR
main()
"""
"""The command line without its look at the free space: the disk fills up later than it foresees. Serial: a crash is the run's own."""
INTERRUPTED = 130, ["prebake: interrupted; nothing unfinished was kept"]
Run = subprocess.Popen[str]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of one megapixel, so many that two workers are busy for more than a second."""
    root = tmp_path_factory.mktemp("large") / "source"
    data = [jpeg(photo(seed, 900, 1200)) for seed in range(4)]
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True)
        for number in range(60):
            (root / name / f"{number:02d}.jpg").write_bytes(data[number % 4])
    return root


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Makes a file system of so many bytes."""
    made: list[Path] = []

    def make(nbytes: int) -> Path:
        folder = tmp_path / f"disk{len(made)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={nbytes}", "prebake", str(folder)]
        if os.geteuid() or not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("mounting a small file system needs root")
        made.append(folder)
        return folder

    yield make
    for folder in made:
        subprocess.run(["umount", str(folder)], check=True)


def start(*args: object, launch: tuple[str, ...] = ("-m", "convert")) -> Run:
    """A bake in a session of its own, as a terminal would start it."""
    command = [sys.executable, *launch, *map(str, args)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finish(run: Run, seconds: float = LATE) -> tuple[int, list[str]]:
    """Exit code, and the lines on stderr; all processes that have its pipes must end in time."""
    try:
        _, stderr = run.communicate(timeout=seconds)
    finally:
        for pid in processes(run.pid) if run.poll() is None else ():
            os.kill(pid, signal.SIGKILL)
    return run.returncode, [line for line in stderr.splitlines() if line]


def processes(session: int) -> dict[int, int]:
    """The parent of each living process of a session: orphans stay in it."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, _, own = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # ended meanwhile
            continue
        if int(own) == session and state not in "ZX":
            found[int(path.parent.name)] = int(parent)
    return found


def workers(run: Run) -> list[int]:
    """The processes that bake: children of the process that forks them, grandchildren of the run."""
    return [pid for pid, parent in processes(run.pid).items() if processes(run.pid).get(parent) == run.pid]


def wait_for(condition: Callable[[], object], seconds: float = LATE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


def imports_numpy(pid: int) -> bool:
    """Whether a process has come so far."""
    try:
        return "_multiarray_umath" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:  # ended meanwhile
        return False


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def undisturbed(source: Path) -> dict[str, str]:
    out = source.parent / "undisturbed"
    assert finish(start("memmap", source, out, *RUN)) == (0, [])
    return digests(out)


@pytest.mark.parametrize("moment", ["importing", "first helper", "second helper", "helper importing", "writing"])
def test_ctrl_c_ends_all_and_leaves_nothing(source: Path, tmp_path: Path, moment: str) -> None:
    out = tmp_path / "new" / "out"
    run = start("memmap", source, out, *RUN)
    moments: dict[str, Callable[[], object]] = {
        "importing": lambda: imports_numpy(run.pid),
        "first helper": lambda: len(processes(run.pid)) > 1,
        "second helper": lambda: len(processes(run.pid)) > 2,
        "helper importing": lambda: any(imports_numpy(pid) for pid in processes(run.pid) if pid != run.pid),
        "writing": lambda: list(out.glob("shard-*")),
    }
    wait_for(moments[moment])
    os.killpg(run.pid, signal.SIGINT)
    assert finish(run, SOON) == INTERRUPTED
    wait_for(lambda: not processes(run.pid), SOON)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_pressed_by_an_impatient_user(source: Path, tmp_path: Path) -> None:
    run = start("memmap", source, tmp_path / "out", *RUN)
    wait_for(lambda: list((tmp_path / "out").glob("shard-*")))
    for _ in range(5):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGINT)
        time.sleep(0.002)
    assert finish(run, SOON) == INTERRUPTED
    assert not list(tmp_path.iterdir())


def test_a_neighbour_in_a_new_folder_stays(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    run = start("memmap", source, out, *RUN)
    wait_for(lambda: list(out.glob("shard-*")))
    (tmp_path / "new" / "neighbour").mkdir()
    os.killpg(run.pid, signal.SIGINT)
    assert finish(run, SOON) == INTERRUPTED
    assert list(tmp_path.rglob("*")) == [tmp_path / "new", tmp_path / "new" / "neighbour"]


def test_a_killed_parent_takes_its_workers_along(source: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    out = tmp_path / "out"
    run = start("memmap", source, out, *RUN)
    wait_for(lambda: list(out.glob("shard-*")))
    run.kill()
    finish(run, SOON)
    wait_for(lambda: not processes(run.pid), SOON)
    assert not (out / MANIFEST).exists()
    with pytest.raises(PrebakeError, match=r"not finished.*--overwrite"):
        read_manifest(out)
    code, lines = finish(start("memmap", source, out, *RUN))
    assert (code, len(lines)) == (1, 1)
    assert "holds an unfinished bake: add --overwrite" in lines[0]
    assert finish(start("memmap", source, out, *RUN, "--overwrite")) == (0, [])
    assert digests(out) == undisturbed


def test_a_killed_worker_changes_nothing(source: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    out = tmp_path / "out"
    run = start("memmap", source, out, *RUN)
    wait_for(lambda: list(out.glob("shard-*")) and workers(run))
    os.kill(workers(run)[0], signal.SIGKILL)
    assert finish(run) == (0, [])
    assert digests(out) == undisturbed


def test_workers_that_are_always_killed_end_the_run(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = start("lmdb", source, out, *RUN)
    end = time.monotonic() + LATE
    while run.poll() is None and time.monotonic() < end:
        for pid in workers(run):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    code, lines = finish(run, SOON)
    assert (code, len(lines)) == (1, 1)
    assert "failed 2 times: a worker process died" in lines[0]
    assert "fewer --workers" in lines[0]
    assert not out.exists()


@pytest.mark.parametrize("executor", ["serial", "local"])
@pytest.mark.parametrize("format", format_names())
def test_a_disk_that_fills_up_in_the_middle(source: Path, disk: Callable[[int], Path], format: str, executor: str) -> None:
    folder = disk(7 << 20)
    code, lines = finish(start(executor, format, source, folder / "out", *RUN, launch=("-c", UNCHECKED)))
    assert (code, len(lines)) == (1, 1), lines
    assert "disk full; make room" in lines[0]
    assert not list(folder.iterdir())


def test_a_disk_that_is_full_before_or_after_the_shards(source: Path, tmp_path: Path, disk: Callable[[int], Path]) -> None:
    small = ("--size", "16", "--shards", "2", "--workers", "1")
    assert finish(start("memmap", source, tmp_path / "out", *small)) == (0, [])
    pages = sum(-(-path.stat().st_size // PAGE) for path in (tmp_path / "out").iterdir())
    for room in (2, pages - 12, pages - 6, pages - 1):
        folder = disk(room * PAGE)
        code, lines = finish(start("serial", "memmap", source, folder / "out", *small, launch=("-c", UNCHECKED)))
        assert (code, len(lines)) == (1, 1), lines
        assert "disk full" in lines[0]
        assert not list(folder.iterdir())
