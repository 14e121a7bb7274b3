"""`repair` keeps what it made whatever ends it, leaves alone what it cannot read, and reads and writes nothing outside its folders."""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import bake
from launch import PREBAKE, ROOT, digests, prebake, refused, tree
from pictures import image_folder
from processes import finish, start, wait_for

from convert.errors import PrebakeError
from convert.hashes import read_inventory
from convert.manifest import MANIFEST, Keys, Manifest, read_manifest
from convert.pack import pack
from convert.repair import repair
from convert.survey import count_stored
from convert.tasks import Crew
from convert.verify import told, verify
from readers import open_dataset

CREW = Crew(1, "serial", quiet=True)
SHARDS = 4


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("repair") / "source", {"cat": 10, "dog": 10})


@pytest.fixture(scope="module")
def whole(source: Path) -> Path:
    out = source.parent / "whole"
    bake(source, out, size=(32, 32), shards=SHARDS, preview=True)
    return out


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def shard(folder: Path, number: int) -> Path:
    return folder / f"shard-{number:05d}.npy"


def sealed(folder: Path, **changes: object) -> Manifest:
    """A manifest that is right about every file there is, as somebody would write it who knows how."""
    manifest = dataclasses.replace(read_manifest(folder), **changes)  # type: ignore[arg-type]
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    files = tuple(
        dataclasses.replace(file, bytes=len(found[file.name]), checksum=hashlib.sha256(found[file.name]).hexdigest())
        for file in manifest.files
        if file.name in found
    )
    manifest = dataclasses.replace(manifest, files=files).sealed()
    (folder / MANIFEST).write_text(manifest.to_json())
    return manifest


