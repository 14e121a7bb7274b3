"""A source that goes away, or whose pictures are changed while they are baked: nothing of that gets into a bake."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from here import Here, as_anybody, end
from launch import digests, prebake, rows
from pictures import encoded, image_folder
from PIL import Image

from convert import changes, finish, run, survey
from convert.errors import PrebakeError
from convert.manifest import MANIFEST, read_manifest
from convert.pictures import is_same
from convert.reading import read_item
from convert.source import scan
from convert.stamp import NO_FILE, stamp_of
from convert.threads import Wanted, in_threads
from convert.walk import _holds_some, _stamp

RUN = ("--size", "16", "--shards", "6", "--order", "source", "--workers", "2", "--no-preview")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = image_folder(tmp_path_factory.mktemp("drawn") / "source", {"cat": 11, "dog": 11})
    for number in range(2):
        (root / "cat" / f"flat{number}.bmp").write_bytes(flat(number))
    return copied(root, root.with_name("whole"))


def copied(drawn: Path, root: Path) -> Path:
    """Twenty-four pictures, four for a shard; and a link that leads nowhere and a pipe, which are rejected."""
    shutil.copytree(drawn, root, ignore=shutil.ignore_patterns("dead.jpg", "pipe.jpg"))
    (root / "dog" / "dead.jpg").symlink_to("nowhere")
    os.mkfifo(root / "dog" / "pipe.jpg")
    return root


@pytest.fixture
def source(drawn: Path, tmp_path: Path) -> Path:
    return copied(drawn, tmp_path / "source")


@pytest.fixture(scope="module")
def undisturbed(drawn: Path) -> dict[str, str]:
    done = prebake("memmap", drawn, drawn.with_name("out"), *RUN)
    assert (done.returncode, done.stderr) == (0, "")
    return digests(drawn.with_name("out"))


def flat(level: int) -> bytes:
    """A picture whose file is as long at any level."""
    return encoded(Image.fromarray(np.full((20, 20, 3), level, np.uint8)), "BMP")


def rewrite(path: Path, level: int, *, late: int = 0) -> None:
    """Another picture of the same size; its time as before, or so many seconds later."""
    info = path.stat()
    path.write_bytes(flat(level))
    assert path.stat().st_size == info.st_size
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns + late * 10**9))


def fresh(here: Here, source: Path, *more: object) -> dict[str, str]:
    """The bytes of a bake of the pictures as they are now."""
    out = source.parent / f"fresh-{len(list(source.parent.iterdir()))}"
    here.good("memmap", source, out, *RUN, *more)
    return digests(out)


def test_a_source_that_goes_away_and_comes_back(here: Here, source: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    out, away = tmp_path / "out", tmp_path / "away"
    line = here.refused("memmap", source, out, *RUN, before={3: lambda: source.rename(away)})
    assert line.startswith(f"prebake: {source}/")
    assert ".jpg cannot be read any more (No such file or directory): start again once it is there as it was" in line
    assert line.endswith("3 of 6 shards kept: the next run goes on")
    assert not (out / MANIFEST).exists()
    away.rename(source)
    assert "goes on   with 3 of 6 shards" in here.good("memmap", source, out, *RUN)
    assert digests(out) == undisturbed


def into_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def into_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("shard", "change", "says"),
    [
        (2, Path.unlink, "cannot be read any more (No such file or directory)"),
        (2, into_a_pipe, "cannot be read any more (it is no regular file any more)"),
        (2, into_a_folder, "cannot be read any more (it is no regular file any more)"),
        (2, lambda path: os.truncate(path, 0), "was changed while prebake ran; start again when nobody writes there"),
        (5, lambda path: os.truncate(path, 0), "was changed while prebake ran; start again when nobody writes there"),
    ],
)
def test_a_picture_is_no_reject_for_what_became_of_it(
    here: Here,
    drawn: Path,
    tmp_path: Path,
    undisturbed: dict[str, str],
    *,
    shard: int,
    change: Callable[[Path], None],
    says: str,
) -> None:
    """Before its shard is made, the third, and afterwards."""
    source, out, kept = copied(drawn, tmp_path / "source"), tmp_path / "out", 2 if shard == 2 else 6
    line = here.refused("memmap", source, out, *RUN, before={shard: lambda: change(source / "cat" / "0010.jpg")})
    assert f"cat/0010.jpg {says}" in line
    assert f"{kept} of 6 shards kept" in line
    assert not (out / MANIFEST).exists()
    shutil.rmtree(source)
    copied(drawn, source)
    assert f"goes on   with {kept} of 6 shards" in here.good("memmap", source, out, *RUN)
    assert digests(out) == undisturbed


@pytest.mark.parametrize("change", [Path.unlink, into_a_pipe, lambda path: os.utime(path, (5, 5))])
def test_what_was_read_in_time_may_go_or_be_touched(
    here: Here, source: Path, tmp_path: Path, undisturbed: dict[str, str], *, change: Callable[[Path], None]
) -> None:
    out, path = tmp_path / "out", source / "cat" / "flat0.bmp"
    here.good("memmap", source, out, *RUN, before={5: lambda: change(path)})
    assert digests(out) == undisturbed


@pytest.mark.parametrize("more", [(), ("--mean-std", "auto")])
def test_a_first_run_may_be_told_that_times_mean_nothing(here: Here, source: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    def touch() -> None:
        for path in source.rglob("*.bmp"):
            os.utime(path, (5, 5))

    here.good("memmap", source, tmp_path / "out", *RUN, *more, "--check-source", before={1: touch})
    assert digests(tmp_path / "out") == fresh(here, source, *more)


def test_a_side_file_that_goes_away_while_it_is_listed(source: Path) -> None:
    (source / "dog" / "0000.json").write_text("{}")
    with os.scandir(source / "dog") as entries:
        found = {entry.name: entry for entry in entries}
    assert _holds_some(found["0000.json"])
    with os.scandir(source / "dog") as entries:
        found = {entry.name: entry for entry in entries}
    (source / "dog" / "0000.json").unlink()
    assert not _holds_some(found["0000.json"])


def test_where_nobody_may_set_a_time(here: Here, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **more: object) -> None:
        del args, more
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(os, "utime", refuse)
        here.good("memmap", source, tmp_path / "out", *RUN)
    assert digests(tmp_path / "out") == fresh(here, source)


def test_a_file_that_a_disk_cannot_read_is_a_reject(here: Here, source: Path, tmp_path: Path) -> None:
    """The kernel's view of a process's memory is a regular file, and reading it at 0 is an EIO."""
    out, path = tmp_path / "out", source / "dog" / "0010.jpg"
    path.unlink()
    path.symlink_to("/proc/self/mem")
    here.good("memmap", source, out, *RUN)
    assert {row["key"]: (row["reason"], row["detail"]) for row in rows(out / "rejects.csv")}["dog/0010.jpg"] == (
        "unreadable",
        "Input/output error",
    )


def test_too_many_open_files_are_no_rejects(source: Path) -> None:
    key = "cat/0000.jpg"
    stamp = stamp_of((source / key).stat())
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(PrebakeError, match=r"cat/0000\.jpg cannot be read any more \(Too many open files\)"):
            read_item(source, key, stamp)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_file_that_goes_away_while_it_is_listed(source: Path) -> None:
    with os.scandir(source / "dog") as entries:
        found = {entry.name: entry for entry in entries}
    (source / "dog" / "0000.jpg").unlink()
    with pytest.raises(FileNotFoundError):
        _stamp(found["0000.jpg"])
    assert _stamp(found["dead.jpg"]) == _stamp(found["pipe.jpg"]) == NO_FILE


def test_what_nobody_may_read_is_a_reject_until_it_may_be_read(
    here: Here, source: Path, tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    path, out, still = source / "cat" / "0000.jpg", tmp_path / "out", tmp_path / "still"
    path.chmod(0)
    with as_anybody():
        forbidden = fresh(here, source)
        assert forbidden != undisturbed
        here.refused("memmap", source, out, *RUN, before={5: end})
        shutil.copytree(out, still)
        assert "goes on   with 5 of 6 shards" in here.good("memmap", source, still, *RUN)
        assert digests(still) == forbidden
        assert {row["key"]: (row["reason"], row["detail"]) for row in rows(still / "rejects.csv")}["cat/0000.jpg"] == (
            "unreadable",
            "Permission denied",
        )
        path.chmod(0o644)
        said = here.good("memmap", source, out, *RUN)
    assert "goes on   with 4 of 6 shards" in said
    assert "again     shard-00000.npy: cat/0000.jpg was rejected as unreadable, and is otherwise now" in said
    assert digests(out) == undisturbed


def test_numbers_that_were_found_without_a_forbidden_picture(here: Here, source: Path, tmp_path: Path) -> None:
    path, out, auto = source / "cat" / "0000.jpg", tmp_path / "out", ("--mean-std", "auto")
    path.chmod(0)
    with as_anybody():
        here.refused("memmap", source, out, *RUN, *auto, before={1: end})
        path.chmod(0o644)
        assert "its mean differs" in here.refused("memmap", source, out, *RUN, *auto)
    here.good("memmap", source, out, *RUN, *auto, "--overwrite")
    assert digests(out) == fresh(here, source, *auto)


def test_a_folder_that_nobody_may_enter(here: Here, source: Path, tmp_path: Path) -> None:
    (source / "dog").chmod(0o644)
    with as_anybody():
        here.good("memmap", source, tmp_path / "out", *RUN, "--max-rejects", "13")
    (source / "dog").chmod(0o755)
    found = {row["key"]: row["reason"] for row in rows(tmp_path / "out" / "rejects.csv")}
    assert len(found) == 13
    assert set(found.values()) == {"unreadable"}


def test_a_picture_that_is_changed_after_its_shard_was_made(here: Here, source: Path, tmp_path: Path) -> None:
    out, path = tmp_path / "out", source / "cat" / "flat0.bmp"
    line = here.refused("memmap", source, out, *RUN, before={5: lambda: rewrite(path, 99, late=-5)})
    assert "cat/flat0.bmp was changed while prebake ran; start again when nobody writes there" in line
    assert line.endswith("6 of 6 shards kept: the next run goes on")
    assert not (out / MANIFEST).exists()
    said = here.good("memmap", source, out, *RUN)
    assert "goes on   with 5 of 6 shards" in said
    assert "cat/flat0.bmp was changed since" in said
    assert digests(out) == fresh(here, source)


def test_a_picture_that_is_changed_after_all_were_looked_at(
    here: Here, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest's time leaves no gap between the two ways to notice it."""
    out, path = tmp_path / "out", source / "cat" / "flat0.bmp"

    def late(*args: object) -> None:
        time.sleep(0.05)  # times of files are a few milliseconds behind
        path.write_bytes(flat(99))
        time.sleep(0.05)
        finish.commit(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(run, "commit", late)
        here.good("memmap", source, out, *RUN)
    assert "1 picture newer than the bake, such as cat/flat0.bmp" in here("memmap", source, out, *RUN).error
    finish.commit(out, read_manifest(out))  # as when a shard was repaired
    assert "1 picture newer than the bake, such as cat/flat0.bmp" in here("memmap", source, out, *RUN).error


def test_contents_are_compared_where_times_mean_nothing(here: Here, source: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    begun, checked = tmp_path / "begun", (*RUN, "--check-source")
    first = source / "cat" / "flat0.bmp"
    here.refused("memmap", source, begun, *RUN, before={4: end})

    def touch() -> None:
        for path in source.rglob("*.*"):
            if path.is_file():
                os.utime(path, (5, 5))

    shutil.copytree(begun, tmp_path / "same")
    assert "goes on   with 4 of 6 shards" in here.good("memmap", source, tmp_path / "same", *checked, before={5: touch})
    assert digests(tmp_path / "same") == undisturbed
    line = here.refused("memmap", source, begun, *checked, before={5: lambda: rewrite(first, 99, late=1)})
    assert "cat/flat0.bmp was changed while prebake ran" in line
    assert "6 of 6 shards kept" in line
    assert "goes on   with 5 of 6 shards" in here.good("memmap", source, begun, *checked)
    assert digests(begun) == fresh(here, source)


def test_times_are_kept_by_a_run_that_does_not_look_at_them(here: Here, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    here.refused("memmap", source, out, *RUN, before={2: end})
    here.refused("memmap", source, out, *RUN, "--check-source", before={4: end})
    for number in range(2):
        rewrite(source / "cat" / f"flat{number}.bmp", 99, late=5)
    assert "flat0.bmp was changed since" in here.good("memmap", source, out, *RUN)
    assert digests(out) == fresh(here, source)


def test_numbers_are_found_again_where_contents_are_compared(here: Here, source: Path, tmp_path: Path) -> None:
    out, auto = tmp_path / "out", ("--mean-std", "auto", "--check-source")
    here.refused("memmap", source, out, *RUN, *auto, before={1: end})
    shutil.copytree(out, tmp_path / "same")
    assert "goes on   with 1 of 6 shards" in here.good("memmap", source, tmp_path / "same", *RUN, *auto)
    assert digests(tmp_path / "same") == fresh(here, source, *auto)
    rewrite(source / "cat" / "flat0.bmp", 255)  # of a shard that is not made yet
    assert "its mean differs" in here.refused("memmap", source, out, *RUN, *auto)
    here.good("memmap", source, out, *RUN, *auto, "--overwrite")
    assert digests(out) == fresh(here, source, *auto)


def test_a_source_that_goes_away_while_it_is_counted(here: Here, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(root: Path, key: str, *more: object, **options: object) -> bytes:
        if key == "dog/0003.jpg":
            (root / key).unlink()
        return read_item(root, key, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(survey, "read_item", away)
    line = here.refused("memmap", source, tmp_path / "out", *RUN, "--mean-std", "auto")
    assert "dog/0003.jpg cannot be read any more (No such file or directory)" in line


def test_a_source_that_goes_away_while_it_is_compared(here: Here, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, away = tmp_path / "out", tmp_path / "away"
    here.good("memmap", source, out, *RUN)

    def late(root: Path, *more: object) -> bool:
        if root.exists():
            root.rename(away)
        return is_same(root, *more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(changes, "is_same", late)
        assert "cannot be read any more (No such file" in here.refused("memmap", source, out, *RUN, "--check-source")
    away.rename(source)
    assert "nothing to do" in here.good("memmap", source, out, *RUN, "--check-source")


def test_what_is_no_file_has_a_stamp_of_its_own(source: Path) -> None:
    found = scan(source)
    stamps = {key: found.stamp(item) for item, key in enumerate(found.keys)}
    assert {key for key, stamp in stamps.items() if stamp == NO_FILE} == {"dog/dead.jpg", "dog/pipe.jpg"}
    info = (source / "cat" / "0000.jpg").stat()
    assert stamps["cat/0000.jpg"] == (info.st_size, info.st_mtime_ns)


def test_ctrl_c_gives_up_what_waits_in_threads() -> None:
    began = []

    def look(task: int, wanted: Wanted) -> None:
        began.append(task)
        if task == 20:
            os.kill(os.getpid(), signal.SIGINT)
        if task < 20:
            return
        while True:  # a step of a long task
            wanted()
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        in_threads(look, range(100_000), 2, unit="tasks")
    assert len(began) < 40


def test_threads_keep_the_order_and_the_first_error_ends_all() -> None:
    assert in_threads(lambda task, _: task * task, range(1000), 3, unit="tasks") == [task * task for task in range(1000)]
    began = []

    def look(task: int, _: Wanted) -> None:
        began.append(task)
        if task == 50:
            raise PrebakeError("the 50th")

    with pytest.raises(PrebakeError, match="the 50th"):
        in_threads(look, range(100_000), 3, unit="tasks")
    assert len(began) < 100
