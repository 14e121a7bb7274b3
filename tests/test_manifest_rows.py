"""A manifest of JPEG rows, or of rows of any size, is believed only if its fields go together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import bake
from damage import Step, changed
from pictures import image_folder

from convert.errors import PrebakeError
from convert.manifest import MANIFEST, Jpeg, read_manifest

KINDS: dict[str, dict[str, Any]] = {
    "jpeg": {"encoding": "jpeg"},
    "long": {"resize": "long", "dtype": "float32"},
    "both": {"encoding": "jpeg", "resize": "short", "upscale": True, "passthrough": True, "colour": "gray"},
}


@pytest.fixture(scope="module")
def bakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("kinds")
    source = image_folder(root / "source", {"cat": 2, "dog": 2})
    return {kind: bake(source, root / kind, size=(20, 20), shards=2, **asked).to_json() for kind, asked in KINDS.items()}


def test_what_was_asked_for_is_there(bakes: dict[str, str], tmp_path: Path) -> None:
    found = {}
    for kind, text in bakes.items():
        (tmp_path / MANIFEST).write_text(text)
        found[kind] = read_manifest(tmp_path)
        assert found[kind].to_json() == text
    assert [made.shape for made in found.values()] == [(20, 20, 3), None, None]
    assert [made.side for made in found.values()] == [None, 20, 20]
    assert [made.upscale for made in found.values()] == [False, False, True]
    assert [made.channels for made in found.values()] == [3, 3, 1]
    assert [made.jpeg for made in found.values()] == [Jpeg(90, "420", False), None, Jpeg(90, "420", True)]
    with pytest.raises(ValueError, match="differ in length"):
        _ = found["jpeg"].row_nbytes


@pytest.mark.parametrize(
    ("kind", "steps", "value", "says"),
    [
        ("jpeg", ("encoding",), "raw", "raw does not go with"),
        ("jpeg", ("jpeg",), None, "jpeg does not go with None"),
        ("long", ("jpeg",), {"quality": 90, "subsampling": "420", "passthrough": False}, "raw does not go with"),
        ("jpeg", ("jpeg", "quality"), 0, "0 is not a whole number from 1 to 100"),
        ("jpeg", ("jpeg", "quality"), 101, "101 is not a whole number"),
        ("jpeg", ("jpeg", "subsampling"), "422", "'422' is not 420 or 444"),
        ("jpeg", ("jpeg", "passthrough"), 1, "1 is neither true nor false"),
        ("jpeg", ("jpeg", "more"), 1, "one field too many"),
        ("jpeg", ("dtype",), "float16", "JPEGs of float16"),
        ("jpeg", ("shape",), None, "shape None does not go with|no sizes.npy"),
        ("jpeg", ("side",), 20, "a side of rows that have a shape"),
        ("long", ("shape",), [20, 20, 3], "does not go with 'long'"),
        ("long", ("resize",), "pad", "shape None does not go with 'pad'"),
        ("long", ("side",), None, "None is not a whole number"),
        ("long", ("side",), 0, "0 is not a whole number"),
        ("long", ("upscale",), None, "neither true nor false"),
        ("both", ("colour",), "RGB", "is not 3 numbers"),
        ("long", ("shards", 0, "first"), 128, "half an offset"),
    ],
)
def test_what_does_not_go_together(
    bakes: dict[str, str], kind: str, *, steps: tuple[Step, ...], value: Any, says: str, tmp_path: Path
) -> None:
    fields = json.loads(bakes[kind])
    if steps[-1] == "more":
        fields["jpeg"]["more"] = value
    (tmp_path / MANIFEST).write_text(json.dumps(fields) if steps[-1] == "more" else changed(fields, steps, value))
    with pytest.raises(PrebakeError, match=rf"damaged .*({says})"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("kind", "name"), [("jpeg", "lengths.npy"), ("jpeg", "offsets.npy"), ("long", "sizes.npy"), ("long", "offsets.npy")]
)
def test_a_table_that_is_not_listed(bakes: dict[str, str], kind: str, name: str, tmp_path: Path) -> None:
    fields = json.loads(bakes[kind])
    fields["files"] = [file for file in fields["files"] if file["name"] != name]
    (tmp_path / MANIFEST).write_text(json.dumps(fields))
    with pytest.raises(PrebakeError, match=rf"damaged .*no {name}"):
        read_manifest(tmp_path)


def test_rows_of_any_length_stand_at_no_equal_distances(bakes: dict[str, str], tmp_path: Path) -> None:
    fields = json.loads(bakes["long"])
    fields["shards"][0] |= {"first": 128, "stride": 100}
    (tmp_path / MANIFEST).write_text(json.dumps(fields))
    with pytest.raises(PrebakeError, match="rows of any length at equal distances"):
        read_manifest(tmp_path)
