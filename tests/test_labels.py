"""Labels from a table, from the command line to the readers: right targets, and every column carried along."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from launch import SMALL, bake, labels, prebake, rows
from tables import classed, complaint, labelled, pictures, plan_of, table

from convert.manifest import read_manifest
from readers import open_dataset

PEOPLE = ["p1/a.jpg", "p1/b.jpg", "p2/a.jpg", "p3/deep/c.jpg", "top.jpg"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return pictures(tmp_path / "people", *PEOPLE)


@pytest.fixture
def any_length() -> Iterator[None]:
    """Python's csv reads cells of more than 128 KB when it is told to."""
    before = csv.field_size_limit(1 << 20)
    yield
    csv.field_size_limit(before)


@pytest.mark.usefixtures("any_length")
def test_classes_by_name_with_all_columns_carried(people: Path, tmp_path: Path) -> None:
    own = [
        {"note": 'said "hm",\nthen\rleft', "file": "p2/a.jpg", "label": "dog", "key": "k1", "": "0"},
        {"note": "ü\u2028;x" + "y" * 200_000, "file": "p1/a.jpg", "label": "cat", "key": "k2", "": "1"},
        {"note": "", "file": "top.jpg", "label": "Zebra", "key": "k3", "": "2"},
    ]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, own[0].keys(), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(own)
    file = table(tmp_path / "labels.csv", "\ufeff" + text.getvalue())
    printed = bake("lmdb", people, tmp_path / "out", "--labels", file, "--path", "file")
    assert "3 in 3 classes (1 in each)" in printed
    assert "labels    labels.csv, column label, by file" in printed
    assert "pictures without a row, such as p1/b.jpg: 2" in printed
    assert labels(tmp_path / "out") == {"p2/a.jpg": 2, "p1/a.jpg": 1, "top.jpg": 0}
    assert read_manifest(tmp_path / "out").classes == ("Zebra", "cat", "dog")
    found = {row["key"]: row for row in rows(tmp_path / "out" / "samples.csv")}
    assert list(found["top.jpg"])[12:] == ["note", "file", "own_label", "own_key", "column_5"]
    for row in own:
        mine = found[row["file"]]
        assert [mine[name] for name in ("note", "file", "own_label", "own_key", "column_5")] == list(row.values())
        assert mine["class"] == row["label"]


def test_values_with_unknown_ones_reach_the_readers(people: Path, format: str, tmp_path: Path) -> None:
    lines = [
        {"id": "p1/a", "age": 31, "size": 0.5, "tags": ["x", {"y": None}]},
        {"id": "p1/b", "age": None, "size": "1e-3", "sick": True},
        {"id": "c", "size": "nan", "age": -2},
    ]
    file = table(tmp_path / "labels.jsonl", "\n\n".join(map(json.dumps, lines)))
    printed = bake(format, people, tmp_path / "out", "--labels", file, "--target", "size,age", "--dtype", "uint8")
    assert "3 in all, with 2 values each" in printed
    assert "values of size, age (NaN: 1 in size, 1 in age), by id" in printed
    expected = {"p1/a.jpg": [0.5, 31], "p1/b.jpg": [1e-3, np.nan], "p3/deep/c.jpg": [np.nan, -2]}
    dataset = open_dataset(tmp_path / "out")
    targets = np.array(dataset.targets)
    assert targets.dtype == np.float32
    np.testing.assert_array_equal(targets, np.array([expected[key] for key in dataset.keys], np.float32))
    np.testing.assert_array_equal(np.asarray(dataset[1][1].numpy()), targets[1])
    assert tuple(dataset.classes) == ("size", "age")
    carried = {row["key"]: row for row in rows(tmp_path / "out" / "samples.csv")}
    assert carried["p1/a.jpg"] | {"tags": '["x",{"y":null}]', "age": "31", "sick": "", "label": "", "class": ""} == carried["p1/a.jpg"]
    assert carried["p1/b.jpg"] | {"tags": "", "age": "", "sick": "true", "size": "1e-3"} == carried["p1/b.jpg"]
    if format == "hdf5":
        with h5py.File(tmp_path / "out" / "shard-00000.h5") as shard:
            np.testing.assert_array_equal(shard["targets"][:], targets)


def test_carried_columns_never_take_a_name_that_another_has(people: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "l.csv", "file,label,key,own_key,own_own_label,own_label\ntop.jpg,cat,a,b,c,d\n")
    bake("memmap", people, tmp_path / "out", "--labels", file, "--path", "file", "--label", "label")
    with (tmp_path / "out" / "samples.csv").open(newline="") as samples:
        header, cells = csv.reader(samples)
    assert header[12:] == ["file", "own_own_own_label", "own_own_key", "own_key", "own_own_label", "own_label"]
    assert cells[12:] == ["top.jpg", "cat", "a", "b", "c", "d"]
    assert len(set(header)) == len(header)


