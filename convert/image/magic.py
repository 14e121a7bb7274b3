"""What a file is that Pillow could not open, by its first bytes: so that a phone's HEIC is not called corrupt."""

from PIL import features

BRANDS = {
    **dict.fromkeys([b"avif", b"avis"], "AVIF"),
    **dict.fromkeys([b"heic", b"heim", b"heix", b"hevc"], "HEIC"),
    **dict.fromkeys([b"mif1", b"msf1"], "HEIF"),
}
"""ISO base media files: the brand follows `ftyp`."""
STARTS = {
    b"\xff\x0a": "JPEG XL",
    b"\0\0\0\x0cJXL ": "JPEG XL",
    b"\0\0\0\x0cjP  ": "JPEG 2000",
    b"\xff\x4f\xff\x51": "JPEG 2000",
    b"8BPS": "Photoshop",
    b"v/1\x01": "OpenEXR",
    b"%PDF-": "PDF",
}
LOSSLESS, JPEG_LS = (0xC3, 0xC7, 0xCB, 0xCF), 0xF7
"""Frame headers of JPEGs that libjpeg-turbo's callers do not decode."""
KNOWN = {b"\x89PNG\r\n\x1a\n": "PNG", b"GIF8": "GIF", b"II*\0": "TIFF", b"MM\0*": "TIFF"}
"""Formats that every Pillow reads."""
NO_FRAMES = (0xC4, 0xC8, 0xCC)
"""Markers between the frame headers' that are something else."""
WHOLE_HEADER = 1024
"""Bytes that hold the header of an ordinary file."""
READ_WITH = {"AVIF": "avif", "WebP": "webp", "JPEG 2000": "jpg_2000"}
"""Parts of Pillow that read a format, where they were built in."""


def foreign_jpeg(data: bytes) -> str | None:
    """The name of a kind of JPEG that is not read here, or None."""
    at = 2
    while at + 5 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in LOSSLESS:
            return "lossless JPEG"
        if marker == JPEG_LS:
            return "JPEG-LS"
        if 0xC0 <= marker <= 0xCF and marker not in NO_FRAMES:
            return None if data[at + 4] == 8 else f"a JPEG with {data[at + 4]} bits a sample"
        at += 1 if marker == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def broken_header(data: bytes) -> tuple[str, str] | None:
    """Reason and detail for a file that begins as a picture of a known format, and whose header Pillow cannot make sense of."""
    name = next((name for start, name in KNOWN.items() if data.startswith(start)), None)
    if name is None:
        return None
    if len(data) < WHOLE_HEADER:
        return "truncated", f"a {name} of {len(data)} bytes without a whole header"
    if name != "TIFF":
        return "corrupt", f"{name} header"
    directory = int.from_bytes(data[4:8], "little" if data.startswith(b"II") else "big")
    if directory + 2 > len(data):  # where the picture is described, often at the end
        return "truncated", f"a TIFF of {len(data)} bytes whose directory is at {directory}"
    return "unsupported_format", "a TIFF of a kind that this Pillow does not read"


def foreign_format(data: bytes) -> str | None:
    """The name of a picture format that this Pillow does not read, or None: then the file is broken, or no picture."""
    name = next((name for start, name in STARTS.items() if data.startswith(start)), None)
    if data[4:8] == b"ftyp":
        name = BRANDS.get(data[8:12], f"a media file ({data[8:12].decode('latin-1')})")
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        name = "WebP"
    readable = name in READ_WITH and features.check(READ_WITH[name]) if name else False
    return None if readable else name
