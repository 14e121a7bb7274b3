"""`manifest.json` is believed only after it has been looked at."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from damage import Step, changed, nine_rows

from convert.errors import PrebakeError, printable
from convert.manifest import MANIFEST, SCHEMA, read_manifest
from readers import open_dataset

NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module", params=["memmap", "lmdb"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For tests that put the manifest back."""
    return nine_rows(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture
def original(folder: Path) -> Iterator[str]:
    """The manifest's text, which is put back after the test."""
    text = (folder / MANIFEST).read_text()
    yield text
    (folder / MANIFEST).write_text(text)


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
        (folder / MANIFEST).write_text(changed(json.loads(original), (name,)))
        with pytest.raises(PrebakeError, match=rf"damaged .*{name}"):
            read_manifest(folder)


@pytest.mark.parametrize("number", [2**63, 2**70, 10**400, -1, 9.0, True, "9", None, NAN, INF], ids=lambda number: repr(number)[:5])
@pytest.mark.parametrize("steps", [("count",), ("shape", 0), ("shards", 0, "count"), ("shards", 1, "bytes"), ("files", 0, "bytes")])
def test_absurd_counts_and_sizes_cost_no_memory(folder: Path, original: str, steps: tuple[Step, ...], number: Any) -> None:
    (folder / MANIFEST).write_text(changed(json.loads(original), steps, number))
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
    (folder / MANIFEST).write_text(changed(json.loads(original), steps, value))
    with pytest.raises(PrebakeError, match="damaged"):
        read_manifest(folder)


@pytest.mark.parametrize(
    ("steps", "value", "says"),
    [
        (("resize",), "crop", "'crop' is not center-crop or stretch or pad"),
        (("filter",), "nearest", "'nearest' is not bilinear or bicubic or lanczos"),
        (("order",), "", "'' is not shuffled or source"),
        (("decoding", "window"), [9, 9], "is no range"),
        (("decoding", "window"), [4095, 0], "is no range"),
        (("decoding", "window"), [0, INF], "is not 2 numbers"),
        (("decoding", "window"), [-1.7e308, 1.7e308], "is no range"),
        (("shards", 1, "name"), "SHARD", "two files of one name"),
        (("files", 1, "name"), "FILE", "two files of one name"),
        (("files", 1, "name"), "SHARD", "two files of one name"),
        (("files", 1, "name"), "manifest.json", "two files of one name"),
        (("shards", 1, "name"), "manifest.json", "two files of one name"),
        (("classes",), [], "class without names"),
        (("classes",), ["cat", "cat"], "a class twice"),
        (("dtype",), "uint16", "uint16 of RGB"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_no_bake_can_say(folder: Path, original: str, *, steps: tuple[Step, ...], value: Any, says: str) -> None:
    fields = json.loads(original)
    if value in ("SHARD", "FILE"):
        value = fields["shards" if value == "SHARD" else "files"][0]["name"]
    (folder / MANIFEST).write_text(changed(fields, steps, value))
    with pytest.raises(PrebakeError, match=rf"damaged .*{says}"):
        read_manifest(folder)


def test_rows_that_overlap(folder: Path, original: str) -> None:
    fields = json.loads(original)
    row, shard = 8 * 8 * 3 * 2, fields["shards"][0]
    for stride, good in ((row, True), (row - 1, False), (0, False)):
        shard |= {"first": 0, "stride": stride}
        (folder / MANIFEST).write_text(json.dumps(fields))
        if good:
            assert read_manifest(folder).shards[0].stride == row
        else:
            with pytest.raises(PrebakeError, match=rf"rows of {row} bytes lie {stride} apart"):
                read_manifest(folder)
    fields["count"] -= shard["count"] - 1
    shard |= {"count": 1, "stride": 0}
    (folder / MANIFEST).write_text(json.dumps(fields))
    assert read_manifest(folder).count == 6


@pytest.mark.parametrize("name", ["../shard-00000.npy", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "a\0b", "a\nb", "\ud800", 5, None])
@pytest.mark.parametrize("kind", ["shards", "files"])
def test_a_name_that_is_no_plain_file_name(folder: Path, original: str, kind: str, name: Any) -> None:
    (folder / MANIFEST).write_text(changed(json.loads(original), (kind, 0, "name"), name))
    with pytest.raises(PrebakeError, match="damaged"):
        read_manifest(folder)


def test_a_shard_larger_than_the_address_space(folder: Path, original: str) -> None:
    for nbytes in (2**50, 2**62):
        (folder / MANIFEST).write_text(changed(json.loads(original), ("shards", 0, "bytes"), nbytes))
        with pytest.raises(PrebakeError, match=printable(folder)):
            open_dataset(folder)