def test_several_names_in_a_label(people: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "l.tsv", "path\tFinding Labels\np1/a.jpg\tB | A\np2/a.jpg\t\ntop.jpg\tB|C|B\n")
    assert labelled(people, file, label_sep="|") == {"p1/a.jpg": (1, 1, 0), "p2/a.jpg": (0, 0, 0), "top.jpg": (0, 1, 1)}
    plan, source = plan_of(people, file, label_sep="|")
    assert (plan.target.kind, plan.target.width, plan.classes) == ("values", 3, ("A", "B", "C"))
    assert source.labelled == "l.tsv, column Finding Labels, 3 names (1 to 2 pictures each); 1 row without any, by path"
    once = table(tmp_path / "once.tsv", "path\tlabels\np1/a.jpg\tA|B\np2/a.jpg\tC\n")
    assert "column labels, 3 names (1 picture each), by path" in plan_of(people, once, label_sep="|")[1].labelled
    names = table(tmp_path / "names.txt", "C\nB\n")
    assert "1 row has a label that --classes" in complaint(people, file, label_sep="|", classes=names)
    assert labelled(people, file, label_sep="|", classes=table(names, "C\nB\nX\nA\n"))["top.jpg"] == (1, 1, 0, 0)


def test_numbers_are_the_labels_themselves(people: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "l.csv", "path,label\np1/a.jpg,10\np2/a.jpg,2.0\ntop.jpg,0\n")
    plan, _ = plan_of(people, file)
    assert labelled(people, file) == {"p1/a.jpg": 10, "p2/a.jpg": 2, "top.jpg": 0}
    assert plan.classes == tuple(map(str, range(11)))
    names = table(tmp_path / "names.txt", "".join(f"name {i}\n" for i in range(11)))
    assert classed(people, file, classes=names) == {"p1/a.jpg": "name 10", "p2/a.jpg": "name 2", "top.jpg": "name 0"}
    line = complaint(people, file, classes=table(names, "a\nb\nc\n"))
    assert line.endswith("l.csv: 1 row has a label that --classes " + str(names) + " does not know: line 2 (10); its last is 2")
    sorted_as_folders = table(names, "0\n10\n2\n")  # names that are numbers stay names
    assert labelled(people, file, classes=sorted_as_folders) == {"p1/a.jpg": 1, "p2/a.jpg": 2, "top.jpg": 0}
    huge = table(tmp_path / "huge.csv", "path,label\np1/a.jpg,1000000\n")
    assert "1 row has a label of 1,000,000 or more, which is no class: line 2 (1000000); --target stores" in complaint(people, huge)
    measured = table(tmp_path / "measured.csv", "path,label\np1/a.jpg,3\np2/a.jpg,3.5\n")
    assert complaint(people, measured).endswith("measured.csv, line 3: 3.5 is a number, not a class; --target stores values")


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (
            "-1 2 10 0",
            "l.csv: 1 row has a negative label, which is no class: line 2 (-1); --target stores numbers as values, or leave the row out",
        ),
        (
            "-1.0 2.0 -100 0",
            "l.csv: 2 rows have a negative label, which is no class: line 2 (-1.0), line 4 (-100); --target stores numbers",
        ),
        ("0 1 2 +3", "l.csv, line 5: +3 is a number, not a class; --target stores values"),
        ("10 9 1e1 2", "l.csv, line 4: 1e1 is a number, not a class; --target stores values"),
        ("-0.5 -1 0 1", "l.csv: 1 row has a negative label, which is no class: line 3 (-1); --target stores numbers"),
    ],
)
def test_numbers_that_are_no_classes_are_not_sorted_as_names(people: Path, tmp_path: Path, cells: str, says: str) -> None:
    rows = [f"{key},{cell}\n" for key, cell in zip(PEOPLE, cells.split(), strict=False)]
    assert says in complaint(people, table(tmp_path / "l.csv", "path,label\n" + "".join(rows)))


def test_names_with_digits_are_names(people: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "l.csv", "path,label\np1/a.jpg,-1\np2/a.jpg,2\ntop.jpg,unknown\n")
    assert labelled(people, file) == {"p1/a.jpg": 0, "p2/a.jpg": 1, "top.jpg": 2}
    assert labelled(people, table(file, "path,label\np1/a.jpg,1_0\np2/a.jpg,0_1\n")) == {"p1/a.jpg": 1, "p2/a.jpg": 0}
    given = table(tmp_path / "names.txt", "1\n-1\n")
    assert labelled(people, table(file, "path,label\np1/a.jpg,-1\np2/a.jpg,1\n"), classes=given) == {"p1/a.jpg": 1, "p2/a.jpg": 0}


