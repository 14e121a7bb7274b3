"""Any colour mode that Pillow hands out, as RGB or grey with 8 bits: one policy for every picture."""

from collections import Counter

import numpy as np
from PIL import Image

from convert.contracts import RejectError
from convert.image.depth import BAND, in_sixteen_bits, is_wide, to_eight_bits
from convert.image.profile import to_srgb
from convert.manifest import Decoding

NAMES = {
    "1": "black and white",
    "L": "grey",
    "LA": "transparent",
    "P": "palette",
    "RGB": "transparent",
    "RGBA": "transparent",
}
"""What modes are called in the summary; others by their own name."""
TRANSPARENT = ("RGBA", "LA", "PA", "La", "RGBa")
BYTE = np.float32(257)
"""An 8-bit level times this is the 16-bit level of the same grey."""


def in_mode(picture: Image.Image, mode: str, profile: object, *, decoding: Decoding, seen: Counter[str]) -> Image.Image:
    """A decoded picture in one mode; `seen` counts what was done.

    Args:
        picture: in any mode.
        mode: RGB; RGBX, where a picture may keep a fourth byte; L, grey with 8 bits; F, grey levels from
            0 to 65535, those of a 16-bit picture as they are.
        profile: the bytes of its ICC profile, or None.
        decoding: where there is a choice.
        seen: counts what was done.

    Raises:
        RejectError: levels whose range is not known.
    """
    if mode == "F" and is_wide(picture):
        return in_sixteen_bits(picture, seen)
    rgb = _to_rgb(picture, decoding, seen)
    if decoding.icc == "srgb":
        rgb = to_srgb(rgb, profile, picture.mode, seen)
    if mode == "F":
        return Image.fromarray(np.asarray(rgb.convert("L"), np.float32) * BYTE)
    if mode == "L":
        return rgb.convert("L")
    return rgb.convert("RGB") if mode != rgb.mode == "RGBX" else rgb


def _to_rgb(picture: Image.Image, decoding: Decoding, seen: Counter[str]) -> Image.Image:
    """Grey gives R = G = B; transparency is laid over one background; 16-bit grey is scaled, not clipped; CMYK as Pillow does."""
    if picture.mode in ("RGB", "RGBX") and "transparency" not in picture.info:
        return picture
    if is_wide(picture):
        return to_eight_bits(picture, decoding, seen).convert("RGB")
    seen[NAMES.get(picture.mode, picture.mode)] += 1
    if "transparency" not in picture.info and picture.mode not in TRANSPARENT:
        try:
            return picture.convert("RGB")
        except (ValueError, ImportError) as error:  # Pillow knows no way, or none without littlecms
            raise RejectError("unsupported_format", f"colours in {picture.mode}") from error
    return _dropped(picture) if decoding.alpha == "drop" else _laid_over(picture, decoding.alpha)


def _dropped(picture: Image.Image) -> Image.Image:
    """The colours that transparency hides."""
    if picture.mode in ("La", "RGBa"):  # multiplied by their transparency: `convert` divides
        picture = picture.convert("LA" if picture.mode == "La" else "RGBA")
    picture.info.pop("transparency", None)
    return picture.convert("RGB")


def _laid_over(picture: Image.Image, background: str) -> Image.Image:
    whole = Image.new("RGB", picture.size)
    rows = max(1, BAND // picture.width)
    for top in range(0, picture.height, rows):
        layer = picture.crop((0, top, picture.width, min(top + rows, picture.height)))
        layer = layer.convert("RGBA")
        whole.paste(Image.alpha_composite(Image.new("RGBA", layer.size, background), layer).convert("RGB"), (0, top))
    return whole
