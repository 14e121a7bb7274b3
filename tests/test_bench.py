"""The bench: all formats on 32 pictures, its figures against one another, its table at 80 columns, its page alone."""

from __future__ import annotations

import csv
import json
import statistics
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from launch import ROOT
from pictures import image_folder
from PIL import Image

from convert.manifest import read_manifest
from convert.registry import format_names

sys.path.insert(0, str(ROOT / "scripts"))

from benching import pngs
from benching.bench import measure
from benching.markdown import markdown
from benching.page import page
from benching.sections import about, last, sections, table
from benching.settings import Settings

KINDS = ("loader_only", "training", "cold")
SETTINGS = Settings(
    data=None,
    baked=(),
    formats=("folder", *format_names()),
    dtypes=("uint8",),
    loader="both",
    model="mobilenet_v3_small",
    device="cpu",
    batch=8,
    augment="crop",
    amp=False,
    channels_last=True,
    epochs=2,
    samples=30,
    cold=True,
    workers=1,
    size=48,
    crop=40,
    seconds=0.02,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_folder(tmp_path_factory.mktemp("bench") / "data", {"a": 10, "b": 12, "c & <d>": 10})


@pytest.fixture(scope="module")
def told(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return measure(Settings(**{**SETTINGS.__dict__, "data": data}), tmp_path_factory.mktemp("work"), lambda _line: None)


def timed(told: dict[str, Any]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    return [(kind, row, row[kind]) for row in told["rows"] for kind in KINDS if row[kind]]


def test_every_format_and_loader_has_a_row(told: dict[str, Any]) -> None:
    assert json.loads(json.dumps(told)) == told
    names = {f"{format} uint8 {loader}" for format in format_names() for loader in ("Loader", "DataLoader")}
    assert {row["name"] for row in told["rows"]} == names | {"folder defaults", "folder tuned"}
    for row in told["rows"]:
        assert row["loader_only"]
        assert row["cold"]
        assert bool(row["training"]) == (row["loader"] == "Loader" or bool(row["role"]))
        assert bool(row["conversion"]) != bool(row["role"])


def test_jpegs_are_another_kind_of_rows(data: Path, tmp_path: Path) -> None:
    asked = {"data": data, "formats": ("memmap", "hdf5"), "encodings": ("raw", "jpeg"), "loader": "prebake", "model": "none", "cold": False}
    lines: list[str] = []
    found = measure(Settings(**SETTINGS.__dict__ | asked), tmp_path, lines.append)
    rows = {row["name"]: row for row in found["rows"]}
    assert list(rows) == [f"{format} {kind} Loader" for kind in ("uint8", "jpeg") for format in ("memmap", "hdf5")]
    for kind in ("uint8", "jpeg"):
        for format in ("memmap", "hdf5"):
            manifest = read_manifest(tmp_path / f"{format}-{kind}")
            assert (manifest.encoding, manifest.shape) == ("jpeg" if kind == "jpeg" else "raw", (48, 48, 3))
            assert rows[f"{format} {kind} Loader"]["kind"] == kind
    assert rows["memmap jpeg Loader"]["bytes"] < rows["memmap uint8 Loader"]["bytes"]
    assert "memmap jpeg Loader" in table(found)
    nothing = Settings(**SETTINGS.__dict__ | {"dtypes": ("float16", "uint8"), "encodings": ("jpeg",)})
    assert nothing.kinds == ("jpeg",)


def test_shares_and_ratios_are_those_of_the_times(told: dict[str, Any]) -> None:
    folders = [row for row in told["rows"] if row["role"]]
    best = {kind: min(row[kind]["epoch_s"] for row in folders) for kind in KINDS}
    for kind, _, one in timed(told):
        assert sum(one["shares"].values()) == pytest.approx(1)
        assert one["speedup"] == pytest.approx(best[kind] / one["epoch_s"])
        assert one["epoch_s"] == pytest.approx(statistics.median(32 * done["seconds"] / done["pictures"] for done in one["rounds"]))
        assert one["pictures_per_s"] == pytest.approx(32 / one["epoch_s"])
        assert one["epoch_s_spread"][0] <= one["epoch_s"] <= one["epoch_s_spread"][1]
        assert all(done["pictures"] % 8 == 0 for done in one["rounds"])
        assert 0 <= one["wait_ms"]["median"] <= one["wait_ms"]["p95"] <= one["wait_ms"]["max"]
        if kind != "cold":
            assert min(done["seconds"] for done in one["rounds"]) >= 0.02
        if kind == "training":
            assert one["of_bound"] == pytest.approx(one["pictures_per_s"] / told["bound"]["pictures_per_s"])
    for row in told["rows"]:
        pays = row["pays_after_epochs"]
        if pays is not None:
            gain = best["training"] - row["training"]["epoch_s"]
            assert (pays - 1) * gain < row["conversion"]["full_seconds"] <= pays * gain * (1 + 1e-9)


def test_all_rows_saw_the_same_labels_in_the_same_order(told: dict[str, Any], data: Path) -> None:
    assert {tuple(one["labels"]) for _, _, one in timed(told)} == {(told["labels"],)}
    # The order that NumPy draws, over the chosen pictures in ImageFolder's order.
    chosen = np.sort(np.random.default_rng(0).choice(32, 30, replace=False))
    labels = np.repeat([0, 1, 2], [len(list((data / name).iterdir())) for name in sorted(path.name for path in data.iterdir())])[chosen]
    random = np.random.default_rng(0)
    passes = np.concatenate([random.permutation(30), random.permutation(30)])[:32]
    assert told["labels"] == f"{zlib.crc32(labels[passes].astype(np.int64).tobytes()):08x}"


def test_few_pictures_stand_for_all_and_it_is_said(told: dict[str, Any]) -> None:
    assert told["pictures"] == {"measured": 30, "full": 32, "scaled": True, "batch": 8}
    assert "SCALED to the full set of 32" in table(told).replace("\n  ", " ")
    for row in told["rows"]:
        assert row["full_bytes"] == round(row["bytes"] * 32 / 30)


def test_the_table_fits_80_columns(told: dict[str, Any]) -> None:
    text = table(told)
    assert max(map(len, text.splitlines())) <= 80
    assert text.isascii()
    for row in told["rows"]:
        assert row["name"].replace("uint8", "u8") in text
    assert text.endswith(told["verdict"].split()[-1])


def test_markdown_has_the_same_cells(told: dict[str, Any]) -> None:
    lines = markdown(about(told), sections(told), last(told)).splitlines()
    grids = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    cells = [row for row in grids if not set("".join(row)) <= set("-:")]
    text = table(told)
    assert len(cells) == sum(1 + len(section.rows) for section in sections(told)) > 20
    for row in cells:
        assert any(line.split() == " ".join(row).split() for line in text.splitlines()), row
    assert lines[-1] == told["verdict"]


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.outside += [f"{name}={value}" for name, value in attrs if name in ("src", "href", "data", "srcset", "action", "xlink:href")]


def test_the_page_is_well_formed_and_needs_nothing_else(told: dict[str, Any]) -> None:
    html = page(told | {"verdict": "a < b & c"}, table(told))
    links = Links()
    links.feed(html)
    assert links.outside == []
    assert not {"script", "link", "img", "iframe"} & set(links.tags)
    assert "url(" not in html
    assert "@import" not in html
    assert 'name="viewport"' in html
    tree = ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>\n"))
    charts = tree.findall(".//svg")
    assert len(charts) == 5
    bars = [float(rect.attrib["width"]) for rect in charts[0].findall("rect")]
    rates = [row["training"]["pictures_per_s"] for row in told["rows"] if row["training"]]
    assert np.allclose(np.array(bars) / max(bars), np.maximum(np.array(rates) / max(rates), 0.5 / max(bars)), atol=1e-3)
    width = float(charts[0].attrib["viewBox"].split()[2])
    for rect in tree.iter("rect"):
        assert float(rect.attrib["x"]) + float(rect.attrib["width"]) <= width + 0.1


def test_pngs_show_the_bars(told: dict[str, Any], tmp_path: Path) -> None:
    html = page(told, table(told))
    pngs.write(html, tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name[0] for name in names] == ["1", "2", "3", "4", "5"]
    with Image.open(tmp_path / names[-1]) as picture:  # megabytes on disk
        levels = np.asarray(picture)
    assert (levels == (0xD5, 0x5E, 0)).all(axis=2).any()
    widest = max(row["full_bytes"] for row in told["rows"])
    loaders = [row["full_bytes"] for row in told["rows"] if row["loader"] == "Loader"]
    width = (levels == (0, 0x9E, 0x73)).all(axis=2).sum(axis=1).max()
    assert abs(width - 2 * 356 * max(loaders) / widest) <= 2


def test_columns_and_figures_of_the_machine(told: dict[str, Any]) -> None:
    with Path("/proc/mounts").open() as mounts:
        kinds = {line[2] for line in csv.reader(mounts, delimiter=" ")}
    assert told["machine"]["bakes_on"]["file_system"] in kinds
    for _, _, one in timed(told):
        assert 0 < one["first_batch_s"] < 60
