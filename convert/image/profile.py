"""Embedded colour profiles: colours in another space than sRGB are converted, where Pillow was built with littlecms."""

import functools
import io
from collections import Counter
from typing import Any

import numpy as np
from PIL import Image, features

CONVERTED, IGNORED, BROKEN = "ICC profile converted", "ICC profile ignored (no littlecms)", "ICC profile broken, ignored"
OTHER = "ICC profile not for these colours, ignored"
NAMES = (b"sRGB", "sRGB".encode("utf-16-be"))
"""How profiles call it, by their version."""
GREY = ("1", "L", "LA", "La", "I", "F")
COLOURS = ("RGB", "RGBX", "RGBA", "RGBa", "P", "PA")
NEAR = 3
"""Levels by which profiles of sRGB differ from each other."""


@functools.lru_cache(maxsize=16)
def _transform(profile: bytes) -> tuple[str, Any]:
    """The mode that a profile is for, L, RGB or another, and what leads from there to sRGB: None where that changes next to nothing."""
    from PIL import ImageCms  # missing where littlecms is

    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    space = source.profile.xcolor_space.strip()
    mode = {"GRAY": "L"}.get(space, space)
    if mode not in ("L", "RGB"):
        return mode, None
    transform = ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")
    steps = np.linspace(0, 255, 256 if mode == "L" else 9).round().astype(np.uint8)
    probe = steps[None] if mode == "L" else np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(1, -1, 3)
    made = np.asarray(ImageCms.applyTransform(Image.fromarray(probe), transform)).astype(int)
    same = np.abs(made - np.broadcast_to(probe.reshape(1, -1, 1 if mode == "L" else 3), made.shape)).max() <= NEAR
    return mode, None if same else transform


def to_srgb(picture: Image.Image, profile: object, coded: str, seen: Counter[str]) -> Image.Image:
    """The picture's colours in sRGB. A broken profile says nothing about the pixels, so it is ignored and counted.

    Args:
        picture: mode RGB, or RGBX; may be changed in place.
        profile: the bytes of its ICC profile, or None.
        coded: the mode that it was coded in: a profile of grey is for grey, and that of CMYK, which is converted as Pillow does, for none.
        seen: counts what became of it.
    """
    if not isinstance(profile, bytes) or not profile:
        return picture
    if not features.check("littlecms2"):
        seen[IGNORED] += not any(name in profile for name in NAMES)
        return picture
    try:
        mode, transform = _transform(profile)
    except Exception:  # noqa: BLE001 - ImageCms raises PyCMSError, OSError, ValueError, TypeError on profiles that make no sense
        seen[BROKEN] += 1
        return picture
    grey = coded in GREY or coded.startswith("I;")
    if mode != ("L" if grey else "RGB" if coded in COLOURS else None):
        seen[OTHER] += 1
        return picture
    if transform is None:
        return picture
    from PIL import ImageCms

    seen[CONVERTED] += 1
    if grey:
        return ImageCms.applyTransform(picture.getchannel(0), transform) or picture
    if picture.mode == "RGBX":
        picture = picture.convert("RGB")
    ImageCms.applyTransform(picture, transform, inPlace=True)
    return picture
