"""Draws the sample data set: photo-like JPEGs of ten shapes, one folder each, the same bytes every time.

Each picture is a textured shape on a background of 1/f noise. The texture gives the files the size that photographs have (about 100 KB),
so that baking the sample costs what baking photographs costs; shape and hue tell the classes apart, so that a small network can learn them.
"""

import argparse
import colorsys
import math
import os
import shutil
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

SIZES = [(500, 375), (375, 500), (400, 300), (640, 480), (500, 333), (500, 500)]
HUES = {
    "amber_ring": 0.11,
    "blue_star": 0.62,
    "crimson_heart": 0.95,
    "green_square": 0.36,
    "lime_hexagon": 0.22,
    "magenta_cross": 0.86,
    "orange_arrow": 0.06,
    "red_disc": 0.0,
    "teal_triangle": 0.49,
    "violet_crescent": 0.75,
}
"""Class names and the hue, in turns of the colour wheel, that each is drawn in."""

Point = tuple[float, float]


def regular(corners: int, inner: float = 1.0) -> list[Point]:
    """A regular polygon in the unit circle, or a star when every second corner lies at radius `inner`."""
    steps = corners if inner == 1.0 else 2 * corners
    radii = [inner if step % 2 else 1.0 for step in range(steps)]
    return [(radius * math.sin(math.tau * i / steps), -radius * math.cos(math.tau * i / steps)) for i, radius in enumerate(radii)]


def heart() -> list[Point]:
    """The usual curve, in the unit circle."""
    turns = [math.tau * i / 60 for i in range(60)]
    waves = [13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t) for t in turns]
    return [(math.sin(t) ** 3, -wave / 17) for t, wave in zip(turns, waves, strict=True)]


def crescent() -> list[Point]:
    """Part of the unit circle, closed by an arc of a circle beside it."""
    outer = [(math.cos(t), math.sin(t)) for t in np.linspace(0.35, math.tau - 0.35, 50).tolist()]
    inner = [(0.55 + 0.53 * math.cos(t), 0.53 * math.sin(t)) for t in np.linspace(math.tau - 0.7, 0.7, 40).tolist()]
    return [(x - 0.1, y) for x, y in outer + inner]


CROSS: list[Point] = [(-0.3, -1), (0.3, -1), (0.3, -0.3), (1, -0.3), (1, 0.3), (0.3, 0.3)]
OUTLINES: dict[str, list[Point]] = {
    "arrow": [(0, -1), (0.8, 0), (0.3, 0), (0.3, 1), (-0.3, 1), (-0.3, 0), (-0.8, 0)],
    "crescent": crescent(),
    "cross": CROSS + [(-x, -y) for x, y in CROSS],
    "disc": regular(60),
    "heart": heart(),
    "hexagon": regular(6),
    "ring": regular(60),
    "square": [(-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)],
    "star": regular(5, 0.42),
    "triangle": regular(3),
}


def texture(size: tuple[int, int], roughness: float, random: np.random.RandomState) -> NDArray[np.float32]:
    """1/f noise around 0, shape (height, width, 3): octaves of random pixels, each enlarged to `size` and weighted by its cell's width."""
    grey = np.zeros((size[1], size[0]), np.float32)
    colour = np.zeros((size[1], size[0], 3), np.float32)
    for cell in (1, 2, 4, 8, 16, 32, 64, 128):
        # A photograph's detail is mostly in its brightness; only what is large differs in colour.
        total = grey if cell < 32 else colour
        small = random.randint(0, 256, (size[1] // cell + 2, size[0] // cell + 2, *total.shape[2:]), dtype=np.uint8)
        octave = Image.fromarray(small).resize(size, Image.Resampling.BILINEAR)
        total += (np.asarray(octave, np.float32) - 128) * np.float32((cell / 128) ** roughness)
    return colour * np.float32(0.6) + grey[:, :, None] * np.float32(1.1)


def mask(shape: str, size: tuple[int, int], random: np.random.RandomState) -> Image.Image:
    """The shape somewhere about the middle, 0 to 255, smooth at the edge: drawn at twice the size."""
    radius = min(size) * random.uniform(0.28, 0.42)
    angle = random.uniform(-0.3, 0.3)
    middle = [side / 2 + random.uniform(-1, 1) * (side / 2 - radius) * 0.5 for side in size]
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    corners = np.array(OUTLINES[shape]) @ turn * radius
    large = Image.new("L", (size[0] * 2, size[1] * 2))
    draw = ImageDraw.Draw(large)
    draw.polygon([(float(x), float(y)) for x, y in (corners + middle) * 2], fill=255)
    if shape == "ring":
        draw.polygon([(float(x), float(y)) for x, y in (corners * 0.55 + middle) * 2], fill=0)
    return large.resize(size, Image.Resampling.BOX)


def picture(name: str, number: int) -> Image.Image:
    """One picture, told by its class and its number alone."""
    # RandomState, since NumPy promises that its stream never changes.
    random = np.random.RandomState([sorted(HUES).index(name), number])
    size = SIZES[random.randint(len(SIZES))]
    noise = texture(size, random.uniform(0.05, 0.45), random)
    hue = HUES[name] + random.uniform(-0.02, 0.02)
    colour = colorsys.hsv_to_rgb(hue % 1, random.uniform(0.75, 0.95), random.uniform(0.6, 0.95))
    ground = colorsys.hsv_to_rgb(random.uniform(), 0.25, random.uniform(0.35, 0.75))
    stencil = mask(name.split("_")[1], size, random)
    inside = np.asarray(stencil, np.float32)[:, :, None] / 255
    shadow = np.asarray(stencil.filter(ImageFilter.BoxBlur(size[0] // 30)), np.float32)[:, :, None] / 255
    light = np.linspace(random.uniform(0.8, 1.2), random.uniform(0.8, 1.2), size[0], dtype=np.float32)[None, :, None]
    back = (np.array(ground, np.float32) * 255 + noise * np.float32(0.45)) * (1 - shadow * np.float32(0.4))
    front = np.array(colour, np.float32) * 255 + noise[::-1] * np.float32(0.25)
    levels = (back + (front - back) * inside) * light
    return Image.fromarray(levels.clip(0, 255).astype(np.uint8))


def make_sample(folder: Path, count: int) -> None:
    """Draw `count` pictures into a folder beside the one asked for, and rename that: what is called `folder` is whole."""
    partial = folder.absolute().with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        for index in range(count):
            name = sorted(HUES)[index % len(HUES)]
            path = partial / name / f"{index // len(HUES):04d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            picture(name, index // len(HUES)).save(path, quality=93)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def main() -> int:
    """Draw the sample, unless something is there already."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", metavar="OUTDIR", type=Path)
    parser.add_argument("--count", type=int, default=300, help="pictures in all (300)")
    options = parser.parse_args()
    if options.folder.exists():
        sys.stderr.write(f"{options.folder} is there already: nothing done\n")
        return 0
    make_sample(options.folder, options.count)
    sys.stderr.write(f"{options.folder}: {options.count} pictures in {len(HUES)} classes\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
