"""Tables as people's programs write them are read right, or refused with the line that is wrong."""

from __future__ import annotations

import csv
import json
import tracemalloc
from pathlib import Path

import pytest
from launch import prebake, refused
from tables import classed, complaint, pictures, plan_of, table

EXPECTED = {"a.jpg": "cat", "b c.jpg": "dog", "d.jpg": "née"}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return pictures(tmp_path / "photos", "a.jpg", "b c.jpg", "d.jpg", "e.jpg")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.csv", "path,label\na.jpg,cat\nb c.jpg,dog\nd.jpg,née\n"),
        ("l.CSV", "path,label\r\na.jpg,cat\r\nb c.jpg,dog\r\nd.jpg,née"),
        ("l.csv", "path,label\ra.jpg,cat\rb c.jpg,dog\rd.jpg,née\r"),
        ("l.csv", "\ufeffpath;label\na.jpg;cat\nb c.jpg;dog\nd.jpg;née\n"),
        ("l.csv", '"path"\t"label"\n"a.jpg"\t"cat"\n"b c.jpg"\tdog\n\nd.jpg\tnée\n'),
        ("l.csv", "path,label\na.jpg,cat\nb c.jpg,dog\nd.jpg,née\n".encode("utf-16")),
        ("l.csv", " path , label\na.jpg, cat\nb c.jpg,dog \nd.jpg,née\n"),
        ("l.csv", ',path,label\n0,a.jpg,cat\n1,b c.jpg,dog\n2,d.jpg,"née"\n'),
        ("l.csv", "path,label\na.jpg,cat\nb c.jpg,dog\nd.jpg,née\n".replace(",", ";")),
        ("l.tsv", "path\tlabel\na.jpg\tcat\nb c.jpg\tdog\nd.jpg\tnée\n"),
        ("l.jsonl", '{"path":"a.jpg","label":"cat"}\n{"label":"dog","path":"b c.jpg"}\r\n\n{"path":"d.jpg","label":"n\\u00e9e"}'),
        ("l.ndjson", '\ufeff{"path":"a.jpg","label":"cat"}\n{"label":"dog","path":"b c.jpg"}\n{"path":"d.jpg","label":"née"}\n'),
        ("l.txt", "a.jpg cat\nb c.jpg dog\n\nd.jpg\tnée\r\n"),
    ],
)
def test_one_table_in_many_clothes(photos: Path, tmp_path: Path, name: str, content: str | bytes) -> None:
    assert classed(photos, table(tmp_path / name, content)) == EXPECTED


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("l.csv", "", "its first line must name the columns"),
        ("l.csv", "path,label\n", "no rows in it"),
        ("l.csv", "a.jpg,cat\nd.jpg,dog\n", "its first line must name the columns, such as path,label, and has a.jpg"),
        ("l.csv", "path,label,label\na.jpg,cat,dog\n", "has two columns called label: rename one"),
        ("l.csv", 'path,label\n"a.jpg\n",cat\nd.jpg,dog,1\n', "line 4 has 3 cells, and the first line names 2"),
        ("l.csv", "path,label\na.jpg\n", "line 2 has 1 cells, and the first line names 2"),
        ("l.csv", 'path,label\na.jpg,"cat\nd.jpg,dog\n', "line 2 is not CSV: unexpected end of data"),
        ("l.csv", 'path,label\na.jpg,"cat"s\n', "line 2 is not CSV: ',' expected after '\"'"),
        ("l.csv", b"PK\x03\x04\x00\x00", "is not text: save the table as CSV, in UTF-8"),
        ("l.csv", b"\xff\xfep\0a\0t\0h\0,\0l\0a\0b\0e\0l\0\n\0\x00\xd8x\0", "begins as UTF-16 and does not go on so"),
        ("l.jsonl", '{"path":"a.jpg","label":"cat"}\n{"path":', "line 2 is not JSON: Expecting value"),
        ("l.jsonl", '["a.jpg","cat"]\n', "line 1 is not a JSON object such as"),
        ("l.jsonl", '{"path":"a.jpg","label":"\\ud83d"}\n', r"line 1 holds half a character (a lone surrogate): \ud83d"),
        ("l.jsonl", '{"path":"a.jpg"}\n{"path":"d.jpg","label":"x"}', "1 row has no label: line 1 (a.jpg)"),
        ("l.txt", "a.jpg cat\nd.jpg\n", "line 2 is 'd.jpg': each line must be a path and a label, or each a whole number"),
        ("l.txt", "a.jpg\nd.jpg\n", "line 1 is 'a.jpg': each line must be a path and a label"),
        ("l.txt", "0\n1\nx\n", "line 3 is 'x'"),
        ("l.txt", "0\n1\n", "has 2 labels without names, and "),
    ],
)
def test_what_is_wrong_is_said_with_its_line(photos: Path, tmp_path: Path, *, name: str, content: str | bytes, says: str) -> None:
    line = complaint(photos, table(tmp_path / name, content))
    assert str(tmp_path / name) in line
    assert says in line


