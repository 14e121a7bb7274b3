"""A JPEG is judged by its pixels: whole ones pass whatever is odd about them, and none passes that lacks coded data."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import numpy as np
import pytest
import simplejpeg
from pictures import jpeg, photo, with_segment
from PIL import Image

from convert.contracts import RejectError
from convert.image.decode import decode
from convert.image.jpeg import decode_strict
from convert.image.mend import MAX_STRAY, mended
from convert.image.segments import SOS, end_of_scans, segments

EOI = b"\xff\xd9"
SIZE = (120, 160)
WHOLE = {
    "baseline": jpeg(photo(1, *SIZE)),
    "progressive": jpeg(photo(2, *SIZE), progressive=True),
    "optimised": jpeg(photo(3, *SIZE), optimize=True),
    "4:4:4": jpeg(photo(4, *SIZE), subsampling="4:4:4"),
    "grey": jpeg(photo(5, *SIZE).convert("L")),
    "CMYK": jpeg(photo(6, *SIZE).convert("CMYK")),
    "RGB inside": jpeg(photo(7, *SIZE), keep_rgb=True),
    "restart markers": jpeg(photo(8, *SIZE), restart_marker_rows=1),
    "comment": jpeg(photo(9, *SIZE), comment=b"\xff\xd9 is no end marker in here"),
    "thumbnail": with_segment(jpeg(photo(10, *SIZE)), b"Exif\0\0" + jpeg(photo(10, 30, 40))),
}
NAMES = pytest.mark.parametrize("name", WHOLE)
HALF_A_MARKER, JUNK = b"\xff", bytes(range(256)) * 40


def accepted(data: bytes, whole: bytes) -> None:
    """Taken, with the same pixels that Pillow sees in the whole file."""
    with Image.open(io.BytesIO(whole)) as picture:
        np.testing.assert_array_equal(np.asarray(decode(data).picture), np.asarray(picture.convert("RGB")), strict=True)


def rejected(data: bytes) -> None:
    with pytest.raises(RejectError) as caught:
        decode(data)
    assert caught.value.reason in ("truncated", "corrupt")


@NAMES
def test_a_whole_file_is_accepted(name: str) -> None:
    assert mended(WHOLE[name], Counter()) == WHOLE[name]
    accepted(WHOLE[name], WHOLE[name])
    assert (decode_strict(WHOLE[name]) is None) == (name == "CMYK")


@NAMES
@pytest.mark.parametrize("percent", [10, 25, 50, 75, 90, 95, 99])
def test_a_cut_file_is_rejected(name: str, percent: int) -> None:
    whole = WHOLE[name]
    start = whole.rindex(b"\xff\xda") if name != "progressive" else whole.index(b"\xff\xda")  # where coded data begins
    cut = whole[: start + 14 + (len(whole) - start - 14) * percent // 100]
    rejected(cut)
    rejected(cut + EOI)  # as a careless tool ends it
    with pytest.raises(RejectError):
        mended(cut, Counter())


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_a_file_cut_at_a_restart_marker_is_rejected(mode: str) -> None:
    """There the decoder waits for that very marker, and skips what is put in place of missing data."""
    whole = jpeg(photo(11, 64, 64).convert(mode), restart_marker_blocks=2, subsampling="4:4:4")
    start = whole.rindex(b"\xff\xda")
    markers = [at for at in range(start, len(whole) - 2) if whole[at] == 0xFF and 0xD0 <= whole[at + 1] <= 0xD7]
    assert len(markers) == 31
    for at in markers:
        for cut in (at, at + 1, at + 2):
            rejected(whole[:cut])
            rejected(whole[:cut] + EOI)


@NAMES
@pytest.mark.parametrize("missing", [1, 2])
def test_a_file_that_lacks_its_end_marker_only_is_accepted(name: str, missing: int) -> None:
    accepted(WHOLE[name][:-missing], WHOLE[name])


@NAMES
@pytest.mark.parametrize("tail", [b"\0", HALF_A_MARKER, EOI, JUNK, bytes(5000), WHOLE["grey"], WHOLE["grey"][:-700]])
def test_bytes_after_the_end_are_accepted(name: str, tail: bytes) -> None:
    accepted(WHOLE[name] + tail, WHOLE[name])


@NAMES
@pytest.mark.parametrize("padding", [bytes(1), bytes(16), bytes(MAX_STRAY)])
def test_zeros_before_the_end_marker_are_accepted(name: str, padding: bytes) -> None:
    accepted(WHOLE[name][:-2] + padding + EOI, WHOLE[name])


@NAMES
@pytest.mark.parametrize("stray", [b"\0", b"\x2a", b"\xff"])
def test_a_stray_byte_between_segments_is_accepted(name: str, stray: bytes) -> None:
    whole = WHOLE[name]
    at = whole.rindex(b"\xff\xdb")  # in front of the last quantisation table
    accepted(whole[:at] + stray + whole[at:], whole)


@NAMES
def test_a_header_that_claims_more_rows_than_are_coded_is_rejected(name: str) -> None:
    whole = WHOLE[name]
    at = whole.rindex(b"\xff\xc2" if name == "progressive" else b"\xff\xc0") + 5
    assert int.from_bytes(whole[at : at + 2], "big") == SIZE[0]
    rejected(whole[:at] + (2 * SIZE[0]).to_bytes(2, "big") + whole[at + 2 :])


def test_coded_data_that_the_decoder_does_not_use_is_rejected() -> None:
    """The header claims fewer rows than are coded: the rest is no padding."""
    whole = WHOLE["baseline"]
    at = whole.index(b"\xff\xc0") + 5
    rejected(whole[:at] + (SIZE[0] // 2).to_bytes(2, "big") + whole[at + 2 :])


@NAMES
def test_the_end_of_the_scans_is_the_last_marker_not_the_thumbnails(name: str) -> None:
    whole = WHOLE[name]
    assert end_of_scans(whole) == len(whole) - 2
    assert end_of_scans(whole + JUNK + WHOLE["grey"]) == len(whole) - 2
    assert end_of_scans(whole[:-2]) == len(whole) - 2
    assert end_of_scans(whole[:-1]) == len(whole) - 1
    assert whole.count(EOI) == (2 if name in ("thumbnail", "comment") else 1)


@pytest.mark.parametrize("rest", [b"", b"\xff", b"\xff\xe1", b"\xff\xe1\0", b"\xff\xe1\xff\xff and no more", b"\xff\xff\xff"])
def test_the_end_of_next_to_nothing_is_its_length(rest: bytes) -> None:
    assert end_of_scans(b"\xff\xd8" + rest) == 2 + len(rest)


@pytest.mark.parametrize("options", [{}, {"optimize": True}, {"subsampling": "4:4:4"}], ids=str)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8, 0.95])
def test_zeros_in_place_of_coded_data_are_rejected(options: dict[str, Any], share: float) -> None:
    for seed in range(5):
        whole = jpeg(photo(seed, 200, 150), **options)
        cut = int(len(whole) * share)
        rejected(whole[:cut] + bytes(len(whole) - cut))
        rejected(whole[:cut] + bytes(len(whole) - cut) + EOI)
        if share < 0.9:
            rejected(whole[:cut] + bytes(len(whole) - cut - 100) + whole[-100:])


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("level", [0, 128, 255])
def test_flat_pictures_are_whole(mode: str, level: int) -> None:
    for options in ({}, {"optimize": True}, {"progressive": True}, {"optimize": True, "subsampling": "4:4:4"}):
        picture = photo(1, 1600, 800).convert(mode)
        picture.paste(Image.new(mode, (800, 1500), (level,) * len(mode)), (0, 100))
        accepted(jpeg(picture, **options), jpeg(picture, **options))


def _scan_starts(data: bytes) -> list[int]:
    return [segment.start for segment in segments(data) if segment.marker == SOS]


@pytest.mark.parametrize("options", [{}, {"subsampling": 0}], ids=str)
@pytest.mark.parametrize("grey", [False, True])
def test_a_progressive_file_cut_between_two_scans_is_rejected(options: dict[str, Any], grey: bool) -> None:
    """Strict libjpeg-turbo has nothing against it: a decoder is to show what there is so far."""
    picture = photo(12, *SIZE).convert("L" if grey else "RGB")
    whole = jpeg(picture, progressive=True, **options)
    accepted(whole, whole)
    starts = _scan_starts(whole)
    assert len(starts) > 4
    for start in starts[1:]:
        tables = whole.rfind(b"\xff\xc4", 0, start)  # the next scan's Huffman table goes with it
        for cut in {start, tables if tables > starts[0] else start}:
            rejected(whole[:cut] + EOI)
            rejected(whole[:cut])


def test_a_file_of_very_many_scans_is_rejected_at_once() -> None:
    whole = jpeg(photo(13, *SIZE), progressive=True)
    last = _scan_starts(whole)[-1]
    scan = whole[last : whole.rindex(EOI)]
    rejected(whole[:last] + scan * 200 + EOI)


@pytest.mark.parametrize("options", [{}, {"restart_marker_rows": 1}, {"progressive": True}, {"optimize": True}], ids=str)
@pytest.mark.parametrize("how", ["lost", "random", "ended"])
def test_damage_that_the_decoder_reports_is_no_harmless_defect(options: dict[str, Any], how: str) -> None:
    """A block of the file lost, or overwritten, or all behind it: taken only where the decoder itself sees nothing wrong."""
    random = np.random.default_rng(5)
    judged = 0
    for seed in range(12):
        whole = jpeg(photo(seed, 200, 260), **options)
        first = _scan_starts(whole)[0] + 20
        at = int(random.integers(first, len(whole) - 700))
        noise = random.integers(0, 256, 512, dtype=np.uint8).tobytes()
        bad = {"lost": whole[:at] + whole[at + 512 :], "random": whole[:at] + noise + whole[at + 512 :], "ended": whole[:at] + noise + EOI}[
            how
        ]
        try:
            simplejpeg.decode_jpeg(bad, strict=True)
        except ValueError:
            judged += 1
            with pytest.raises(RejectError):
                decode(bad)
    assert judged > 6


def test_zeros_to_the_end_of_a_flat_picture_without_an_end_are_rejected() -> None:
    """Where zeros mean that nothing changes, such a file decodes to its end."""
    whole = jpeg(Image.new("RGB", (640, 480), (10, 200, 90)), optimize=True)
    start = _scan_starts(whole)[0] + 14
    for zeros in (MAX_STRAY + 1, 500):
        rejected(whole[: start + 40] + bytes(zeros))


def test_several_harmless_defects_are_counted_each() -> None:
    whole = jpeg(photo(14, *SIZE))
    seen = Counter[str]()
    place = whole.index(b"JFIF\0") + 5
    odd = (whole[:place] + b"\2" + whole[place + 1 :]).replace(b"\xff\xda", b"\0\0\xff\xda", 1)[:-2]
    np.testing.assert_array_equal(np.asarray(decode(odd, seen).picture), np.asarray(Image.open(io.BytesIO(whole))))
    assert sorted(+seen) == ["JPEG with an unknown JFIF version", "JPEG with stray bytes before a marker", "JPEG without an end marker"]
    start = odd.index(b"\xff\xda") + 14  # a harmless defect does not hide another
    rejected(odd[: start + 300] + odd[start + 900 :])


def test_a_stray_byte_behind_coded_data_is_padding_and_more_are_not() -> None:
    whole = WHOLE["baseline"]
    for stray in (b"\x2a", bytes(40)):
        accepted(whole[:-2] + stray + EOI, whole)
    rejected(whole[:-2] + b"\1\2\3\4\5" * 12 + EOI)
