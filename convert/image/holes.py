"""Finds zeros where a JPEG's coded data should be: a file that was reserved and never written to its end, or lost a block.

Zeros are valid code words, so that no decoder complains. With most Huffman tables they mean block after block of the same texture,
which no encoder writes; only where they mean "nothing changes" in all channels (tables optimised for a flat picture) is a run of them
honest. Code
words: ITU-T T.81, annex C: the first symbol of a table has the code of zeros.
"""

from convert.contracts import RejectError
from convert.image.segments import SEQUENTIAL, SOS, segments

RUN = bytes(65)
"""Zeros that are no padding any more: 520 bits."""
DHT = 0xC4
END_OF_BLOCK = 0


def _first_symbols(table: bytes) -> list[int]:
    """The symbol that zeros stand for, in each AC table of a DHT segment."""
    found, at = [], 0
    while at + 17 <= len(table):
        count = sum(table[at + 1 : at + 17])
        if table[at] >> 4 and count and at + 17 < len(table):
            found.append(table[at + 17])
        at += 17 + count
    return found


def _coded_data(data: bytes) -> int | None:
    """Where the coded data begin in which zeros mean texture; None where they may be honest, or are not sequential Huffman codes."""
    sequential, firsts = False, list[int]()
    for segment in segments(data):
        if segment.marker in SEQUENTIAL:
            sequential = True
        elif segment.marker == DHT:
            firsts += _first_symbols(data[segment.begin : segment.end])
        elif segment.marker == SOS:
            return segment.end if sequential and any(symbol != END_OF_BLOCK for symbol in firsts) else None
    return None


def look_for_holes(data: bytes) -> None:
    """Look through the coded data once, at the speed of a search.

    Raises:
        RejectError: truncated, where the zeros run to the end; corrupt, where something follows them.
    """
    begin = _coded_data(data)
    at = -1 if begin is None else data.find(RUN, begin)
    if at < 0 or data.find(b"\xff\xd9", begin, at) >= 0:  # in coded data, FF D9 is always the end
        return
    rest = data[at:].lstrip(b"\0")
    zeros = len(data) - at - len(rest)
    reason = "corrupt" if rest and not rest.startswith(b"\xff\xd9") else "truncated"
    raise RejectError(reason, f"{zeros} bytes of zeros in the coded data, from byte {at}")
