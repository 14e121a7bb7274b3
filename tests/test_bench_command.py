"""The bench's command line: mistakes are told in one line, a sweep prints code, a loader is looked at, nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import bake
from launch import ROOT
from pictures import image_folder

sys.path.insert(0, str(ROOT / "scripts"))

from benching.command import main

COMMAND = [sys.executable, str(ROOT / "scripts" / "bench.py")]


def bench(*args: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TMPDIR": str(cwd), "COLUMNS": "80"}
    return subprocess.run([*COMMAND, *map(str, args)], cwd=cwd, env=environment, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        ([], "give --data FOLDER, or --baked DIR", 2),
        (["--data", "absent"], "absent: no such folder", 1),
        (["--baked", "absent"], "absent", 1),
        (["--data", ".", "--formats", "zip"], "--formats zip: there are folder, hdf5", 2),
        (["--data", ".", "--encodings", "raw,png"], "--encodings png: there are raw, jpeg", 2),
        (["--data", ".", "--sweep", "threads=1"], "--sweep threads=1: write NAME=", 2),
        (["--data", ".", "--sweep", "num_workers=0", "--sweep-budget", "long"], "--sweep-budget long: write 90s", 2),
        (["photos"], "write --data photos", 2),
        (["--diagnose", "absent:make"], "give module:function", 2),
        (["--data", ".", "--batch-size", "100000000", "--workers", "0"], "take a smaller --batch-size", 1),
        (["--data", ".", "--json", "absent/out.json"], "no folder that can be written into", 2),
        (["--data", ".", "--sweep", "num_workers=0", "photos"], "--sweep photos: write NAME=", 2),
    ],
)
def test_a_mistake_is_told_in_one_line(words: list[str], said: str, code: int, *, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = CliRunner().invoke(main, words)
    assert done.exit_code == code
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_of_a_bake_prints_code_that_runs(tmp_path: Path) -> None:
    bake(image_folder(tmp_path / "photos", {"a": 8, "b": 8}), tmp_path / "baked", size=(224, 224))
    words = ["--sweep", "num_workers=0,1", "batch_size=8", "--batch-size", "4", "--epochs", "2"]
    done = bench("--baked", tmp_path / "baked", *words, "--json", tmp_path / "out.json", "--html", tmp_path / "out.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (swept,) = json.loads((tmp_path / "out.json").read_text())["sweep"]
    tried = {name: [point["value"] for point in points] for name, points in swept["curves"].items()}
    assert tried == {"num_workers": [0, 1], "batch_size": [8]}
    points = [point for points in swept["curves"].values() for point in points]
    assert swept["rate"] == max(point["pictures_per_s"] for point in points)
    for point in points:
        assert len(point["rates"]) == 2
        assert point["pictures_per_s"] == pytest.approx(sum(point["rates"]) / 2)
        assert point["epoch_s"] == pytest.approx(16 / point["pictures_per_s"])
    line = next(line.strip() for line in done.stdout.splitlines() if "torch_loader(" in line)
    code = f"from readers import *\ndataset = open_dataset('baked')\nprint(len(next(iter({line}))[0]))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) == swept["best"]["batch_size"]
    assert (tmp_path / "out.html").read_text().count("<polyline") == 2


def test_bakes_of_other_pictures_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        bake(image_folder(tmp_path / name, {name: 4}), tmp_path / f"baked-{name}", size=(224, 224))
    done = bench("--baked", tmp_path / "baked-one", tmp_path / "baked-two", "--model", "none", "--epochs", "1", cwd=tmp_path)
    assert done.returncode == 1
    assert "no picture in common" in done.stderr


def test_other_labels_for_the_same_pictures_are_refused(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "photos", {"a": 4, "b": 4})
    (tmp_path / "classes.txt").write_text("b\na\n")
    bake(source, tmp_path / "one", size=(224, 224))
    bake(source, tmp_path / "two", size=(224, 224), classes=tmp_path / "classes.txt")
    words = ["--model", "none", "--epochs", "1", "--loader", "prebake", "--batch-size", "4"]
    done = bench("--baked", tmp_path / "one", "--baked", tmp_path / "two", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert "did not see the same labels" in done.stderr


def test_a_bake_of_a_flat_folder_meets_its_folder(tmp_path: Path) -> None:
    bake(image_folder(tmp_path / "photos", {"a": 6}) / "a", tmp_path / "baked", size=(224, 224))
    words = ["--formats", "folder", "--model", "none", "--epochs", "1", "--loader", "prebake", "--batch-size", "4", "--workers", "0"]
    done = bench("--data", tmp_path / "photos" / "a", "--baked", tmp_path / "baked", *words, "--json", tmp_path / "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row["name"] for row in json.loads((tmp_path / "out.json").read_text())["rows"]][-1] == "memmap float16 Loader"
    assert "proves the number of pictures" in " ".join(done.stdout.split())


LIMITED = """
import resource, sys
sys.path[:0] = sys.argv[1:3]
from benching.command import main
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 30), now + (1 << 30)))
main(sys.argv[3:])
"""


@pytest.mark.parametrize("swept", [True, False])
def test_a_batch_that_does_not_fit_the_memory_is_reported(swept: bool, *, tmp_path: Path) -> None:
    bake(image_folder(tmp_path / "photos", {"a": 4, "b": 4}), tmp_path / "baked", size=(224, 224))
    words = ["--baked", "baked", "--workers", "0", "--epochs", "1", "--model", "none"]
    words += ["--sweep", "batch_size=4,2048", "num_workers=0"] if swept else ["--loader", "dataloader", "--batch-size", "2048"]
    command = [sys.executable, "-c", LIMITED, str(ROOT), str(ROOT / "scripts"), *words, "--json", "out.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert "Traceback" not in done.stderr
    if not swept:
        assert done.returncode == 1
        assert "out of memory with batches of 2048" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "out.json").read_text())["sweep"]
    assert [point["value"] for point in found["curves"]["batch_size"]] == [4]
    assert found["best"]["batch_size"] == 4
    (reason,) = found["stopped"]
    assert reason.startswith("batch_size=2048: ")
    assert "allocate" in reason
    assert [point["value"] for point in found["curves"]["num_workers"]] == [0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_baked_goes_when_it_is_stopped(number: signal.Signals, *, tmp_path: Path) -> None:
    image_folder(tmp_path / "photos", {"a": 8})
    (work := tmp_path / "work").mkdir()
    words = [
        "--data",
        "photos",
        "--work",
        str(work),
        "--formats",
        "folder,memmap",
        "--model",
        "none",
        "--epochs",
        "500",
        "--batch-size",
        "4",
    ]
    with subprocess.Popen([*COMMAND, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if "folder tuned" in line:  # workers run
                break
        assert list(work.glob("*/memmap-float16/manifest.json"))
        running.send_signal(number)
        rest = running.stderr.read()
        assert running.wait(60) == 128 + number
    assert "Traceback" not in rest
    assert rest.splitlines()[-1] == f"bench: {'interrupted' if number == signal.SIGINT else 'ended from outside'}"
    assert list(work.iterdir()) == []


SLOW = """
import time
import torch

def make():
    while True:
        time.sleep(0.05)
        yield torch.zeros(4, 3, 32, 32), torch.zeros(4, dtype=torch.int64)
"""


def test_a_slow_loader_is_seen_to_wait(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SLOW)
    done = bench("--diagnose", "mine:make", "--model", "none", "--json", tmp_path / "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["steps_ms"]["waiting"]["median"] > 49
    assert told["steps_ms"]["waiting"]["share"] > 0.8
    assert sum(part["share"] for part in told["steps_ms"].values()) == pytest.approx(1)
    assert told["suspects"]
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_loader_that_can_be_iterated_once_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    source = (
        "import torch\ndef make(count=9):\n    return (torch.zeros(4, 3, 32, 32) for _ in range(count))\ndef less():\n    return make(3)\n"
    )
    (tmp_path / "iterated_once.py").write_text(source)
    done = CliRunner().invoke(main, ["--diagnose", "iterated_once:make", "--model", "none"])
    assert done.exit_code == 0, done.stderr
    done = CliRunner().invoke(main, ["--diagnose", "iterated_once:less", "--model", "none"])
    assert done.exit_code == 2
    assert "give a longer loader" in done.stderr
