"""Pictures with 16 bits in more than one channel: Pillow hands out the upper 8 of them."""

from collections import Counter
from typing import Any

from PIL import Image

from convert.contracts import RejectError
from convert.image.depth import DARK, NARROW

CUT = "16-bit colour read with 8"


def is_deep(picture: Image.Image) -> bool:
    """Whether a picture, opened and not loaded yet, is coded with 16 bits and comes with 8."""
    tiles: Any = getattr(picture, "tile", ())
    return picture.mode in ("RGB", "RGBA", "LA") and any(";16" in str(tile[3] if len(tile) > 3 else "") for tile in tiles)


def count_deep(picture: Image.Image, mode: str, seen: Counter[str]) -> None:
    """Count a decoded one, and whether it uses little of its range.

    Raises:
        RejectError: its grey levels are to be kept as they are.
    """
    if mode == "F":
        raise RejectError(
            "unsupported_format", f"16-bit {picture.mode}, of which this Pillow reads 8 bits: --dtype uint16 keeps plain grey"
        )
    seen[CUT] += 1
    bands = picture.getextrema()[:3] if picture.mode != "LA" else picture.getextrema()[:1]
    seen[DARK] += all(isinstance(band, tuple) and band[1] - band[0] < NARROW * 255 for band in bands)