def test_a_table_that_is_not_there(photos: Path, tmp_path: Path) -> None:
    assert complaint(photos, tmp_path / "no.csv").endswith("no.csv: no such file")
    (tmp_path / "folder.csv").mkdir()
    assert complaint(photos, tmp_path / "folder.csv").endswith("folder.csv: not a file")
    done = prebake("memmap", photos, tmp_path / "out", "--labels", tmp_path / "no.csv")
    assert refused(done).endswith("no.csv: no such file")
    assert not (tmp_path / "out").exists()


def test_the_limit_of_pythons_csv_is_as_before(photos: Path, tmp_path: Path) -> None:
    outside = csv.field_size_limit(131_073)  # set here: an earlier test's table must not hide that it is not put back
    long = "x" * 300_000
    plan, _ = plan_of(photos, table(tmp_path / "l.csv", f'path,label,note\na.jpg,cat,"{long}"\n'))
    assert plan.columns["note"] == [long]
    complaint(photos, table(tmp_path / "l.csv", f'path,label,note\na.jpg,cat,"{long}\n'))
    assert csv.field_size_limit(outside) == 131_073


def test_folders_are_no_classes_and_parts_no_matter(tmp_path: Path) -> None:
    root = pictures(tmp_path / "data", "train/a.jpg", "val/b.jpg", "c.jpg")
    assert classed(root, table(tmp_path / "l.csv", "path,label\ntrain/a.jpg,x\nc.jpg,y\nb,x\n")) == {
        "c.jpg": "y",
        "train/a.jpg": "x",
        "val/b.jpg": "x",
    }
    done = prebake("plan", root)
    assert (done.returncode, "train, val" in done.stderr) == (2, True)


def test_pictures_as_names_are_refused_before_they_fill_the_memory(photos: Path, tmp_path: Path) -> None:
    each = table(tmp_path / "each.jsonl", "".join(f'{{"img_{i}.jpg": 3}}\n' for i in range(12_000)))
    tracemalloc.start()
    try:
        line = complaint(photos, each)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "it looks like pictures as names; write {" in line
    assert len(line) < 400
    assert peak < 50e6
    all_at_once = table(tmp_path / "all.jsonl", json.dumps({f"img_{i}.jpg": 3 for i in range(12_000)}))
    assert "12,000 different names up to line 1 are too many" in complaint(photos, all_at_once)


def test_wide_tables_are_no_pictures_as_names(photos: Path, tmp_path: Path) -> None:
    wide = {"path": "a.jpg", "label": "cat"} | {f"c{i}": i for i in range(9_000)}
    lines = [json.dumps(wide), json.dumps({"path": "d.jpg", "label": "dog"}), json.dumps({"path": "e.jpg", "label": "dog", "z": 1})]
    plan, _ = plan_of(photos, table(tmp_path / "wide.jsonl", "\n".join(lines)))
    assert len(plan.columns) == 9_003
    assert (plan.columns["c7"], plan.columns["z"]) == (["7", "", ""], ["", "", "1"])


@pytest.mark.parametrize("name", ["l.csv", "l.jsonl"])
def test_an_error_names_twenty_columns(photos: Path, tmp_path: Path, name: str) -> None:
    names = [f"c{i}" for i in range(5000)]
    content = f"{','.join(names)}\n{','.join('1' for _ in names)}\n" if name == "l.csv" else json.dumps(dict.fromkeys(names, 1))
    shown = ", ".join(names[:20])
    assert f"has the columns {shown} and 4,980 more: none has a usual name" in complaint(photos, table(tmp_path / name, content))
