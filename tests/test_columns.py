"""Columns of `samples.csv`, against Python's csv module: what is a number, what is a text, and what is refused."""

from __future__ import annotations

import copy
import csv
import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from columns import replace, with_columns
from conftest import CLASSES, bake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pictures import image_folder

import readers.table
from convert.errors import PrebakeError
from readers import open_dataset
from readers.table import Table

TWELVE = tuple(range(12))
ODD = ["", " ", 'quo"te', '"', '""', "a,b", "two\nlines", "\n", "end\r\n", "käse", "名前", "caf\udce9", "x" * 200_000, "1,5", "=1+1", "\\N"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("columns")
    bake(image_folder(root / "source", {"cat": 5, "dog": 7}), root / "out", size=(8, 8), shards=2)
    return root / "out"


@pytest.fixture
def out(plain: Path, tmp_path: Path) -> Path:
    """A bake of twelve rows to be changed."""
    return Path(shutil.copytree(plain, tmp_path / "out"))


def _by_csv(table: Path) -> dict[str, list[str]]:
    """The oracle, with its limit lifted for as long as it reads."""
    before = csv.field_size_limit(1 << 30)
    with table.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        header, *rows = csv.reader(file)
    csv.field_size_limit(before)
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def test_our_own_columns(baked: Path) -> None:
    dataset, table = open_dataset(baked), _by_csv(baked / "samples.csv")
    assert dataset.columns == list(table)
    for name, cells in table.items():
        column = dataset.column(name)
        assert column.shape == (len(dataset),)
        assert [type(cell)(value) for value, cell in zip(column.tolist(), cells, strict=True)] == cells or name.startswith("scale")
    assert dataset.column("scale_y").tolist() == [float(cell) for cell in table["scale_y"]]
    assert dataset.column("key").tolist() == list(dataset.keys)
    assert np.array_equal(dataset.column("label"), np.asarray(dataset.targets))
    assert dataset.column("label").dtype == dataset.column("source_height").dtype == np.int64


def test_a_class_called_by_a_number_is_a_text(tmp_path: Path) -> None:
    bake(image_folder(tmp_path / "source", {"1": 1, "10": 1, "2": 2}), tmp_path / "out", size=(8, 8))
    dataset = open_dataset(tmp_path / "out")
    assert sorted(dataset.column("class")) == ["1", "10", "2", "2"]
    assert len(dataset.where("class == '2'")) == 2


NAN = float("nan")


@pytest.mark.parametrize(
    ("cells", "dtype", "values"),
    [
        (["3", "-1", "0"], np.int64, [3, -1, 0]),
        ([str(2**63 - 1), str(-(2**63)), "1"], np.int64, [2**63 - 1, -(2**63), 1]),
        (["3", "", "-1"], np.float64, [3.0, NAN, -1.0]),
        (["3", "0.5", "1.e-3"], np.float64, [3.0, 0.5, 0.001]),
        (["1.5E+2", "0.0", "-0.0"], np.float64, [150.0, 0.0, -0.0]),
        (["0.30000000000000004", "1.7976931348623157e308", "0.50"], np.float64, [0.1 + 0.2, sys.float_info.max, 0.5]),
        (["4.9e-324", "-100000.000", "2.2250738585072014e-308"], np.float64, [5e-324, -1e5, sys.float_info.min]),
        (["1e-05", "1.0", "2"], np.float64, [1e-05, 1.0, 2.0]),
        (["1E17", "1E18", "2"], object, ["1E17", "1E18", "2"]),
        (["1e999", "1.0", "2.0"], object, ["1e999", "1.0", "2.0"]),
        (["1.0e999", "1.0", "2.0"], object, ["1.0e999", "1.0", "2.0"]),
        (["1.0e-999", "1.0", "2.0"], object, ["1.0e-999", "1.0", "2.0"]),
        (["0.12345678901234567890", "1.0", "2.0"], object, ["0.12345678901234567890", "1.0", "2.0"]),
        (["0.92345678901234567", "1.0", "2.0"], object, ["0.92345678901234567", "1.0", "2.0"]),
        (["9007199254740992.5", "1.0", "2.0"], object, ["9007199254740992.5", "1.0", "2.0"]),
        (["-0", "1", "2"], object, ["-0", "1", "2"]),
        (["-0", "1.0", "2.0"], object, ["-0", "1.0", "2.0"]),
        ([".", "1.0", "2.0"], object, [".", "1.0", "2.0"]),
        (["0.1", "nan", ".5"], np.float64, [0.1, NAN, 0.5]),
        (["3", " 4", "5 "], np.int64, [3, 4, 5]),
        (["", "", ""], object, ["", "", ""]),
        (["", "nan", ""], object, ["", "nan", ""]),
        (["True", "False", "True"], object, ["True", "False", "True"]),
        (["1", "2", "x"], object, ["1", "2", "x"]),
        (["007", "7", "1"], object, ["007", "7", "1"]),
        (["1_0", "2", "3"], object, ["1_0", "2", "3"]),
        (["\u0661", "2", "3"], object, ["\u0661", "2", "3"]),
        ([str(2**63), "1", "2"], object, [str(2**63), "1", "2"]),
        (["1" * 25, "1" * 24 + "2", ""], object, ["1" * 25, "1" * 24 + "2", ""]),
        ([str(2**53 + 1), "", "1"], object, [str(2**53 + 1), "", "1"]),
        (["1.2.840.1", "1.2", "3"], object, ["1.2.840.1", "1.2", "3"]),
        (["inf", "1", "2"], object, ["inf", "1", "2"]),
        (["1", "", "x"], object, ["1", "", "x"]),
    ],
)
def test_what_is_a_number(out: Path, cells: list[str], dtype: type, values: list[Any]) -> None:
    column = open_dataset(with_columns(out, {"mine": cells * 4})).column("mine")
    assert column.dtype == dtype
    assert np.array_equal(column, np.array(values * 4, dtype), equal_nan=dtype is np.float64)


def test_odd_cells_and_odd_names(out: Path) -> None:
    names = {name or "blank": [ODD[(i + k) % len(ODD)] for i in TWELVE] for k, name in enumerate(ODD)}
    dataset = open_dataset(with_columns(out, names))
    limit = csv.field_size_limit()
    table = _by_csv(out / "samples.csv")
    assert dataset.columns == list(table)
    for name in names:
        assert dataset.column(name).tolist() == table[name] == names[name]
    assert csv.field_size_limit() == limit


CELLS = st.text(st.sampled_from('ab",\n 0é\udce9'), max_size=5)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=2, max_size=8), st.sampled_from([1, 2, 7, 1 << 24]))
def test_a_table_is_divided_as_csv_divides_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[list[str]], block: int) -> None:
    path = tmp_path / "samples.csv"
    header = [f"{number}{cell}" for number, cell in enumerate(rows[0])]
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *([f"t{cell}" for cell in row] for row in rows[1:])])
    with monkeypatch.context() as patch:
        patch.setattr(readers.table, "BLOCK", block)
        table = Table(path, len(rows) - 1)
        found = {name: table.column(name).tolist() for name in table.columns}
    assert found == _by_csv(path)


