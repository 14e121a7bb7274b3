"""Whatever is changed in a manifest is refused in one line, or read as it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from damage import changed, nine_rows, steps_to_values
from hypothesis import given, settings
from hypothesis import strategies as st

from convert.errors import PrebakeError, printable
from convert.manifest import MANIFEST, read_manifest
from readers import open_dataset

ODD = st.sampled_from([-1, 2, 2**31, 2**50, 2**62, 2**70, 10**400, 0.5, "..", "a/b", "a\nb", "\ud800", "\udcff", "uint8", "none", "class"])
JSON = st.recursive(
    ODD | st.none() | st.booleans() | st.integers(0, 999) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module", params=["memmap", "lmdb"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For tests that put the manifest back."""
    return nine_rows(tmp_path_factory.mktemp(request.param), request.param)


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_any_change_is_refused_in_one_line_or_read_as_it_stands(folder: Path, data: st.DataObject) -> None:
    text = (folder / MANIFEST).read_text()
    fields = json.loads(text)
    steps = data.draw(st.sampled_from(list(steps_to_values(fields))))
    new = data.draw(st.just(()) | st.tuples(JSON))
    try:
        (folder / MANIFEST).write_text(changed(fields, steps, *new))
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
