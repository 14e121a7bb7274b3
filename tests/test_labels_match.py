"""A row finds its picture however the table spells the path, and never a wrong one."""

from __future__ import annotations

import os
import unicodedata
from array import array
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import classed, complaint, pictures, plan_of, table

from convert.errors import PrebakeError
from convert.labels.match import match
from convert.labels.nearest import nearest
from convert.labels.table import Table

KEYS = ["0001.jpg", "cat/0001.jpg", "cat/0002.jpg", "cat/photo.v1.png", "dog/0002.jpg", "dog/0003.JPG", "dog/caf\u00e9.jpg", "train/x.jpg"]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return pictures(tmp_path / "train", *KEYS)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("cat/0002.jpg", "cat/0002.jpg"),
        ("./cat//0002.jpg", "cat/0002.jpg"),
        ("cat\\0002.jpg", "cat/0002.jpg"),
        (" cat/0002.jpg ", "cat/0002.jpg"),
        ("cat/0002", "cat/0002.jpg"),
        ("0003.JPG", "dog/0003.JPG"),
        ("0003", "dog/0003.JPG"),
        ("photo.v1", "cat/photo.v1.png"),
        ("0001.jpg", "0001.jpg"),
        ("train/cat/0001.jpg", "cat/0001.jpg"),
        ("/some/where/train/dog/0003.JPG", "dog/0003.JPG"),
        ("C:\\data\\train\\dog\\0003", "dog/0003.JPG"),
        ("../train/0001.jpg", "0001.jpg"),
        ("dog/cafe\u0301.jpg", "dog/caf\u00e9.jpg"),
        ("cafe\u0301", "dog/caf\u00e9.jpg"),
        ("train/x.jpg", "train/x.jpg"),
        ("train/train/x", "train/x.jpg"),
    ],
)
def test_spellings_of_a_path(photos: Path, tmp_path: Path, name: str, key: str) -> None:
    assert classed(photos, table(tmp_path / "l.csv", f"path,label\n{name},yes\n")) == {key: "yes"}


def test_the_absolute_path_of_the_pictures_themselves(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(photos)
    file = table(tmp_path / "l.csv", f"path,label\n{photos}/cat/0001.jpg,a\n{tmp_path}/link/cat/0002.jpg,b\n")
    assert classed(tmp_path / "link", file) == {"cat/0001.jpg": "a", "cat/0002.jpg": "b"}


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("0002,a", "l.csv, line 2: 0002 could be cat/0002.jpg, dog/0002.jpg: write the path"),
        ("0001,a", "l.csv, line 2: 0001 could be 0001.jpg, cat/0001.jpg: write the path"),
        ("0001.jpg,b\n0002.jpg,a", "l.csv, line 3: 0002.jpg could be cat/0002.jpg, dog/0002.jpg: write the path"),
        ("cat/0001.jpg,b\nct/0001.jpg,a", "l.csv: 1 row has no picture: line 3 (ct/0001.jpg); nearest to ct/0001.jpg: cat/0001.jpg, "),
        ("dog/0001.jpg,b", "1 row has no picture: line 2 (dog/0001.jpg); nearest to dog/0001.jpg: "),
        ("train/0003.JPG,b", "1 row has no picture"),
        ("0003.jpg,b", "1 row has no picture: line 2 (0003.jpg); nearest to 0003.jpg: "),
        ("a,1\nb,1\nc,1\nd,1", "4 rows have no picture: line 2 (a), line 3 (b), line 4 (c), ...; nearest to a: "),
        ("cat/0001.jpg,b\n./cat/0001,b", "l.csv: 1 picture has more than one row: cat/0001.jpg (lines 2 and 3)"),
        ("0001.jpg,b\n ,c\n,d", "l.csv: 2 rows have no path: line 3, line 4"),
    ],
)
def test_rows_that_fit_no_picture_or_several(photos: Path, tmp_path: Path, rows: str, says: str) -> None:
    line = complaint(photos, table(tmp_path / "l.csv", f"path,label\n{rows}\n"))
    assert line.startswith(str(tmp_path))
    assert says in line


def test_a_miss_shows_the_three_nearest_names(tmp_path: Path) -> None:
    root = pictures(tmp_path / "p", *(f"s{i % 7}/IMG_{i:04d}.jpg" for i in range(300)))
    line = complaint(root, table(tmp_path / "l.csv", "path,label\ns3/IMG_00101.jpg,x\n"))
    first, second, third = line.partition("; nearest to s3/IMG_00101.jpg: ")[2].split(", ")
    assert {first, second} == {"s3/IMG_0010.jpg", "s3/IMG_0101.jpg"}
    assert (root / third).is_file()


def test_the_nearest_is_found_among_many_that_share_more_letters() -> None:
    swapped = ["_ghijkl_abcdef", "ghijkl_abcdef_", "ef_ghijklabcd", "f_ghijklabcde"]  # nearly all pairs of letters, in another order
    name, meant = "abcdef_ghijkl", "abXdef_gXijkl"
    ratios = {key: SequenceMatcher(None, name, key).ratio() for key in [*swapped, meant]}
    assert max(ratios, key=ratios.__getitem__) == meant
    assert nearest([*swapped, meant], name)[0] == meant


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    raw = os.fsdecode(b"caf\xe9.jpg")
    file = table(tmp_path / "l.csv", b"path,label\ncaf\xe9.jpg,\xe9t\xe9\n")
    assert classed(pictures(tmp_path / "raw", raw), file) == {raw: os.fsdecode(b"\xe9t\xe9")}
    line = complaint(pictures(tmp_path / "utf8", "café.jpg"), file)
    assert r"line 2 (caf\udce9.jpg); nearest to caf\udce9.jpg: café.jpg; the table is not UTF-8: save it as UTF-8" in line


