"""An unfinished bake whose journal or plan says anything: refused in one line, or what is wrong is made again."""

from __future__ import annotations

import base64
import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launch import digests
from pictures import image_folder

from convert import journal
from convert.begun import check_begun
from convert.errors import PrebakeError
from convert.manifest import MANIFEST
from convert.pack import pack
from convert.plan import PLAN, WORK, Plan
from convert.request import Request
from convert.resolve import resolve, settle
from convert.run import carry_out
from convert.stock import Trust
from convert.tasks import Crew

CREW = Crew(1, "serial", quiet=True)
ENCODINGS: dict[str, dict[str, Any]] = {"raw": {}, "jpeg": {"encoding": "jpeg"}}
Fields = dict[str, Any]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = image_folder(tmp_path_factory.mktemp("journal") / "source", {"cat": 8, "dog": 8})
    (root / "cat" / "bad.jpg").write_bytes(b"<html>")
    return root


def planned(source: Path, out: Path, encoding: str) -> Plan:
    request = Request(source=source, out=out, format="memmap", recipe={"size": (16, 16), **ENCODINGS[encoding]}, crew=CREW, shards=4)
    plan, _ = resolve(request)
    return settle(request, plan)


def go_on(plan: Plan, out: Path) -> list[str]:
    """What is said of the shards that were there."""
    said: list[str] = []
    trust = Trust()
    assert check_begun(out, plan, trust) is not None
    carry_out(plan, out, CREW, trust=trust, say=said.append)
    return "\n".join(said).splitlines()


@pytest.fixture(scope="module", params=list(ENCODINGS))
def begun(request: pytest.FixtureRequest, source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path, dict[str, str]]:
    """A plan, a bake by it that was ended before its last shard, and what it would have been."""
    root = tmp_path_factory.mktemp(request.param)
    plan = planned(source, root / "begun", request.param)
    carry_out(plan, root / "whole", CREW)

    def ends(out: Path, number: int, **more: Any) -> object:
        if number == 3:
            raise KeyboardInterrupt
        return pack(out, number, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("convert.run.pack", ends)
        with pytest.raises(KeyboardInterrupt):
            carry_out(plan, root / "begun", CREW)
    return plan, root / "begun", digests(root / "whole")


def edit(out: Path, change: Callable[[Fields], object], number: int = 1) -> None:
    """Change a shard's line; its checksum is right again."""
    path = out / WORK / journal.JOURNAL
    lines = [line for line in path.read_bytes().splitlines() if line]
    fields = json.loads(lines[number].partition(b" ")[2])
    change(fields)
    text = json.dumps(fields).encode()
    lines[number] = b"%08x %s" % (zlib.crc32(text), text)
    path.write_bytes(b"\n".join(lines) + b"\n")


def array(values: Any, dtype: str, shape: Any = None) -> Fields:
    data = np.array(values, dtype)
    return {"base64": base64.b64encode(data.tobytes()).decode(), "dtype": dtype, "shape": list(data.shape) if shape is None else shape}


ODD: list[Any] = [None, 5, -1, "x", [], {}, [[1, 2]], [1, 2], {"base64": ""}, {"base64": 5}, {"base64": "AAAA", "dtype": "O", "shape": [1]}]
ODD += [array([[1, 2]], "<i4"), array([1], "<i8"), array([1.0], "<f8"), array([1], "<i8", [10**30]), [[0, "a", "\ud800"]], {"a": "b"}]
FIELDS = ("items", "sizes", "rejects", "seen", "hashes", "lengths", "offsets", "stored", "pillow", "shard")


@pytest.mark.parametrize("name", FIELDS)
def test_values_of_a_wrong_type(begun: tuple[Plan, Path, dict[str, str]], name: str, tmp_path: Path) -> None:
    plan, out, whole = begun
    coded = plan.recipe.jpeg is not None
    if not coded and name in ("items", "sizes", "rejects", "seen", "pillow", "shard"):
        return  # the same for both encodings
    for place, odd in enumerate(ODD):
        if odd is None and not coded and name in ("lengths", "offsets", "stored"):
            continue
        if (name == "seen" and odd == {}) or (name == "pillow" and odd in ({}, {"a": "b"})):
            continue  # a table of counts, or of versions
        copy = Path(shutil.copytree(out, tmp_path / str(place)))
        shutil.copystat(out, copy)
        edit(copy, lambda fields: fields.__setitem__(name, odd))  # noqa: B023 - called at once
        if name == "rejects" and odd == []:
            edit(copy, lambda fields: fields["shard"].__setitem__("rejected", 1))
        said = go_on(plan, copy)
        assert said[0] == "  goes on   with 2 of 4 shards", (odd, said)
        assert digests(copy) == whole, odd


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bytes", "x"),
        ("bytes", True),
        ("checksum", "00"),
        ("checksum", "x" * 64),
        ("count", 3.0),
        ("first", -5),
        ("first", "5"),
        ("first", 1 << 40),
        ("stride", 1),
        ("stride", 1 << 50),
        ("rejected", 9),
        ("rejected", None),
        ("name", "../shard-00000.npy"),
        ("name", "shard-00001.npy"),
        ("more", 1),
    ],
)
def test_a_shard_that_cannot_be(begun: tuple[Plan, Path, dict[str, str]], name: str, value: Any, tmp_path: Path) -> None:
    plan, out, whole = begun
    copy = Path(shutil.copytree(out, tmp_path / "copy"))
    edit(copy, lambda fields: fields["shard"].__setitem__(name, value))
    assert go_on(plan, copy)[0] == "  goes on   with 2 of 4 shards"
    assert digests(copy) == whole


