"""Each command does what it says: what is printed is true and can be run."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import PIL
import pytest
from launch import ROOT, bake, labels, prebake, rows, tree
from pictures import image_folder, jpeg, photo
from PIL import Image

from convert.manifest import read_manifest
from convert.registry import format_names
from readers import open_dataset


def test_a_broken_picture_is_left_out_and_said(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "source", {"cat": 4, "dog": 3})
    (source / "ape").mkdir()
    (source / "ape" / "page.jpg").write_text("<html>")
    (source / "dog" / "half.jpg").write_bytes(jpeg(photo(1, 60, 60))[:900])
    printed = bake("lmdb", source, tmp_path / "out")
    rejects = {row["key"]: (row["reason"], row["detail"]) for row in rows(tmp_path / "out" / "rejects.csv")}
    assert {key: reason for key, (reason, _) in rejects.items()} == {"ape/page.jpg": "not_an_image", "dog/half.jpg": "truncated"}
    assert all(detail for _, detail in rejects.values())
    assert "9 pictures = 7 written + 2 rejected\nrejected, see rejects.csv: not_an_image 1, truncated 1\n" in printed
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


@pytest.mark.parametrize("command", [[], *([name] for name in (*format_names(), "plan", "stats", "doctor"))])
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


def test_the_lines_of_python_in_the_summary_run(tmp_path: Path) -> None:
    out = tmp_path / 'my "baked"\\photos'
    printed = bake("lmdb", image_folder(tmp_path / "source", {"cat": 2, "dog": 1}), out)
    code = "\n".join(line.strip() for line in printed[printed.rindex("\n\n") :].splitlines())
    names: dict[str, Any] = {}
    exec(code, names)
    assert len(names["dataset"]) == 3
