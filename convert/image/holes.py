"""Finds zeros where a JPEG's coded data should be: a file that was reserved and never written to its end, or lost a block.

Zeros are valid code words, so that no decoder complains. With most Huffman tables they mean block after block of the same texture,
which no encoder writes; only where they mean "nothing changes" in all channels (tables optimised for a flat picture) is a run of them
honest. Code
words: ITU-T T.81, annex C: the first symbol of a table has the code of zeros.
"""

from collections.abc import Iterator

from convert.contracts import RejectError
from convert.image.mend import first_defect
from convert.image.segments import EOI, FRAMES, SEQUENTIAL, SOS, segments

RUN = bytes(65)
"""Zeros that are no padding any more: 520 bits."""
DHT = 0xC4
END_OF_BLOCK = 0


def _first_symbols(table: bytes) -> dict[int, int]:
    """The symbol that zeros stand for, for each AC table of a DHT segment, by its number."""
    found, at = {}, 0
    while at + 17 <= len(table):
        count = sum(table[at + 1 : at + 17])
        if table[at] >> 4 and count and at + 17 < len(table):
            found[table[at] & 15] = table[at + 17]
        at += 17 + count
    return found


def _textured_scans(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the coded data begin and end in which zeros mean texture: sequential Huffman codes with a table that says so."""
    sequential, firsts, begin = False, dict[int, int](), 0
    for segment in segments(data):
        if begin:
            yield begin, segment.start
            begin = 0
        body = data[segment.begin : segment.end]
        if segment.marker in FRAMES:
            sequential = segment.marker in SEQUENTIAL
        elif segment.marker == DHT:
            firsts |= _first_symbols(body)
        elif segment.marker == SOS and sequential and body:
            tables = {selector & 15 for selector in body[2 : 2 + 2 * body[0] : 2]}
            begin = segment.end if any(firsts.get(table, END_OF_BLOCK) != END_OF_BLOCK for table in tables) else 0
    if begin:
        yield begin, len(data)


def look_for_holes(data: bytes) -> None:
    """Look through the coded data once, at the speed of a search.

    Raises:
        RejectError: truncated, where the zeros run to the end; corrupt, where something follows them.
    """
    for begin, end in _textured_scans(data):
        at = data.find(RUN, begin, end)
        if at < 0:
            continue
        rest = data[at:end].lstrip(b"\0")
        if not rest and first_defect(data[:at] + EOI) is None:
            continue  # padding, however long
        zeros = end - at - len(rest)
        raise RejectError("corrupt" if rest else "truncated", f"{zeros} bytes of zeros in the coded data, from byte {at}")