def test_columns_follow_subsets_and_are_copies(out: Path) -> None:
    dataset = open_dataset(with_columns(out, {"number": TWELVE, "word": [f"w{i}" for i in TWELVE]}))
    part = dataset.subset([7, 2, 2, -1])
    assert part.column("number").tolist() == [7, 2, 2, 11]
    assert part.column("word").tolist() == ["w7", "w2", "w2", "w11"]
    assert part.subset([1]).column("key").tolist() == [dataset.key(2)]
    for one in (dataset, part):
        for name in ("number", "word"):
            one.column(name)[:] = 0
    assert dataset.column("number").tolist() == list(TWELVE)
    assert part.column("word").tolist() == ["w7", "w2", "w2", "w11"]


def test_a_table_is_not_pickled_and_can_be_lost_until_needed(out: Path) -> None:
    dataset = open_dataset(with_columns(out, {"word": ["a rather long text" * 99 for _ in TWELVE]}))
    assert len(set(dataset.column("word"))) == 1
    assert len(pickle.dumps(dataset)) < 2000
    assert copy.deepcopy(dataset).column("word").tolist() == dataset.column("word").tolist()
    (out / "samples.csv").unlink()
    again = open_dataset(out)
    assert again[0][1] == dataset[0][1]
    for ask in (
        lambda: again.columns,
        lambda: again.column("word"),
        lambda: again.where("row == 1"),
        lambda: again.split(0.5, group="row"),
    ):
        with pytest.raises(PrebakeError, match=r"samples\.csv is missing: copy the whole bake again"):
            ask()


