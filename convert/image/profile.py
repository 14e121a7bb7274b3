"""Embedded colour profiles: an RGB picture in another space than sRGB is converted, where Pillow was built with littlecms."""

import functools
import io
from collections import Counter
from typing import Any

from PIL import Image, features

CONVERTED, IGNORED, BROKEN = "ICC profile converted", "ICC profile ignored (no littlecms)", "ICC profile broken, ignored"


@functools.lru_cache(maxsize=16)
def _transform(profile: bytes) -> Any:
    """From a profile to sRGB: None where it is sRGB already, or not for RGB."""
    from PIL import ImageCms  # missing where littlecms is

    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    if source.profile.xcolor_space.strip() != "RGB" or "sRGB" in (ImageCms.getProfileDescription(source) or ""):
        return None
    return ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), "RGB", "RGB")


def to_srgb(picture: Image.Image, profile: object, seen: Counter[str]) -> Image.Image:
    """The picture's colours in sRGB. A broken profile says nothing about the pixels, so it is ignored and counted.

    Args:
        picture: mode RGB.
        profile: the bytes of its ICC profile, or None.
        seen: counts what became of it.
    """
    if not isinstance(profile, bytes) or not profile:
        return picture
    if not features.check("littlecms2"):
        seen[IGNORED] += b"sRGB" not in profile
        return picture
    try:
        transform = _transform(profile)
    except Exception:  # noqa: BLE001 - ImageCms raises PyCMSError, OSError, ValueError, TypeError on profiles that make no sense
        seen[BROKEN] += 1
        return picture
    if transform is None:
        return picture
    from PIL import ImageCms

    seen[CONVERTED] += 1
    return ImageCms.applyTransform(picture, transform) or picture
