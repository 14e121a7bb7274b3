"""Turns a picture the way its EXIF orientation says."""

from collections import Counter

from PIL import Image

ORIENTATION = 0x0112
FIRST_TURNED = 5
"""From this value on, height and width change places."""
TURNED = "turned upright"
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def orientation(picture: Image.Image, seen: Counter[str] | None = None) -> int:
    """The one tag of EXIF, 1 to 8. Broken EXIF says nothing about the pixels, so it counts as 1, as undefined values do.

    Not by `getexif`, which takes the tag from XMP where EXIF has none, in some formats and versions.
    """
    exif = Image.Exif()
    try:
        exif.load(_exif(picture))
        value = int(exif.get(ORIENTATION, 1))
    except Exception:  # noqa: BLE001 - SyntaxError, struct.error, TypeError, IndexError: Pillow raises almost anything
        if seen is not None:
            seen["EXIF broken, ignored"] += 1
        return 1
    return value if value in TURNS else 1


def _exif(picture: Image.Image) -> bytes:
    """EXIF as it lies in the file; ImageMagick writes it into a PNG as text, in hex, behind three lines."""
    text = picture.info.get("Raw profile type exif")
    if "exif" not in picture.info and isinstance(text, str):
        return bytes.fromhex("".join(text.split("\n")[3:]))
    return bytes(picture.info.get("exif", b""))


def upright(picture: Image.Image, value: int, seen: Counter[str]) -> Image.Image:
    """The picture with an orientation applied; counted."""
    if value not in TURNS:
        return picture
    seen[TURNED] += 1
    return picture.transpose(TURNS[value])