def test_two_names_that_differ_in_composition_only(tmp_path: Path) -> None:
    root = pictures(tmp_path / "p", "\u00e9.jpg", "e\u0301.jpg")
    assert classed(root, table(tmp_path / "l.csv", "path,label\n\u00e9.jpg,one\ne\u0301.jpg,two\n")) == {
        "\u00e9.jpg": "one",
        "e\u0301.jpg": "two",
    }
    assert "line 2: é could be e" in complaint(root, table(tmp_path / "l.csv", "path,label\n\u00e9,one\n"))


def test_a_template_and_what_is_wrong_with_others(tmp_path: Path) -> None:
    root = pictures(tmp_path / "p", "7/a{1}.png", "7/b.png", "8/a.png")
    file = table(tmp_path / "l.csv", "patient_id,image_id,label\n7,a{1},x\n8,a,y\n")
    assert classed(root, file, path="{patient_id}/{image_id}.png") == {"7/a{1}.png": "x", "8/a.png": "y"}
    assert "--path who: " in complaint(root, file, path="{who}/{image_id}.png")
    assert "has no such column; it has patient_id, image_id, label" in complaint(root, file, path="who")
    blank = table(tmp_path / "l.csv", "patient_id,image_id,label\n7,,x\n8,a,y\n")
    assert "1 row has no patient_id or image_id: line 2" in complaint(root, blank, path="{patient_id}/{image_id}.png")


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("a,b", "has the columns a, b: none has a usual name of a picture's path; say which with --path"),
        ("id,file,label", "has the columns id, file, label: id and file could all name the picture; say which with --path"),
        ("path,class,label", "has the columns path, class, label: class and label could all be the label; say which with --label"),
        ("path,a,b", "has the columns path, a, b: a and b could all be the label; say which with --label, or --target"),
        ("path", "has the columns path: none is left for the label"),
    ],
)
def test_columns_that_could_be_the_ones(photos: Path, tmp_path: Path, header: str, says: str) -> None:
    file = table(tmp_path / "l.csv", f"{header}\n{','.join('0001' for _ in header.split(','))}\n")
    assert says in complaint(photos, file)


@pytest.mark.parametrize(
    "name", ["path", "File", "file_name", "FileName", "image", "image_path", "img", "ImageId", "image_id", "id", "key"]
)
def test_usual_names_of_the_path(photos: Path, tmp_path: Path, name: str) -> None:
    assert classed(photos, table(tmp_path / "l.csv", f"anything,{name}\nyes,0001.jpg\n")) == {"0001.jpg": "yes"}


NAMES = st.text(st.sampled_from("ab.é"), min_size=1, max_size=3).filter(lambda name: name.strip("."))
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join).map(lambda path: f"{path}.jpg")


def _meant(keys: list[str], name: str) -> set[str]:
    """What a row may mean, in the words of the rule: a path; else one without extension, a file name, or one without extension."""
    if name in keys:
        return {name}
    bare = {key: key.rpartition("/")[2] for key in keys}
    return {key for key in keys if name in (key.rpartition(".")[0], bare[key], bare[key].rpartition(".")[0])}


@settings(deadline=None, max_examples=300)
@given(
    st.lists(PATHS, min_size=1, max_size=8, unique_by=lambda path: unicodedata.normalize("NFC", path)),
    st.data(),
    st.sampled_from(["{}", "./{}", "/x/root/{}", "root/{}", "root\\{}"]),
    st.sampled_from(["path", "short", "name", "stem", "other"]),
)
def test_what_is_found_is_what_was_meant(keys: list[str], data: st.DataObject, prefix: str, form: str) -> None:
    key = data.draw(st.sampled_from(keys))
    bare = key.rpartition("/")[2]
    name = {"path": key, "short": key[:-4], "name": bare, "stem": bare[:-4], "other": data.draw(PATHS)}[form]
    if form in ("name", "stem", "other"):
        prefix = "{}"
    meant = _meant(keys, name)
    if prefix not in ("{}", "./{}"):  # such a name is no bare one
        meant = {other for other in meant if "/" in name or other.count("/") == 0}
    cell = prefix.format(unicodedata.normalize("NFD", name))
    rows = Table(Path("l.csv"), {"path": [cell]}, array("q", [2]))
    if len(meant) == 1:
        assert [keys[item] for item in match(keys, Path("/y/root"), rows, [cell])] == list(meant)
    else:
        with pytest.raises(PrebakeError, match="could be" if meant else "no picture"):
            match(keys, Path("/y/root"), rows, [cell])


@settings(deadline=None)
@given(st.lists(PATHS, min_size=1, max_size=12, unique=True), PATHS)
def test_the_nearest_are_keys_and_a_key_is_nearest_to_itself(keys: list[str], name: str) -> None:
    found = nearest(keys, name)
    assert set(found) <= set(keys)
    assert len(found) == min(3, len(keys))
    assert nearest(keys, keys[-1])[0].rpartition("/")[2] == keys[-1].rpartition("/")[2]


def test_pictures_at_any_depth_in_the_order_of_a_walk(photos: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "l.csv", "path,label\n" + "".join(f"{key},x\n" for key in reversed(KEYS)))
    expected = [
        (Path(folder) / name).relative_to(photos).as_posix()
        for folder, _, names in sorted(os.walk(photos, followlinks=True))
        for name in sorted(names)
    ]
    assert list(plan_of(photos, file)[0].keys) == expected