def test_rows_without_a_label_are_counted_and_named(people: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "l.csv", "path,label\n" + "".join(f"{key}, \n" for key in PEOPLE))
    line = complaint(people, file)
    assert line.endswith("l.csv: 5 rows have no label: line 2 (p1/a.jpg), line 3 (p1/b.jpg), line 4 (p2/a.jpg), ...")


@pytest.mark.parametrize("cell", ["high", "1_000", "inf", "1e39", "0,5", "NA"])
def test_a_value_that_is_no_number_is_named(people: Path, tmp_path: Path, cell: str) -> None:
    file = table(tmp_path / "l.csv", f'path,age\np1/a.jpg,1\np2/a.jpg,"{cell}"\n')
    assert f"l.csv, line 3, column age: '{cell}' is not a number that float32 holds" in complaint(people, file, target=("age",))


def test_like_another_bake(people: Path, tmp_path: Path) -> None:
    train = table(tmp_path / "train.csv", "path,label,age\np1/a.jpg,cat,1\np1/b.jpg,dog,2\n")
    val = table(tmp_path / "val.csv", "path,label,age,height\np2/a.jpg,dog,3,4\n")
    bake("memmap", people, tmp_path / "classes", "--labels", train)
    bake("memmap", people, tmp_path / "values", "--labels", train, "--target", "age")
    bake("memmap", people, tmp_path / "several", "--labels", train, "--label-sep", "|")
    second = prebake("memmap", people, tmp_path / "second", "--labels", val, "--like", tmp_path / "classes")
    assert (second.returncode, second.stderr) == (0, "")
    assert labels(tmp_path / "second") == {"p2/a.jpg": 1}
    assert labelled(people, val, like=tmp_path / "several", label_sep="|") == {"p2/a.jpg": (0, 1)}
    assert labelled(people, val, like=tmp_path / "values", target=("age",)) == {"p2/a.jpg": (3,)}
    other = table(tmp_path / "other.csv", "path,label\np2/a.jpg,cow\n")
    assert f"1 row has a label that --like {tmp_path}/classes does not know: line 2 (cow)" in complaint(
        people, other, like=tmp_path / "classes"
    )
    assert "does not know: line 2 (cow)" in complaint(people, other, like=tmp_path / "several", label_sep="|")
    line = complaint(people, val, like=tmp_path / "values", target=("height",))
    assert line.endswith("values has the columns age, and --target names height")
    assert "has values (age): give --labels" in complaint(people, val, like=tmp_path / "values")
    assert "has values (age): give --labels" in complaint(people, like=tmp_path / "values")
    assert "has classes, and --labels would give values" in complaint(people, val, like=tmp_path / "classes", target=("age",))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--path a", "--path says how to read a table: it goes with --labels FILE"),
        ("--label-sep ;", "--label-sep says how to read a table"),
        ("--labels L --target age --label label", "leave --label, --label-sep and --label-map out"),
        ("--labels L --target age --classes L", "leave --classes out"),
        ("--labels L --target age,age", "--target names age twice"),
        ("--labels L --target ,", "',' does not name columns"),
        ("--labels L --path {id --label label", "--path {id: expected '}' before end of string"),
        ("--labels L --path {id:03d}", "only names of columns may stand in braces"),
        ("--labels L.xlsx", "not a kind of table that is known; give .csv .tsv .jsonl .ndjson .txt"),
    ],
)
def test_options_that_make_no_sense(people: Path, tmp_path: Path, options: str, says: str) -> None:
    file = table(tmp_path / "l.csv", "id,label,age\np1/a.jpg,cat,1\n")
    done = prebake("plan", people, *(word.replace("L", str(file)) if word[0] == "L" else word for word in options.split()))
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr.splitlines()[-1]


def test_the_plan_depends_on_the_table(people: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "l.csv", "path,label,note\np1/a.jpg,cat,x\np2/a.jpg,dog,y\n")
    bake("memmap", people, tmp_path / "out", "--labels", file)
    again = prebake("memmap", people, tmp_path / "out", "--labels", file, *SMALL)
    assert "holds this very bake already" in again.stdout
    table(file, "path,label,note\np1/a.jpg,cat,x\np2/a.jpg,dog,z\n")
    assert prebake("memmap", people, tmp_path / "out", "--labels", file, *SMALL).returncode == 1
