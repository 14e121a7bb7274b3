"""What a user types works: bakes go on past broken pictures, labels are ImageFolder's, and what is printed is true and can be run."""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import PIL
import pytest
from pictures import image_folder, jpeg, photo
from PIL import Image
from torchvision.datasets import ImageFolder

from convert.manifest import read_manifest
from convert.registry import format_names
from readers import open_dataset

ROOT = Path(__file__).parent.parent
PREBAKE = (sys.executable, "-m", "convert")
SMALL = ("--size", "16")
Done = subprocess.CompletedProcess[str]


def prebake(*args: object, cwd: Path = ROOT, command: tuple[str, ...] = PREBAKE) -> Done:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    words = [*command, *map(str, args)]
    return subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, errors="surrogateescape", timeout=60, check=False
    )


def bake(*args: object, cwd: Path = ROOT) -> str:
    """What a run prints that must go well."""
    done = prebake(*args, *SMALL, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def rows(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return list(csv.DictReader(file))


def labels(out: Path) -> dict[str, int]:
    """Label of each key: the table and the readers say the same."""
    dataset = open_dataset(out)
    assert dataset.targets is not None
    found = dict(zip(dataset.keys, dataset.targets.tolist(), strict=True))
    assert {row["key"]: int(row["label"]) for row in rows(out / "samples.csv")} == found
    return found


def tree(*roots: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for root in roots for path in (root, *root.rglob("*"))}


def image_folder_samples(root: Path) -> list[tuple[str, int]]:
    """The oracle: torchvision's keys and labels, in its order."""
    return [(Path(path).relative_to(root).as_posix(), label) for path, label in ImageFolder(str(root)).samples]


def test_a_broken_picture_is_left_out_and_said(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"cat": 4, "dog": 3})
    (source / "ape").mkdir()
    (source / "ape" / "page.jpg").write_text("<html>")
    (source / "dog" / "half.jpg").write_bytes(jpeg(photo(1, 60, 60))[:900])
    printed = bake("lmdb", source, tmp_path / "out")
    rejects = {row["key"]: (row["reason"], row["detail"]) for row in rows(tmp_path / "out" / "rejects.csv")}
    assert {key: reason for key, (reason, _) in rejects.items()} == {"ape/page.jpg": "not_an_image", "dog/half.jpg": "truncated"}
    assert all(detail for _, detail in rejects.values())
    assert "9 pictures = 7 written + 2 rejected (1 not_an_image, 1 truncated; see rejects.csv)" in printed
    assert set(labels(tmp_path / "out").values()) == {1, 2}
    assert read_manifest(tmp_path / "out").classes == ("ape", "cat", "dog")


def test_the_same_again_does_nothing_and_overwrite_replaces(tmp_path: Path) -> None:
    source, out = image_folder(tmp_path / "source", {"cat": 4, "dog": 3}), tmp_path / "out"
    bake("hdf5", source, out, "--shards", 3)
    before = tree(tmp_path)
    assert "holds this very bake already: nothing to do" in bake("hdf5", source, out, "--shards", 3, "--workers", 1)
    assert tree(tmp_path) == before
    bake("memmap", source, out, "--overwrite", "--no-preview")
    manifest = read_manifest(out)
    named = {"manifest.json"} | {shard.name for shard in manifest.shards} | {file.name for file in manifest.files}
    assert {path.name for path in out.iterdir()} == named
    assert len(open_dataset(out)) == 7


def test_a_second_split_is_like_the_first(tmp_path: Path) -> None:
    train = image_folder(tmp_path / "train", {"ape": 2, "cat": 2, "dog": 2})
    val = image_folder(tmp_path / "val", {"dog": 2, "cat": 1}, seed=1)
    options = ("--resize", "pad", "--filter", "lanczos", "--dtype", "uint8", "--mean", "0.5", "--std", "0.25,0.25,0.5")
    bake("lmdb", train, tmp_path / "baked", *options)
    assert prebake("memmap", val, tmp_path / "second", "--like", tmp_path / "baked").returncode == 0
    assert labels(tmp_path / "second") == {"cat/0000.jpg": 1, "dog/0000.jpg": 2, "dog/0001.jpg": 2}
    first, second = read_manifest(tmp_path / "baked"), read_manifest(tmp_path / "second")
    for name in ("shape", "resize", "filter", "dtype", "mean", "std", "classes"):
        assert getattr(first, name) == getattr(second, name)
    contradiction = prebake("lmdb", val, tmp_path / "third", "--like", tmp_path / "baked", "--size", 17)
    assert contradiction.returncode == 2
    assert re.fullmatch(r"prebake: --size contradicts --like .*/baked, whose size is .*16.*16.*: leave --size out\n", contradiction.stderr)
    unknown = prebake("lmdb", image_folder(tmp_path / "other", {"cat": 1, "cow": 1}), tmp_path / "third", "--like", tmp_path / "baked")
    assert unknown.returncode == 1
    assert re.fullmatch(r"prebake: .*/other has 1 class.* that .*/baked does not know: cow\n", unknown.stderr)
    assert not (tmp_path / "third").exists()


def test_a_class_file_gives_the_order(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"cat": 1, "dog": 1})
    (tmp_path / "classes.txt").write_bytes(b"\xef\xbb\xbfdog\r\nan ape\r\ncat\r\n")
    bake("memmap", source, tmp_path / "out", "--classes", tmp_path / "classes.txt")
    assert read_manifest(tmp_path / "out").classes == ("dog", "an ape", "cat")
    assert labels(tmp_path / "out") == {"dog/0000.jpg": 0, "cat/0000.jpg": 2}


