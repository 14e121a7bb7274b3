"""Says what is installed where, and what the machine lets a process use."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from importlib import metadata
from pathlib import Path

from convert import __version__
from convert.errors import human, printable
from convert.image.pillow import is_simd, pillow_versions
from convert.machine import cores, memory
from convert.registry import format_names, load_format

DISTRIBUTIONS = ("numpy", "click", "tqdm", "lmdb", "h5py", "webdataset", "simplejpeg", "torch", "torchvision")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _where(package: str) -> str:
    found = importlib.util.find_spec(package)
    return printable(Path(found.origin).parent) if found and found.origin else "not found"


def _pillow() -> list[tuple[str, str]]:
    from PIL import features  # only doctor asks

    versions = pillow_versions()
    both = all(_version(name) != "not installed" for name in ("pillow", "pillow-simd"))
    reads = [name for name in ("jpg", "zlib", "webp", "libtiff", "littlecms2", "avif") if name in features.get_supported()]
    lines = [("Pillow", f"{versions['variant']} {versions['pillow']}, libjpeg {versions['libjpeg']}, with {' '.join(reads)}")]
    if both:
        lines.append(("", "pillow and pillow-simd are both installed, over each other: pip uninstall both, then install one"))
    elif not is_simd():
        lines.append(("", "Pillow-SIMD makes decode + resize faster: see the README"))
    return lines


def examine() -> str:
    """The lines that `prebake doctor` prints."""
    lines = [
        ("prebake", __version__),
        ("Python", f"{platform.python_version()} in {printable(sys.executable)}"),
        ("convert", _where("convert")),
        ("readers", _where("readers")),
        *((name, _version(name)) for name in DISTRIBUTIONS),
        *_pillow(),
    ]
    for name in format_names():
        needs = load_format(name).requires
        missing = needs and importlib.util.find_spec(needs) is None
        lines.append((f"format {name}", f"missing: pip install {needs}" if missing else "ready"))
    shm = Path("/dev/shm")
    usage = shutil.disk_usage(shm) if shm.is_dir() else None
    lines += [
        ("cores", f"{cores()} usable of {os.cpu_count()}"),
        ("memory", human(memory())),
        ("/dev/shm", f"{human(usage.free)} free of {human(usage.total)}" if usage else "none"),
    ]
    return "\n".join(f"{name:<19}{text}" for name, text in lines)
