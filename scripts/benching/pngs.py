"""Draws the charts of a page as PNG files: the few shapes that `charts` uses, at twice their size, with Pillow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from PIL import Image, ImageDraw, ImageFont, features

SCALE, EDGE = 2, 8
ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def _font() -> Any:
    """Of the charts' size, where Pillow can scale letters."""
    return ImageFont.load_default(11 * SCALE) if features.check("freetype2") else ImageFont.load_default()


def _numbers(attributes: dict[str, str], *names: str) -> list[float]:
    return [SCALE * float(attributes[name]) + EDGE for name in names]


def _text(draw: ImageDraw.ImageDraw, attributes: dict[str, str], text: str, font: Any) -> None:
    x, y = _numbers(attributes, "x", "y")
    if isinstance(font, ImageFont.FreeTypeFont):
        draw.text((x, y), text, "black", font, anchor=ANCHORS[attributes["text-anchor"]])
        return
    left, top, right, bottom = draw.textbbox((0, 0), text, font)  # letters of one size know no anchor
    share = {"start": 0.0, "middle": 0.5, "end": 1.0}[attributes["text-anchor"]]
    draw.text((x - share * (right - left), y - (bottom - top)), text, "black", font)


def _shape(draw: ImageDraw.ImageDraw, shape: ElementTree.Element, font: Any) -> None:
    own = dict(shape.attrib)
    if shape.tag == "text":
        _text(draw, own, shape.text or "", font)
    elif shape.tag == "rect":
        x, y = _numbers(own, "x", "y")
        draw.rectangle((x, y, x + SCALE * float(own["width"]), y + SCALE * float(own["height"])), own["fill"])
    elif shape.tag == "line":
        draw.line(_numbers(own, "x1", "y1", "x2", "y2"), "gray")
    elif shape.tag == "polyline":
        draw.line([SCALE * float(number) + EDGE for number in re.split("[ ,]", own["points"])], own["stroke"], 2 * SCALE)


def write(html: str, folder: Path) -> None:
    """Each chart of a page as `1-what-it-shows.png` and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    font = _font()
    for number, svg in enumerate(ElementTree.fromstring(html.split("\n", 1)[1]).iter("svg"), 1):
        width, height = (int(SCALE * float(word)) + 2 * EDGE for word in svg.attrib["viewBox"].split()[2:])
        picture = Image.new("RGB", (width, height), "white")
        draw = ImageDraw.Draw(picture)
        for shape in svg:
            _shape(draw, shape, font)
        title = re.sub("[^a-z0-9]+", "-", svg.attrib["aria-label"].lower()).strip("-")
        picture.save(folder / f"{number}-{title}.png")
