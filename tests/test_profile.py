"""Embedded colour profiles: converted where Pillow has littlecms, counted where not, and left alone on request."""

from __future__ import annotations

import io
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from launch import prebake
from PIL import Image, features

from convert.image.decode import decode
from convert.manifest import Decoding, read_manifest
from readers import open_dataset

CMS = features.check("littlecms2")
TAR = Path(__file__).parent / "data" / "hard_inputs.tar"


@pytest.fixture(scope="module")
def swapped() -> bytes:
    """A JPEG whose profile makes red of green, green of blue and blue of red."""
    with tarfile.open(TAR) as tar:
        file = tar.extractfile("imagefolder/20_color/icc_swap.jpg")
        assert file is not None
        return file.read()


def test_ignored_profiles_give_torchvisions_pixels(swapped: bytes) -> None:
    seen = Counter[str]()
    levels = np.asarray(decode(swapped, seen, decoding=Decoding(icc="ignore")).picture)
    np.testing.assert_array_equal(levels, np.asarray(Image.open(io.BytesIO(swapped)).convert("RGB")))
    assert not +seen


def test_a_profile_is_converted_or_counted(swapped: bytes) -> None:
    seen = Counter[str]()
    plain, levels = (np.asarray(decode(swapped, seen, decoding=Decoding(icc=icc)).picture).astype(int) for icc in ("ignore", "srgb"))
    if CMS:
        assert np.abs(levels - plain).max() > 50
        assert +seen == Counter({"ICC profile converted": 1})
    else:
        np.testing.assert_array_equal(levels, plain)
        assert +seen == Counter({"ICC profile ignored (no littlecms)": 1})


def test_the_choice_is_an_option_and_is_said_once(swapped: bytes, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    for number in range(5):
        (tmp_path / "source" / f"{number}.jpg").write_bytes(swapped)
    done = prebake("memmap", tmp_path / "source", tmp_path / "srgb", "--size", "32")
    assert done.stdout.count("ICC") == 1
    assert f"ICC profile {'converted' if CMS else 'ignored (no littlecms)'} 5" in " ".join(done.stdout.split())
    done = prebake("memmap", tmp_path / "source", tmp_path / "ignore", "--size", "32", "--icc", "ignore")
    assert done.returncode == 0, done.stderr
    assert "ICC" not in done.stdout
    assert "colour profiles ignored" in done.stdout
    assert read_manifest(tmp_path / "ignore").decoding.icc == "ignore"
    same = np.array_equal(open_dataset(tmp_path / "ignore").image(0), open_dataset(tmp_path / "srgb").image(0))
    assert same != CMS
