"""Measures how close prebake comes to what this machine allows: ratios inside one run, as a table, or with --json as one object."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import make_sample  # noqa: E402 - beside this file
import measure_cold  # noqa: E402
import measure_convert  # noqa: E402
import measure_feed  # noqa: E402
import measure_jpeg  # noqa: E402
import measure_loader  # noqa: E402
import measure_scan  # noqa: E402
import measure_start  # noqa: E402

from convert.machine import free_disk  # noqa: E402
from convert.registry import format_names  # noqa: E402

LIMITS = {
    "convert_vs_decode": ("at least", 0.70),
    "second_look_share": ("under", 0.01),
    "dataloader_vs_naive": ("at least", 4.0),
    "gather_vs_memcpy_crop": ("at least", 0.6),
    "gather_vs_memcpy_crop_flip": ("at least", 0.4),
    "loader_vs_naive": ("at least", 6.0),
    "lmdb_vs_memmap": ("at least", 0.93),
    "hdf5_vs_memmap": ("at least", 0.93),
    "webdataset_vs_memmap": ("at least", 0.93),
    "cold_vs_pread": ("at least", 0.9),
    "jpeg_vs_decode": ("at least", 0.85),
    "jpeg_resized_vs_decode_resize": ("at least", 0.85),
    "transform_vs_imagefolder_uint8": ("at least", 1.0),
    "transform_vs_imagefolder_jpeg": ("at least", 1.0),
    "loader_rss_mb": ("under", 20.0),
    "help_s": ("under", 0.3),
    "open_million_s": ("under", 0.5),
    "scan_files_per_s": ("at least", 100_000),
    "scan_bytes_per_file": ("under", 300),
}
PRINTED = (
    "gather_vs_memcpy_crop_flip_float32",
    "memcpy_gb_per_s",
    "cold_vs_unasked",
    "first_batch_ms",
    "jpeg_vs_decode_float32",
    "jpeg_resized_vs_decode_resize_float32",
)
NEEDED = 6 << 30


def _memory() -> Path:
    """A folder in memory with enough room, or the temporary one."""
    shm = Path("/dev/shm")
    return shm if shm.is_dir() and free_disk(shm) > NEEDED else Path(tempfile.gettempdir())


def _measure(pictures: Path, work: Path, rounds: int) -> dict[str, Any]:
    found: dict[str, Any] = {"start": measure_start.measure(work, rounds), "convert": measure_convert.measure(pictures, work, rounds)}
    found["scan"] = measure_scan.measure(work, rounds)
    for name in format_names():
        measure_convert.bake(work / "links", work / name, name)
    found["feed"] = measure_feed.measure(work / "memmap", rounds)
    found["loader"] = measure_loader.measure(work, rounds)
    found["jpeg"] = measure_jpeg.measure(work, rounds)
    found["cold"] = measure_cold.measure(work / "memmap", rounds)
    found["machine"] = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
    }
    return found


def _table(found: dict[str, Any]) -> str:
    flat = {name: value for part in found.values() for name, value in part.items()}
    lines = [f"{'':<34}{'measured':>10}  limit"]
    for name, (word, limit) in LIMITS.items():
        good = flat[name] >= limit if word == "at least" else flat[name] < limit
        lines.append(f"{name:<34}{flat[name]:>10.3f}  {word} {limit}{'' if good else '  MISSED'}")
    lines += [f"  {name + ' / decode':<32}{ratio:>10.3f}" for name, ratio in flat["convert_vs_decode_by_format"].items()]
    lines += [
        f"  {name + ', pictures/s':<32}{rate:>10.0f}"
        for part in ("convert", "feed", "loader", "jpeg", "cold")
        for name, rate in found[part]["pictures_per_s"].items()
    ]
    lines += [f"  {name:<32}{flat[name]:>10.3f}" for name in PRINTED]
    simd = flat["pillow_simd"]
    lines.append(
        f"{simd['variant']} {simd['pillow']}, libjpeg {simd['libjpeg']}: {simd['decode_resize_per_s_one_process']:.0f} decode + resize/s"
    )
    return "\n".join(lines)


@click.command()
@click.option(
    "--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Pictures to measure with.  [a generated sample]"
)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Repetitions; medians are shown.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(data: Path | None, rounds: int, as_json: bool) -> None:
    """Measure this machine's limits, and how close prebake comes to them."""
    with tempfile.TemporaryDirectory(dir=_memory(), prefix="prebake-limits-") as folder:
        work = Path(folder)
        if data is None:
            make_sample.make_sample(data := work / "sample", 300)
        found = _measure(data, work, rounds)
    click.echo(json.dumps(found, indent=1) if as_json else _table(found))


if __name__ == "__main__":
    main()
