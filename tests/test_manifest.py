"""`manifest.json` is believed only after it has been looked at, and holds nothing of where, when or by how many it was made."""

from __future__ import annotations

import json
import os
import shutil
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import bake
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import image_folder

from convert.errors import PrebakeError, printable
from convert.manifest import MANIFEST, SCHEMA, read_manifest
from readers import open_dataset

Step = str | int
NAN, INF = float("nan"), float("inf")
ODD = st.sampled_from([-1, 2, 2**31, 2**50, 2**62, 2**70, 10**400, 0.5, "..", "a/b", "a\nb", "\ud800", "\udcff", "uint8", "none", "class"])
JSON = st.recursive(
    ODD | st.none() | st.booleans() | st.integers(0, 999) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module", params=["memmap", "lmdb"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bake of nine rows that stand at equal distances, and one where they do not; for tests that put the manifest back."""
    root = tmp_path_factory.mktemp(request.param)
    bake(image_folder(root / "source", {"cat": 5, "dog": 4}), root / "out", request.param, size=(8, 8), shards=2)
    return root / "out"


@pytest.fixture
def original(folder: Path) -> Iterator[str]:
    """The manifest's text, which is put back after the test."""
    text = (folder / MANIFEST).read_text()
    yield text
    (folder / MANIFEST).write_text(text)


def _steps(value: Any, above: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The way to each value inside of a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in pairs:
        yield (*above, step)
        yield from _steps(inner, (*above, step))


def _change(fields: Any, steps: tuple[Step, ...], *new: Any) -> str:
    """The manifest's text with a value replaced, or deleted where no new one is given."""
    place = fields
    for step in steps[:-1]:
        place = place[step]
    if new:
        place[steps[-1]] = new[0]
    else:
        del place[steps[-1]]
    return json.dumps(fields)


def test_a_manifest_is_read_as_it_was_written(folder: Path) -> None:
    manifest = read_manifest(folder)
    assert manifest.to_json() == (folder / MANIFEST).read_text()
    assert (manifest.count, [shard.count for shard in manifest.shards]) == (9, [4, 5])


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "5", '"text"', "{}", '{"schema": 1}', "[" * 99999, "\0", "9" * 5000], ids=len)
def test_something_else_called_manifest(text: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(PrebakeError, match=r"not a manifest of a bake, or is damaged .*--overwrite"):
        read_manifest(tmp_path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_bytes(b"\xff\xfe{}")
    with pytest.raises(PrebakeError, match=r"manifest\.json cannot be read"):
        read_manifest(tmp_path)


def test_a_newer_schema_asks_for_a_newer_prebake(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({"schema": SCHEMA + 1, "fields": "of that version"}))
    with pytest.raises(PrebakeError, match=rf"has schema {SCHEMA + 1}.*pip install -U prebake"):
        read_manifest(tmp_path)


def test_no_field_may_be_missing(folder: Path, original: str) -> None:
    names = list(json.loads(original))
    assert len(names) > 20
    for name in names:
        (folder / MANIFEST).write_text(_change(json.loads(original), (name,)))
        with pytest.raises(PrebakeError, match=rf"damaged .*{name}"):
            read_manifest(folder)


@pytest.mark.parametrize("number", [2**63, 2**70, 10**400, -1, 9.0, True, "9", None, NAN, INF], ids=lambda number: repr(number)[:5])
@pytest.mark.parametrize("steps", [("count",), ("shape", 0), ("shards", 0, "count"), ("shards", 1, "bytes"), ("files", 0, "bytes")])
def test_absurd_counts_and_sizes_cost_no_memory(folder: Path, original: str, steps: tuple[Step, ...], number: Any) -> None:
    (folder / MANIFEST).write_text(_change(json.loads(original), steps, number))
    tracemalloc.start()
    try:
        with pytest.raises(PrebakeError, match="damaged"):
            read_manifest(folder)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        (("shape",), [1 << 16, 1 << 16, 3]),
        (("shape",), [8, 8]),
        (("count",), 10),
        (("shards", 0, "count"), 3),
        (("std", 1), 0),
        (("std", 1), NAN),
        (("std", 1), 58.4),
        (("mean", 1), 10**400),
        (("mean", 1), 1e38),
        (("mean",), [0.5]),
        (("dtype",), "float64"),
        (("encoding",), "jpeg"),
        (("layout",), "CHW"),
        (("schema",), "1"),
        (("seed",), 2**70),
        (("classes",), "cat"),
        (("classes",), {"cat": 0, "dog": 1}),
        (("target", "kind"), "values"),
        (("target", "width"), "1"),
        (("files", 0, "checksum"), 5),
        (("shards", 0, "checksum"), None),
        (("pillow",), "new"),
        (("options",), []),
    ],
    ids=lambda value: str(value)[:30],
)
def test_values_that_make_no_sense(folder: Path, original: str, steps: tuple[Step, ...], value: Any) -> None:
    if steps == ("shape",) and "lmdb" in str(folder):
        value = value[:2]  # with offsets.npy the manifest alone cannot tell that rows are too large
    (folder / MANIFEST).write_text(_change(json.loads(original), steps, value))
    with pytest.raises(PrebakeError, match="damaged"):
        read_manifest(folder)


@pytest.mark.parametrize("name", ["../shard-00000.npy", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "a\0b", "a\nb", "\ud800", 5, None])
@pytest.mark.parametrize("kind", ["shards", "files"])
def test_a_name_that_is_no_plain_file_name(folder: Path, original: str, kind: str, name: Any) -> None:
    (folder / MANIFEST).write_text(_change(json.loads(original), (kind, 0, "name"), name))
    with pytest.raises(PrebakeError, match="damaged"):
        read_manifest(folder)


def test_a_shard_larger_than_the_address_space(folder: Path, original: str) -> None:
    for nbytes in (2**50, 2**62):
        (folder / MANIFEST).write_text(_change(json.loads(original), ("shards", 0, "bytes"), nbytes))
        with pytest.raises(PrebakeError, match=printable(folder)):
            open_dataset(folder)


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_any_change_is_refused_in_one_line_or_read_as_it_stands(folder: Path, data: st.DataObject) -> None:
    text = (folder / MANIFEST).read_text()
    fields = json.loads(text)
    steps = data.draw(st.sampled_from(list(_steps(fields))))
    new = data.draw(st.just(()) | st.tuples(JSON))
    try:
        (folder / MANIFEST).write_text(_change(fields, steps, *new))
        manifest = read_manifest(folder)
        assert json.loads(manifest.to_json()) == fields
        dataset = open_dataset(folder)
        assert len([dataset.image(index) for index in range(len(dataset))]) == manifest.count == len(dataset.keys)
        message = ""
    except PrebakeError as error:
        message = str(error)
    finally:
        (folder / MANIFEST).write_text(text)
    assert message == printable(message)


def test_nothing_of_the_place_the_time_or_the_workers(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "one" / "source", {"cat": 40, "dog": 40})
    shutil.copytree(source, tmp_path / "two" / "deeper" / "pictures")
    os.utime(tmp_path / "two" / "deeper" / "pictures" / "cat" / "0000.jpg", (1, 1))
    bake(source, tmp_path / "one" / "out", size=(16, 16), preview=True)
    bake(tmp_path / "two" / "deeper" / "pictures", tmp_path / "elsewhere", size=(16, 16), preview=True, workers=2, executor="local")
    text = (tmp_path / "one" / "out" / MANIFEST).read_text()
    assert (tmp_path / "elsewhere" / MANIFEST).read_text() == text
    assert str(tmp_path) not in text
    assert os.uname().nodename not in text
