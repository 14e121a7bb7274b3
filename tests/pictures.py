"""Draws the pictures that tests use: smooth gradients and noise, as in a photograph, the same for the same seed."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

NOISE = 12.0
"""Amplitude of the noise, in levels."""


def photo(seed: int, height: int, width: int) -> Image.Image:
    """An RGB picture: a few waves in each channel, and noise."""
    random = np.random.default_rng([seed, height, width])
    rows, columns = np.mgrid[0:height, 0:width] / max(height, width)
    levels = np.full((height, width, 3), 128.0)
    for channel in range(3):
        for frequency in (1.0, 2.5, 6.0):
            angle, phase = random.uniform(0, 2 * np.pi, 2)
            wave = np.sin(2 * np.pi * frequency * (np.cos(angle) * columns + np.sin(angle) * rows) + phase)
            levels[:, :, channel] += wave * 60 / frequency
    levels += random.uniform(-NOISE, NOISE, levels.shape)
    return Image.fromarray(levels.clip(0, 255).astype(np.uint8))


def encoded(image: Image.Image, format: str, **options: Any) -> bytes:
    """A file's bytes, in any format and with any options that Pillow knows."""
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def jpeg(image: Image.Image, quality: int = 90, **options: Any) -> bytes:
    """A JPEG file's bytes; the options are those of Pillow's `save`."""
    return encoded(image, "JPEG", quality=quality, **options)


def png(image: Image.Image, **options: Any) -> bytes:
    """A PNG file's bytes."""
    return encoded(image, "PNG", **options)


def image_folder(root: Path, classes: dict[str, int], seed: int = 0) -> Path:
    """A folder for each class with so many JPEGs in it, all different, with sides from 48 to 127 pixels. Returns `root`."""
    random = np.random.default_rng(seed)
    for name, count in classes.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            height, width = random.integers(48, 128, 2).tolist()
            picture = photo(int(random.integers(1 << 31)), height, width)
            (root / name / f"{number:04d}.jpg").write_bytes(jpeg(picture))
    return root


def with_segment(data: bytes, payload: bytes, marker: int = 0xE1) -> bytes:
    """A JPEG with one more segment (APP1 unless told), in front of all others."""
    return data[:2] + struct.pack(">BBH", 0xFF, marker, len(payload) + 2) + payload + data[2:]


def png_chunk(name: bytes, payload: bytes) -> bytes:
    """A chunk of a PNG, with its length and checksum."""
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))


def raw_png(rows: bytes, size: tuple[int, int], depth: int, colour: int) -> bytes:
    """A PNG of `size` (width, height), by its header, whatever rows there are."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b"")


def with_chunk(data: bytes, name: bytes, payload: bytes) -> bytes:
    """A PNG with one more chunk, after its header."""
    header = 8 + 12 + 13
    return data[:header] + png_chunk(name, payload) + data[header:]
