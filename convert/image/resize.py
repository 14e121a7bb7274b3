"""Sizes and crops: where a picture's pixels go, and Pillow's antialiased resize that takes them there."""

from typing import NamedTuple

from PIL import Image

FILTERS = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
FREE = ("short", "long")
"""The methods that keep a picture's shape, so that rows differ in size."""
LARGEST = 1 << 24
"""Pixels that a resized picture may have before it is cropped."""


class Placement(NamedTuple):
    """A picture is resized to `height` x `width`; its top left corner then lies at (`top`, `left`) of the row. All in pixels."""

    height: int
    width: int
    top: int
    left: int


def place(height: int, width: int, size: tuple[int, int], method: str, *, upscale: bool = False) -> Placement:
    """Where a picture of `height` x `width` goes in a row of `size` (height, width).

    `center-crop` is torchvision's `Resize(s)`, whose long side is `int(s * long / short)`, then `CenterCrop(s)`, which crops at
    `int(round((long - s) / 2))`; for two different sides, the picture covers the row. `pad` fits the picture into the row. No side falls
    below one pixel.

    `short` and `long` keep the shape: that side becomes `size[0]`, the other one follows as in torchvision's `Resize(s)`, and the row is as
    large as the picture. Smaller pictures stay as they are unless `upscale`.
    """
    if method in FREE:
        side = min(height, width) if method == "short" else max(height, width)
        to = size[0] if side > size[0] or upscale else side
        return Placement(max(1, to * height // side), max(1, to * width // side), 0, 0)
    to_height, to_width = size
    if method == "stretch":
        return Placement(to_height, to_width, 0, 0)
    taller = height * to_width >= to_height * width  # the picture is taller in shape than the row
    if taller == (method == "center-crop"):
        new = max(1, to_width * height // width), to_width
    else:
        new = to_height, max(1, to_height * width // height)
    if method == "pad":
        return Placement(*new, (to_height - new[0]) // 2, (to_width - new[1]) // 2)
    return Placement(*new, -round((new[0] - to_height) / 2), -round((new[1] - to_width) / 2))


def kept_share(height: int, width: int, size: tuple[int, int], method: str) -> float:
    """Which part of a picture's area ends up in the row, 0 to 1."""
    if method in FREE:
        return 1.0
    at = place(height, width, size, method)
    return min(1.0, size[0] / at.height) * min(1.0, size[1] / at.width)


def fit(picture: Image.Image, at: Placement, size: tuple[int, int], name: str) -> Image.Image:
    """Resize, then crop or pad with black: a picture of `size` (height, width)."""
    if at.height * at.width > max(LARGEST, size[0] * size[1]):
        return _fit_part(picture, at, size, name)
    resized = picture if picture.size == (at.width, at.height) else picture.resize((at.width, at.height), FILTERS[name])
    if at.top > 0 or at.left > 0:  # `pad`; its picture never exceeds the row
        row = Image.new(picture.mode, (size[1], size[0]))
        row.paste(resized, (at.left, at.top))
        return row
    box = (-at.left, -at.top, size[1] - at.left, size[0] - at.top)
    return resized if box == (0, 0, *resized.size) else resized.crop(box)


def _fit_part(picture: Image.Image, at: Placement, size: tuple[int, int], name: str) -> Image.Image:
    """Resize only what the row keeps: a 4000 x 3 picture that covers 256 x 256 would be 341,333 pixels wide on the way.

    Within a level of the long way, whose coefficients are rounded elsewhere.
    """
    across, down = picture.width / at.width, picture.height / at.height
    right, bottom = min((size[1] - at.left) * across, picture.width), min((size[0] - at.top) * down, picture.height)
    return picture.resize((size[1], size[0]), FILTERS[name], box=(-at.left * across, -at.top * down, right, bottom))
