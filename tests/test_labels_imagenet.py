"""ImageNet's validation part: its ground truth is a list of ids that are not the places of the sorted synsets."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch import bake, labels
from tables import classed, complaint, labelled, pictures, plan_of, table

from convert.manifest import read_manifest

NAMES = [f"ILSVRC2012_val_{number:08d}.JPEG" for number in (1, 2, 3, 10)]
MAP = {"n02119789": (1, "kit_fox"), "n03100240": (2, "convertible"), "n02110185": (3, "Siberian_husky"), "n01440764": (490, "tench")}
DEVKIT = "".join(f"{synset} {number} {name}\n" for synset, (number, name) in MAP.items())


@pytest.fixture
def val(tmp_path: Path) -> Path:
    return pictures(tmp_path / "val", *NAMES)


def test_a_ground_truth_needs_a_map(val: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "truth.txt", "490\n1\n3\n490\n")
    line = complaint(val, file)
    assert "labels from 1 to 490, none 0, look like the ids of ImageNet's devkit, which are not the places of the sorted synsets" in line
    assert "--label-map map_clsloc.txt" in line
    assert "--label-map" in complaint(val, file, classes=table(tmp_path / "names.txt", "".join(f"{i}\n" for i in range(1001))))
    bake("memmap", val, tmp_path / "out", "--labels", file, "--label-map", table(tmp_path / "map_clsloc.txt", DEVKIT))
    assert labels(tmp_path / "out") == dict(zip(NAMES, [0, 2, 1, 0], strict=True))
    assert read_manifest(tmp_path / "out").classes == tuple(sorted(MAP))
    assert labelled(val, file, label_map=tmp_path / "map_clsloc.txt", like=tmp_path / "out")[NAMES[1]] == 2


def test_whole_ranges_of_ids_are_refused_in_any_table(tmp_path: Path) -> None:
    root = pictures(tmp_path / "p", *(f"{i}.jpg" for i in range(1, 1001)))
    rows = "".join(f"{i}.jpg,{i}\n" for i in range(1, 1001))
    assert "labels from 1 to 1000, none 0" in complaint(root, table(tmp_path / "l.csv", f"path,label\n{rows}"))
    assert labelled(root, table(tmp_path / "l.csv", f"path,label\n{rows}".replace(",1000\n", ",0\n")))["7.jpg"] == 7
    some = "path,label\n3.jpg,17\n4.jpg,1000\n"  # places of 1000 classes end at 999
    assert "labels from 17 to 1000, none 0" in complaint(root, table(tmp_path / "l.csv", some))
    assert labelled(root, table(tmp_path / "l.csv", some.replace("1000", "999"))) == {"3.jpg": 17, "4.jpg": 999}
    assert labelled(root, table(tmp_path / "l.csv", some.replace("17", "0"))) == {"3.jpg": 0, "4.jpg": 1000}


def test_numbers_from_0_in_order_of_the_names(val: Path, tmp_path: Path) -> None:
    assert list(labelled(val, table(tmp_path / "truth.txt", "3\n0\n3\n1\n")).values()) == [3, 0, 3, 1]
    assert "has 3 labels without names, and " in complaint(val, table(tmp_path / "truth.txt", "3\n0\n3\n"))
    pictures(val / "more", "x.jpg")
    line = complaint(val, table(tmp_path / "truth.txt", "3\n0\n3\n1\n2\n"))
    assert "those fit one flat folder, and there is more/x.jpg" in line


@pytest.mark.parametrize(
    "text",
    [
        DEVKIT,
        "".join(f"{number} {synset} {name}\n" for synset, (number, name) in MAP.items()),
        "".join(f"{number},{synset}\r\n" for synset, (number, _) in MAP.items()),
        "id\tname\n" + "".join(f"{number}\t{synset}\n" for synset, (number, _) in MAP.items()),
    ],
)
def test_maps_in_any_order(val: Path, tmp_path: Path, text: str) -> None:
    file = table(tmp_path / "truth.txt", "490\n1\n3\n490\n")
    by = classed(val, file, label_map=table(tmp_path / "map.txt", text))
    assert list(by.values()) == ["n01440764", "n02119789", "n02110185", "n01440764"]


def test_kaggles_table(val: Path, tmp_path: Path) -> None:
    rows = ["n03100240 111 108 441 193 ", "n01440764 1 2 3 4 n01440764 5 6 7 8 ", "n02119789 1 2 3 4 ", "n01440764 1 2 3 4 "]
    content = "ImageId,PredictionString\n" + "".join(f"{name[:-5]},{row}\n" for name, row in zip(NAMES, rows, strict=True))
    file = table(tmp_path / "LOC_val_solution.csv", content)
    assert classed(val, file) == dict(zip(NAMES, [row.split()[0] for row in rows], strict=True))
    names = table(tmp_path / "LOC_synset_mapping.txt", "n01440764 tench, Tinca tinca\nn02119789 kit fox\nn03100240 convertible\n")
    assert classed(val, file, label_map=names)[NAMES[1]] == "tench, Tinca tinca"
    plan, _ = plan_of(val, file)
    assert plan.columns["PredictionString"] == rows


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must have an id and a class on each line"),
        ("490\n1\n", "must have an id and a class on each line"),
        ("a x\nb y\n", "no column holds the labels of the table"),
        ("490 x\n1 y\n", "1 row has a label that --label-map MAP does not know: line 3 (3)"),
        ("490 x\n1 y\n3 x\n", "490 and 3 are both called x: classes must differ"),
        ("490 x\n1 y\n3 z\n1 w\n", "1 stands there twice, for y and w"),
        ("490 1\n1 3\n3 490\n", "both columns hold the labels of the table"),
    ],
)
def test_maps_that_do_not_fit(val: Path, tmp_path: Path, text: str, says: str) -> None:
    file, names = table(tmp_path / "truth.txt", "490\n1\n3\n490\n"), table(tmp_path / "map.txt", text)
    assert says.replace("MAP", str(names)) in complaint(val, file, label_map=names)