def ended_before(number: int, error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing ends when it comes to a shard."""

    def ends(bench: Path, shard: int) -> object:
        if shard == number:
            raise error
        return pack(bench, shard)

    monkeypatch.setattr("convert.repair.pack", ends)


def test_what_was_made_before_the_end_is_in_place(source: Path, whole: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(SHARDS):
        shard(copy, number).unlink()
    ended_before(2, KeyboardInterrupt, monkeypatch)
    with pytest.raises(KeyboardInterrupt) as caught:
        repair(copy, source, CREW)
    assert caught.value.__notes__ == ["2 of 4 bad shards made again, and in place: the same command goes on"]
    assert digests(copy) == {name: digest for name, digest in digests(whole).items() if name not in ("shard-00002.npy", "shard-00003.npy")}
    monkeypatch.undo()
    made = repair(copy, source, CREW).shards
    assert [done.name for done in made] == ["shard-00002.npy", "shard-00003.npy"]
    assert digests(copy) == digests(whole)


def test_an_end_before_the_first_says_so(source: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard(copy, 1).unlink()
    ended_before(1, PrebakeError, monkeypatch)
    with pytest.raises(PrebakeError) as caught:
        repair(copy, source, CREW)
    assert caught.value.__notes__ == ["no shard was replaced"]


def test_each_shard_of_another_pillow_is_known_to_the_manifest_at_once(source: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pixels may differ: here they do, by the mean that is taken off."""
    versions = read_manifest(copy).pillow | {"pillow": "0.1"}
    monkeypatch.setattr("convert.again.pillow_versions", lambda: versions)
    monkeypatch.setattr("convert.work.pillow_versions", lambda: versions)
    monkeypatch.setattr("convert.image.bake.Normalise", other_pixels)
    shard(copy, 0).unlink()
    shard(copy, 3).unlink()
    ended_before(3, KeyboardInterrupt, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        repair(copy, source, CREW, allow_version_change=True)
    assert list(verify(copy, CREW).wrong) == ["shard-00003.npy"]
    assert "0.1" in read_manifest(copy).pillow["pillow"]


def other_pixels(pixels: object, mean: tuple[float, ...], std: tuple[float, ...]) -> object:
    from convert.image.levels import Normalise

    return Normalise(pixels, tuple(value / 2 for value in mean), std)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def many(source: Path) -> Path:
    """A bake of so many shards that repair takes a while."""
    bake(source, source.parent / "many", size=(400, 400), shards=20)
    return source.parent / "many"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_signals(source: Path, many: Path, tmp_path: Path, number: signal.Signals) -> None:
    out = Path(shutil.copytree(many, tmp_path / "out"))
    for path in out.glob("shard-*"):
        path.unlink()
    run = start("repair", out, "--source", source, "--workers", 1)
    wait_for(lambda: len(list(out.glob("shard-*"))) >= 3 or run.poll() is not None)
    os.killpg(run.pid, number)
    code, lines = finish(run)
    kept = {path.name: path.stat().st_mtime_ns for path in out.glob("shard-*")}
    assert 3 <= len(kept) < 20
    if number == signal.SIGINT:
        assert code == 130
        assert lines == [f"prebake: interrupted; {len(kept)} of 20 bad shards made again, and in place: the same command goes on"]
    done = prebake("repair", out, "--source", source, "--workers", 1)
    assert (done.returncode, done.stdout.count("made again")) == (0, 20 - len(kept))
    assert kept.items() <= {path.name: path.stat().st_mtime_ns for path in out.glob("shard-*")}.items()
    assert digests(out) == digests(many)


def test_what_a_killed_repair_left_is_removed_though_nothing_is_bad(source: Path, whole: Path, copy: Path) -> None:
    left = copy / ".prebake" / "repair"
    left.mkdir(parents=True)
    (left / "shard-00000.npy").write_bytes(b"half")
    assert not repair(copy, source, CREW).shards
    assert digests(copy) == digests(whole)
    left.mkdir(parents=True)
    (left / f"shard-00000.npy.{os.getpid()}.partial").mkdir()
    (copy / f"manifest.json.{os.getpid()}.partial").symlink_to(source.parent / "mine")
    shard(copy, 0).unlink()
    repair(copy, source, CREW)
    assert digests(copy) == digests(whole)
    assert not (source.parent / "mine").exists()


def test_a_link_is_replaced_not_followed(source: Path, whole: Path, copy: Path, tmp_path: Path) -> None:
    for name in ("preview.png", "shard-00001.npy"):
        (tmp_path / name).write_text("mine")
        (copy / name).unlink()
        (copy / name).symlink_to(tmp_path / name)
    done = repair(copy, source, CREW)
    assert (done.drawn, len(done.shards)) == (True, 1)
    assert [(tmp_path / name).read_text() for name in ("preview.png", "shard-00001.npy")] == ["mine", "mine"]
    assert digests(copy) == digests(whole)
    assert not (copy / "preview.png").is_symlink()


@pytest.mark.parametrize(
    "key", ["../other/0.jpg", "/OTHER/0.jpg", "cat/../../other/0.jpg", "cat//0001.jpg", "./cat/0001.jpg", "cat/\0.jpg", ""]
)
def test_a_key_that_leads_elsewhere(source: Path, copy: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a sealed bake from nobody knows where may hold it; no picture is read then."""
    keys = list(Keys.load(copy, mapped=False))
    keys[-1] = key.replace("/OTHER", str(source.parent / "other"))
    Keys.make(keys).save(copy)
    sealed(copy)
    shard(copy, 0).unlink()
    monkeypatch.setattr("convert.pack.read_item", lambda *_: pytest.fail("a picture was read"))
    with pytest.raises(PrebakeError, match=r"keys\.npy has a key that leads elsewhere .*bake it again"):
        repair(copy, source, CREW)
    assert not shard(copy, 0).exists()


def test_tables_that_are_sealed_and_of_another_length(source: Path, copy: Path) -> None:
    np.save(copy / "hashes.npy", np.zeros((2, 16), np.uint8))
    sealed(copy)
    shard(copy, 1).unlink()
    done = repair(copy, source, CREW)
    assert ([made.name for made in done.shards], done.before.wrong["hashes.npy"]) == (
        ["shard-00001.npy"],
        "holds uint8 (2, 16), not uint8 (20, 16)",
    )
    for name, array in (("targets.npy", np.zeros(3, np.int64)), ("keys.npy", np.zeros(1, np.int64))):
        old = (copy / name).read_bytes()
        np.save(copy / name, array)
        sealed(copy)
        shard(copy, 1).unlink(missing_ok=True)
        with pytest.raises(PrebakeError, match=name.replace(".", "[.]")):
            repair(copy, source, CREW)
        (copy / name).write_bytes(old)


def test_shards_of_other_names(source: Path, copy: Path) -> None:
    manifest = read_manifest(copy)
    sealed(copy, shards=(dataclasses.replace(manifest.shards[0], name="first.npy"), *manifest.shards[1:]))
    with pytest.raises(PrebakeError, match=r"first\.npy should be called shard-00000\.npy"):
        repair(copy, source, CREW)


def in_a_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


@pytest.mark.parametrize("name", ["shard-00001.npy", "preview.png"])
def test_what_cannot_be_read_is_not_damage(source: Path, copy: Path, name: str) -> None:
    in_a_loop(copy / name)
    shard(copy, 2).unlink()
    done = prebake("verify", copy.name, cwd=copy.parent)
    assert (done.returncode, done.stderr) == (1, "")
    assert sorted(done.stdout.splitlines()) == sorted(
        [
            "bad        shard-00002.npy is missing",
            f"unread     {name} cannot be read: Too many levels of symbolic links",
            f"copy: 1 of {len(list(copy.iterdir())) + 1} files bad, 1 not read",
            "what is not read is not damaged, and stays: see to its permissions and the disk",
            "the bad shards can be made again: prebake repair copy --source SRC",
        ]
    )
    done = prebake("repair", copy.name, "--source", source, cwd=copy.parent)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0].startswith("made again shard-00002.npy")
    assert (copy / name).is_symlink()
    assert list(verify(copy, CREW).wrong) == [name]


def test_a_table_that_cannot_be_read(source: Path, copy: Path) -> None:
    in_a_loop(copy / "targets.npy")
    shard(copy, 2).unlink()
    with pytest.raises(PrebakeError, match=r"targets\.npy cannot be read.*; look at its permissions and the disk"):
        repair(copy, source, CREW)


def without_power() -> None:
    """Root reads whatever it likes, unless it gives up CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH; exec then takes them away."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def test_a_shard_without_permission(source: Path, whole: Path, copy: Path) -> None:
    shard(copy, 1).chmod(0)
    before = tree(copy)
    for command in (["verify", copy], ["repair", copy, "--source", source]):
        done = subprocess.run(
            [*PREBAKE, *map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False, preexec_fn=without_power
        )
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.splitlines()[0] == "unread     shard-00001.npy cannot be read: Permission denied"
    assert tree(copy) == before
    shard(copy, 1).chmod(0o644)
    assert not verify(copy, CREW).wrong
    assert digests(copy) == digests(whole)


@pytest.mark.parametrize("name", ["shard-00001.npy", "preview.png"])
def test_a_folder_in_a_files_place(source: Path, copy: Path, name: str) -> None:
    """`verify` and `repair` agree: it may be somebody's."""
    (copy / name).unlink()
    (copy / name).mkdir()
    (copy / name / "mine").touch()
    verdict = verify(copy, CREW)
    assert verdict.wrong == {name: "is a folder, where a file belongs"}
    assert f"first move what lies in the place of {name} elsewhere" in told(verdict)
    with pytest.raises(PrebakeError, match=rf"{name} is a folder, where a file belongs: move it elsewhere"):
        repair(copy, source, CREW)
    assert (copy / name / "mine").exists()


def as_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def as_device(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


@pytest.fixture
def soon() -> Iterator[None]:
    """Who waits for a pipe is woken: a failed test, not one that never ends."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError(number, frame)

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("put", [as_pipe, as_device])
@pytest.mark.parametrize("name", [MANIFEST, "keys.bin", "keys.npy", "targets.npy", "samples.csv"])
def test_what_is_no_regular_file_is_refused_at_once(source: Path, copy: Path, name: str, put: Callable[[Path], None]) -> None:
    put(copy / name)
    for io in ("mmap", "pread"):
        with pytest.raises(PrebakeError, match=name.replace(".", "[.]")):
            assert open_dataset(copy, io=io).columns
    if name == MANIFEST:
        with pytest.raises(PrebakeError, match="it is no regular file"):
            verify(copy, CREW)
        with pytest.raises(PrebakeError, match="it is no regular file"):
            repair(copy, source, CREW)
    else:
        assert verify(copy, CREW).wrong == {name: "is no file"}
        shard(copy, 0).unlink()
        if name != "samples.csv":
            with pytest.raises(PrebakeError, match="is no file: without it nothing can be repaired"):
                repair(copy, source, CREW)


@pytest.mark.usefixtures("soon")
def test_a_table_that_is_no_regular_file_and_not_verified(copy: Path) -> None:
    as_pipe(copy / "targets.npy")
    with pytest.raises(PrebakeError, match=r"targets\.npy is missing, damaged or of another bake"):
        read_inventory(copy)
    as_pipe(shard(copy, 0))
    with pytest.raises(PrebakeError, match="cannot be read"):
        count_stored(copy, read_manifest(copy), CREW)


def test_deep_nesting_is_one_line(copy: Path) -> None:
    for depth in (50, 400, 900, 100_000):
        text = (copy / MANIFEST).read_text()
        (copy / MANIFEST).write_text(text.replace('"options": {}', '"options": ' + '{"a":' * depth + "1" + "}" * depth))
        assert "not a manifest of a bake, or is damaged" in refused(prebake("verify", copy))
        (copy / MANIFEST).write_text(text)