@pytest.mark.parametrize("name", ["offsets", "lengths", "stored", "sizes"])
def test_numbers_that_lead_out_of_the_shard(begun: tuple[Plan, Path, dict[str, str]], name: str, tmp_path: Path) -> None:
    plan, out, whole = begun
    if plan.recipe.jpeg is None:
        return  # rows at equal distances have none
    copy = Path(shutil.copytree(out, tmp_path / "copy"))

    def larger(fields: Fields) -> None:
        data = np.frombuffer(base64.b64decode(fields[name]["base64"]), fields[name]["dtype"]).reshape(fields[name]["shape"]).copy()
        data[-1] = -1 if name in ("stored", "sizes") else 1 << 62
        fields[name] = array(data, fields[name]["dtype"])

    edit(copy, larger)
    assert go_on(plan, copy)[0] == "  goes on   with 2 of 4 shards"
    assert digests(copy) == whole


@pytest.mark.parametrize("number", [-1, 4, 10**30, True, "0"])
def test_numbers_of_no_shard(begun: tuple[Plan, Path, dict[str, str]], number: Any, tmp_path: Path) -> None:
    plan, out, whole = begun
    copy = Path(shutil.copytree(out, tmp_path / "copy"))
    edit(copy, lambda fields: fields.__setitem__("number", number))
    assert go_on(plan, copy)[0] == "  goes on   with 2 of 4 shards"
    assert digests(copy) == whole


def test_a_line_that_is_nested_too_deep(begun: tuple[Plan, Path, dict[str, str]], tmp_path: Path) -> None:
    plan, out, whole = begun
    for place, text in enumerate([b"[" * 5000 + b"]" * 5000, b'{"a":' * 900 + b"1" + b"}" * 900, b"9" * 5000]):
        copy = Path(shutil.copytree(out, tmp_path / str(place)))
        with (copy / WORK / journal.JOURNAL).open("ab") as file:
            file.write(b"%08x %s\n" % (zlib.crc32(text), text))
        assert go_on(plan, copy)[0] == "  goes on   with 3 of 4 shards"
        assert digests(copy) == whole


def test_a_journal_that_is_a_pipe(begun: tuple[Plan, Path, dict[str, str]], tmp_path: Path) -> None:
    plan, out, _ = begun
    copy = Path(shutil.copytree(out, tmp_path / "copy"))
    (copy / WORK / journal.JOURNAL).unlink()
    os.mkfifo(copy / WORK / journal.JOURNAL)
    with pytest.raises(PrebakeError, match="an unfinished bake without a journal, which cannot go on"):
        check_begun(copy, plan, Trust())


PLANS = ["5", "null", "[]", "", "{}", "[" * 100_000, '{"a":' * 900 + "1" + "}" * 900, "\0", "9" * 5000]


@pytest.mark.parametrize("text", PLANS, ids=range(len(PLANS)))
def test_something_else_called_plan(begun: tuple[Plan, Path, dict[str, str]], text: str, tmp_path: Path) -> None:
    plan, out, _ = begun
    copy = Path(shutil.copytree(out, tmp_path / "copy"))
    (copy / WORK / PLAN).write_text(text)
    with pytest.raises(PrebakeError, match="an unfinished bake whose plan is damaged: add --overwrite"):
        check_begun(copy, plan, Trust())
    assert not (copy / MANIFEST).exists()


def test_any_field_of_a_plan(begun: tuple[Plan, Path, dict[str, str]], tmp_path: Path) -> None:
    """Refused in one line, as damaged or as another bake; or it is one that this run's own plan replaces."""
    plan, out, _ = begun
    copy = Path(shutil.copytree(out, tmp_path / "copy"))
    fields = json.loads((copy / WORK / PLAN).read_text())
    went_on = set()
    for above in (fields, fields["recipe"]):
        for name in above:
            for odd in (None, 7, -1, 0.5, True, "odd", [], {}, [7], {"a": {"b": 1}}, ["x", "x"], [7, 7, 7, 7]):
                new = {name: odd} if above is fields else {"recipe": above | {name: odd}}
                (copy / WORK / PLAN).write_text(json.dumps(fields | new))
                said = ""
                try:
                    assert check_begun(copy, plan, Trust()) == plan
                except PrebakeError as error:
                    said = str(error)
                if said:
                    assert "whose plan is damaged" in said or "holds another bake" in said or "was begun with" in said
                elif odd != above[name]:
                    went_on.add(name)
    assert went_on <= {"root", "source", "first"}


@pytest.mark.parametrize("name", ["stamps.npy", "positions.npy", "targets.npy", "keys.npy"])
@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04" + b"\0" * 90, b"\x93NUMPY\x01\x00v\x00" + b"(" * 118, b"\x93NUMPY\x03\x00"], ids=range(4)
)
def test_arrays_that_are_none(begun: tuple[Plan, Path, dict[str, str]], name: str, data: bytes, tmp_path: Path) -> None:
    plan, out, _ = begun
    copy = Path(shutil.copytree(out, tmp_path / "copy"))
    (copy / WORK / name).write_bytes(data)
    with pytest.raises(PrebakeError, match="whose plan is damaged"):
        check_begun(copy, plan, Trust())
