"""JPEGs that few programs write: one scan a component, odd samplings, arithmetic coding: whole ones are taken, cut ones are not."""

from __future__ import annotations

import io
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
from pictures import jpeg, photo
from PIL import Image

from convert.contracts import RejectError
from convert.image.decode import decode
from convert.image.segments import EOI, SOS, segments

HEIGHT, WIDTH = 160, 192


def parts(data: bytes) -> tuple[bytes, bytes]:
    """Of a grey file: its tables, and its coded data."""
    found = list(segments(data))
    tables = b"".join(data[segment.start : segment.end] for segment in found if segment.marker in (0xDB, 0xC4))
    scan = next(segment for segment in found if segment.marker == SOS)
    return tables, data[scan.end : data.rindex(EOI)]


def apart(picture: Image.Image, across: int = 1, down: int = 1) -> bytes:
    """A sequential file with one scan for each component; brightness has `across` x `down` pixels for each of colour."""
    bands = picture.convert("YCbCr").split()
    small = [bands[0], *(band.resize((picture.width // across, picture.height // down)) for band in bands[1:])]
    grey = [parts(jpeg(band)) for band in small]
    sampling = [across << 4 | down, 0x11, 0x11]
    frame = struct.pack(">BHHB", 8, picture.height, picture.width, 3)
    frame += b"".join(bytes([number, sampling[number - 1], 0]) for number in (1, 2, 3))
    scans = b"".join(b"\xff\xda\0\x08\1" + bytes([number, 0]) + b"\0\x3f\0" + grey[number - 1][1] for number in (1, 2, 3))
    return b"\xff\xd8" + grey[0][0] + b"\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + scans + EOI


def rejected(data: bytes) -> str:
    with pytest.raises(RejectError) as caught:
        decode(data)
    return caught.value.reason


@pytest.mark.parametrize("colours", ["photo", "grey", "flat"])
@pytest.mark.parametrize("sampling", [(1, 1), (2, 1), (2, 2), (1, 4), (4, 2), (4, 1)])
def test_whole_files_are_taken_and_cut_ones_are_not(colours: str, sampling: tuple[int, int]) -> None:
    picture = Image.new("RGB", (WIDTH, HEIGHT), (90, 90, 90)) if colours == "flat" else photo(3, HEIGHT, WIDTH)
    data = apart(picture.convert("L").convert("RGB") if colours == "grey" else picture, *sampling)
    right = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    assert np.abs(right.astype(int) - np.asarray(picture)).mean() < 40  # the file is what it should be
    np.testing.assert_array_equal(np.asarray(decode(data).picture), right)
    starts = [segment.start for segment in segments(data) if segment.marker == SOS]
    for end in starts[1:]:
        assert rejected(data[:end] + EOI) == "truncated"
    if colours == "photo":
        middle = (starts[0] + starts[1]) // 2
        assert rejected(data[:middle] + EOI) in ("truncated", "corrupt")
        assert rejected(data[:middle]) in ("truncated", "corrupt")


def test_zeros_in_a_textured_scan_are_seen_behind_an_honest_one() -> None:
    data = apart(photo(4, HEIGHT, WIDTH))
    last = [segment.end for segment in segments(data) if segment.marker == SOS][-1]
    assert rejected(data[: last + 50] + bytes(len(data) - last - 52) + EOI) in ("truncated", "corrupt")


def test_padding_before_the_end_marker_may_be_long() -> None:
    whole = jpeg(photo(5, HEIGHT, WIDTH))
    padded = whole[:-2] + bytes(2000) + EOI
    np.testing.assert_array_equal(np.asarray(decode(padded).picture), np.asarray(decode(whole).picture))
    start = whole.index(b"\xff\xda") + 14
    for zeros in (200, 5000):
        assert rejected(whole[: start + 400] + bytes(zeros) + EOI) == "truncated"


def test_an_arithmetic_file_is_taken_and_half_of_one_is_not() -> None:
    with tarfile.open(Path(__file__).parent / "data" / "hard_inputs.tar") as tar:
        name = next(name for name in tar.getnames() if name.endswith("arithmetic.jpg"))
        file = tar.extractfile(name)
        assert file is not None
        whole = file.read()
    decode(whole)
    start = next(segment.end for segment in segments(whole) if segment.marker == SOS)
    for share in (0.3, 0.6):
        cut = whole[: start + int((len(whole) - start) * share)]
        assert rejected(cut + EOI) == "truncated"
        assert rejected(cut + b"\xff" * 300 + EOI) == "truncated"
