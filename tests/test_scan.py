"""A scan keeps a million names without an object for each, and still has every name, in order, with its size."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np

from convert.source import scan

COUNT = 20_000


def make(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True)
    for name in names:
        os.close(os.open(folder / name, os.O_CREAT | os.O_WRONLY))


def test_names_and_sizes_of_folders_larger_than_a_block(tmp_path: Path) -> None:
    make(tmp_path / "p" / "é\udce9", [f"{i * 7919 % 10007:x}.jpg" for i in range(5000)])
    make(tmp_path / "p" / "b" / "deep", [f"{'é🦊'[i % 2]}{i * 31 % 6007}.JPG" for i in range(6000)] + [os.fsdecode(b"\xff.png")])
    (tmp_path / "p" / "b" / "deep" / "é0.JPG").write_bytes(b"x" * 70_000)
    source = scan(tmp_path / "p")
    expected = [
        os.path.join(folder, name)  # noqa: PTH118 - what os.walk says
        for folder, _, names in [each for top in ("b", "é\udce9") for each in sorted(os.walk(tmp_path / "p" / top))]
        for name in sorted(names)
    ]
    keys = list(source.keys)
    assert [os.path.join(tmp_path / "p", key) for key in keys] == expected  # noqa: PTH118
    assert [source.keys[i] for i in range(0, len(keys), 997)] == keys[::997]
    np.testing.assert_array_equal(source.sizes, [Path(name).stat().st_size for name in expected])
    assert source.sizes.dtype == np.int64
    assert source.sizes.max() == 70_000
    assert dict(zip(source.folders, source.counts, strict=True)) == {"b": 6001, "é\udce9": 5000}


def test_a_file_takes_less_than_300_bytes_at_the_peak(tmp_path: Path) -> None:
    names = [f"ILSVRC2012_val_{i * 7919 % COUNT:08d}.JPEG" for i in range(COUNT)]
    make(tmp_path / "flat", names)
    make(tmp_path / "tree" / "n01440764", names[: COUNT // 2])
    make(tmp_path / "tree" / "n02119789", names[COUNT // 2 :])
    for root in (tmp_path / "flat", tmp_path / "tree"):
        tracemalloc.start()
        try:
            source = scan(root)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert len(source.keys) == COUNT
        assert peak / COUNT < 300