def test_many_different_texts_are_not_kept(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = open_dataset(with_columns(out, {"few": ["a", "b"] * 6, "many": [f"w{i}" for i in TWELVE], "number": TWELVE}))
    monkeypatch.setattr(readers.table, "KEPT", 11)
    before = {name: dataset.column(name).tolist() for name in ("few", "many", "number")}
    (out / "samples.csv").write_bytes(b"")
    assert {name: dataset.column(name).tolist() for name in ("few", "number")} == {name: before[name] for name in ("few", "number")}
    with pytest.raises(PrebakeError, match=r"samples\.csv cannot be read"):
        dataset.column("many")


def test_an_unknown_column_is_told_its_neighbours(out: Path) -> None:
    dataset = open_dataset(with_columns(out, {"patient_id": TWELVE, "pat\nient": TWELVE}))
    with pytest.raises(
        PrebakeError, match=r"samples\.csv has no column patientid; the nearest first, it has patient_id, index, shard, .*pat\\nient"
    ):
        dataset.column("patientid")


Lines = list[bytes]
DAMAGE: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "a row less": (lambda lines: lines[:-1], "it has 11 rows, its manifest says 12"),
    "a row more": (lambda lines: [*lines, lines[-1]], "it has 13 rows, its manifest says 12"),
    "no end": (lambda lines: [*lines[:-1], lines[-1][:-1]], "its row 11 is cut short"),
    "a cell less": (lambda lines: [*lines[:4], b"1,2\n", *lines[5:]], "its row 3 has not 12 cells"),
    "two halves": (lambda lines: [*lines[:4], lines[4].replace(b",", b"\n", 1), *lines[5:]], "its row 3 has not 12 cells"),
    "a cell more": (lambda lines: [*lines[:4], b"9," + lines[4], *lines[5:]], "its row 3 has not 12 cells"),
    "an open quote": (lambda lines: [*lines[:4], lines[4].replace(b"/", b'"/'), *lines[5:]], "its row 3 (is cut short|has not 12 cells)"),
    "no line": (lambda _: [b"index,row"], "no line in it"),
    "nothing": (lambda _: [], "cannot be read"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_table_is_refused(out: Path, case: str) -> None:
    damage, says = DAMAGE[case]
    replace(out / "samples.csv", b"".join(damage((out / "samples.csv").read_bytes().splitlines(keepends=True))))
    with pytest.raises(PrebakeError, match=rf"samples\.csv .*({says})"):
        open_dataset(out).column("key")


def test_another_size_than_the_manifest_says(out: Path) -> None:
    with (out / "samples.csv").open("ab") as file:
        file.write(b"\n")
    with pytest.raises(PrebakeError, match=r"samples\.csv has \d+ bytes, its manifest says \d+: copy the whole bake again"):
        _ = open_dataset(out).columns


def test_a_flat_folder_has_blank_labels(photos: Path, tmp_path: Path) -> None:
    bake(photos / next(iter(CLASSES)), tmp_path / "out", size=(8, 8))
    dataset = open_dataset(tmp_path / "out")
    assert set(dataset.column("label")) == set(dataset.column("class")) == {""}
