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
READ_WITH = {"AVIF": "avif", "WebP": "webp", "JPEG 2000": "jpg_2000"}
"""Parts of Pillow that read a format, where they were built in."""


def foreign_format(data: bytes) -> str | None:
    """The name of a picture format that this Pillow does not read, or None: then the file is broken, or no picture."""
    name = next((name for start, name in STARTS.items() if data.startswith(start)), None)
    if data[4:8] == b"ftyp":
        name = BRANDS.get(data[8:12], f"a media file ({data[8:12].decode('latin-1')})")
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        name = "WebP"
    readable = name in READ_WITH and features.check(READ_WITH[name]) if name else False
    return None if readable else name