@pytest.mark.parametrize(
    ("parts", "baked"),
    [
        (["train", "val"], ["train", "val"]),
        (["test", "train2017", "val_64"], ["train2017", "test", "val_64"]),
        (["images", "labels"], [""]),
    ],
)
def test_parts_are_no_classes_and_the_commands_in_the_refusal_work(tmp_path: Path, parts: list[str], baked: list[str]) -> None:
    root, out = tmp_path / 'my $photos "1"', tmp_path / "it's baked"
    for part in parts:
        image_folder(root / part, {"cat": 2, "dog": 1} if part != "labels" else {})
    (root / parts[-1]).mkdir(exist_ok=True)
    (root / parts[-1] / "boxes.txt").write_text("0 0 1 1")
    done = prebake("memmap", root, out)
    assert done.returncode == 2
    assert not out.exists()
    commands = [line for line in done.stderr.splitlines() if line.startswith("  prebake ")]
    assert len(commands) == len(baked)
    script = "\n".join(["set -e", f'prebake() {{ {shlex.join(PREBAKE)} "$@"; }}', *commands])
    typed = prebake("-c", script, command=("sh",))
    assert (typed.returncode, typed.stderr) == (0, "")
    for name in baked:
        assert read_manifest(out / name).classes == ("cat", "dog")


def test_folders_that_are_classes_all_the_same(tmp_path: Path) -> None:
    bake("memmap", image_folder(tmp_path / "vehicles", {"bus": 1, "car": 1, "train": 1}), tmp_path / "one")
    bake("memmap", image_folder(tmp_path / "words", {"train": 1, "val": 1}), tmp_path / "two", "--classes-are-folders")
    assert set(labels(tmp_path / "one")) == {"bus/0000.jpg", "car/0000.jpg", "train/0000.jpg"}
    assert labels(tmp_path / "two") == {"train/0000.jpg": 0, "val/0000.jpg": 1}


