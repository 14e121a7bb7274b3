"""Any colour mode that Pillow hands out, as RGB with 8 bits: one policy for every picture."""

from collections import Counter

import numpy as np
from PIL import Image

NAMES = {
    "1": "black and white",
    "I": "16-bit",
    "I;16": "16-bit",
    "L": "grey",
    "LA": "transparent",
    "P": "palette",
    "RGB": "transparent",
    "RGBA": "transparent",
}
"""What modes are called in the summary; others by their own name."""
WIDE = 65535
"""The highest level of a 16-bit picture."""


def to_rgb(picture: Image.Image, seen: Counter[str]) -> Image.Image:
    """RGB. Grey gives R = G = B; transparency is laid over white; 16-bit grey is scaled, not clipped; CMYK as Pillow does."""
    if picture.mode == "RGB" and "transparency" not in picture.info:
        return picture
    seen[NAMES.get(picture.mode, picture.mode)] += 1
    if picture.mode.startswith("I"):
        wide = np.asarray(picture).astype(np.float64).clip(0, WIDE)
        return Image.fromarray(np.rint(wide * 255 / WIDE).astype(np.uint8)).convert("RGB")
    if "transparency" in picture.info or picture.mode in ("RGBA", "LA", "PA", "La", "RGBa"):
        layer = picture.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    return picture.convert("RGB")