@pytest.mark.parametrize(("size", "resize"), [("16x16", "center-crop"), ("16x48", "center-crop"), ("16x16", "pad"), ("16x16", "stretch")])
def test_plan_tells_the_truth_and_writes_nothing(tmp_path: Path, size: str, resize: str) -> None:
    source = image_folder(tmp_path / "source", {"cat": 5, "dog": 9})
    height, width = map(int, size.split("x"))
    kept = []
    for path in source.rglob("*.jpg"):
        with Image.open(path) as picture:
            ratio = picture.width / picture.height * height / width
            kept.append(min(ratio, 1 / ratio) if resize == "center-crop" else 1)
    before = tree(tmp_path)
    done = prebake("plan", source, tmp_path / "out", "--size", size, "--resize", resize, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert tree(tmp_path) == before
    assert "14 in 2 classes (5 to 9 in each)" in done.stdout
    assert f"{14 * height * width * 3 * 2 / 1000:.1f} kB in 1 shard;" in done.stdout
    dropped = re.search(rf"{resize} drops (\d+)% of the area on average", done.stdout)
    assert dropped
    assert abs(int(dropped[1]) - 100 * (1 - sum(kept) / len(kept))) <= 2
    assert ("--resize pad keeps all" in done.stdout) == (resize == "center-crop")


def test_doctor_says_which_pillow_and_where_everything_is() -> None:
    lines = dict(re.findall(r"^(\S+(?: \w+)?) {2,}(.*)$", prebake("doctor").stdout, re.MULTILINE))
    assert PIL.__version__ in lines["Pillow"]
    assert ("Pillow-SIMD" in lines["Pillow"]) == (".post" in PIL.__version__)
    assert (lines["convert"], lines["readers"]) == (str(ROOT / "convert"), str(ROOT / "readers"))
    assert {name for name in lines if name.startswith("format ")} == {f"format {name}" for name in format_names()}


@pytest.mark.parametrize("command", [[], *([name] for name in (*format_names(), "plan", "doctor"))])
def test_help_fits_a_terminal(command: list[str]) -> None:
    done = prebake(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: prebake {' '.join(command)}")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert all(word in done.stdout for word in (format_names() if not command else ["--size", "--like"] if command != ["doctor"] else []))


def test_the_script_is_the_module() -> None:
    module, function = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]["prebake"].split(":")
    script = (sys.executable, "-c", f"import sys; from {module} import {function}; sys.exit({function}())")
    for words in (["lmdb", "--help"], ["--version"], ["lmdb", "nowhere", "out"], ["nothing"]):
        one, other = prebake(*words, command=script), prebake(*words)
        assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


def test_hostile_names_survive(tmp_path: Path) -> None:
    names = [
        "a\nb.jpg",
        "a\tb.jpg",
        "a'b\".jpg",
        "a,b.jpg",
        "🦊.jpg",
        "-rf.jpg",
        "{000..003}.jpg",
        "*[?].jpg",
        "a\\b.jpg",
        "$(x).jpg",
        "a.b.c.jpg",
    ]
    names += [os.fsdecode(b"caf\xe9.jpg"), "é.jpg", "e\u0301.jpg", "x" * 251 + ".jpg", " .jpg"]
    source = tmp_path / os.fsdecode(b"so\xffurce\n")
    for number, folder in enumerate(("__background__", os.fsdecode(b"\xe9t\xe9"), "v1.5 class")):
        (source / folder).mkdir(parents=True)
        for name in names:
            (source / folder / name).write_bytes(jpeg(photo(number, 20, 24)))
    printed = bake("webdataset", source, tmp_path / "out", "--with-keys")
    expected = image_folder_samples(source)
    assert len(expected) == 3 * len(names)
    assert labels(tmp_path / "out") == dict(expected)
    assert rf"{tmp_path}/so\udcffurce\n -> " in printed
    assert printed.isascii()


def test_the_lines_of_python_in_the_summary_run(tmp_path: Path) -> None:
    out = tmp_path / 'my "baked"\\photos'
    printed = bake("lmdb", image_folder(tmp_path / "source", {"cat": 2, "dog": 1}), out)
    code = "\n".join(line.strip() for line in printed.splitlines() if line.startswith("    "))
    done = prebake("-c", f"{code}\nassert len(dataset) == 3", command=(sys.executable,))
    assert (done.returncode, done.stderr) == (0, "")


def test_order_and_labels_are_those_of_image_folder(tmp_path: Path) -> None:
    source = image_folder(
        tmp_path / "source", {"1": 2, "10": 2, "2": 2, "A": 1, "a": 1, "é": 1, "2/deep/er": 2, "2/Deep": 1, "1/0000.jpg.d": 1}
    )
    (source / "10" / "UPPER.JPG").write_bytes(jpeg(photo(0, 20, 20)))
    (source / "10" / "Mixed.JpEg").write_bytes(jpeg(photo(1, 20, 20)))
    bake("memmap", source, tmp_path / "ordered", "--order", "source")
    bake("memmap", source, tmp_path / "shuffled")
    expected = image_folder_samples(source)
    assert list(labels(tmp_path / "ordered").items()) == expected
    shuffled = list(labels(tmp_path / "shuffled").items())
    assert shuffled != expected
    assert sorted(shuffled) == sorted(expected)
    assert read_manifest(tmp_path / "ordered").classes == ("1", "10", "2", "A", "a", "é")


def test_hidden_and_empty_folders_shift_no_label(tmp_path: Path) -> None:
    clean = image_folder(tmp_path / "clean", {"cat": 2, "dog": 2})
    source = shutil.copytree(clean, tmp_path / "source")
    for folder in (".ipynb_checkpoints", "__MACOSX", "@eaDir", "0 empty", "bear"):
        (source / folder).mkdir()
    for junk in (
        ".ipynb_checkpoints/a.jpg",
        "__MACOSX/._a.jpg",
        "@eaDir/a.jpg",
        "cat/._0000.jpg",
        "cat/Thumbs.db",
        "bear/notes.txt",
        ".DS_Store",
    ):
        (source / junk).write_bytes(jpeg(photo(0, 20, 20)))
    printed = bake("memmap", source, tmp_path / "out", "--order", "source")
    assert list(labels(tmp_path / "out").items()) == image_folder_samples(clean)
    assert "2 folders without pictures" in printed


def test_pipes_dead_links_and_loops_are_survived(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"cat": 2, "dog": 2})
    os.mkfifo(source / "cat" / "pipe.jpg")
    (source / "cat" / "dead.jpg").symlink_to("nowhere")
    (source / "cat" / "zero.jpg").symlink_to("/dev/zero")
    (source / "dog" / "up").symlink_to("..")
    (source / "dog" / "more").symlink_to(image_folder(tmp_path / "more", {"": 1}))
    bake("lmdb", source, tmp_path / "out")
    rejects = {row["key"]: row["reason"] for row in rows(tmp_path / "out" / "rejects.csv")}
    assert rejects == {"cat/pipe.jpg": "not_regular_file", "cat/dead.jpg": "broken_symlink", "cat/zero.jpg": "not_regular_file"}
    assert set(labels(tmp_path / "out")) == {"cat/0000.jpg", "cat/0001.jpg", "dog/0000.jpg", "dog/0001.jpg", "dog/more/0000.jpg"}


def test_a_link_to_itself_costs_one_picture_only(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"cat": 1, "dog": 1})
    (source / "cat" / "self.jpg").symlink_to("self.jpg")
    bake("lmdb", source, tmp_path / "out")
    assert [(row["key"], row["reason"]) for row in rows(tmp_path / "out" / "rejects.csv")] == [("cat/self.jpg", "broken_symlink")]
