"""Replaces Pillow by Pillow-SIMD in the environment that runs this file, where it can be built; otherwise leaves Pillow alone.

Both are called `PIL` and share a folder, so they must never be installed together: the wheel is built first, then both are removed, and
then the wheel goes in. pip puts Pillow back over it whenever something that wants `pillow` is installed, so this runs last of all installs.
"""

import importlib.metadata
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq"]
PROBE = "#include <stdio.h>\n#include <Python.h>\n#include <jpeglib.h>\n#include <zlib.h>\nint main(void) { return 0; }\n"
WORKS = """
import io
from PIL import Image, __version__
Image.new("RGB", (9, 9)).resize((5, 5), Image.Resampling.BILINEAR).save(picture := io.BytesIO(), "JPEG")
Image.open(picture).load()
raise SystemExit(".post" not in __version__)
"""


def say(message: str) -> None:
    """One line for the user."""
    sys.stderr.write(f"prebake: {message}\n")


def installed() -> set[str]:
    """Which of the two pip believes to be there."""
    names = {(dist.metadata["Name"] or "").lower().replace("_", "-") for dist in importlib.metadata.distributions()}
    return names & {"pillow", "pillow-simd"}


def can_compile() -> bool:
    """Whether a C compiler finds the headers that Pillow-SIMD cannot be built without."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, "probe.c")
        probe.write_text(PROBE, encoding="utf-8")
        command = [*compiler, "-I", sysconfig.get_path("include"), "-c", str(probe), "-o", str(probe.with_suffix(".o"))]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:
            return False


def build(wheels: Path) -> bool:
    """Leave a wheel of Pillow-SIMD in `wheels`, unless one is there. False, and a line that says what to do, when it cannot be had."""
    if any(wheels.glob("*.whl")):
        return True
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        say("Pillow-SIMD is for x86 only: keeping Pillow.")
        return False
    if not can_compile():
        say(
            "keeping Pillow; for Pillow-SIMD, which resizes several times as fast: apt-get install gcc python3-dev libjpeg-dev zlib1g-dev "
            f"(optional: libwebp-dev liblcms2-dev libtiff-dev libfreetype-dev), rm -r {wheels.parent}, and make again."
        )
        return False
    say("building Pillow-SIMD, once ...")
    wheels.mkdir(parents=True, exist_ok=True)
    log = wheels / "build.log"
    # A cached wheel may have been built against libraries that are gone.
    command = [*PIP, "wheel", "--no-cache-dir", "--no-deps", "--no-binary", "pillow-simd", "--wheel-dir", str(wheels), "pillow-simd"]
    with log.open("wb") as out:
        built = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode == 0
    if not built:
        say(f"keeping Pillow: Pillow-SIMD could not be built, see {log}")
    return built


def install(wheels: Path) -> bool:
    """Put the wheel in Pillow's place; False when what is there afterwards does not work as Pillow-SIMD."""
    subprocess.run([*PIP, "uninstall", "--yes", *sorted(installed())], check=True)
    command = [*PIP, "install", "--no-deps", "--no-index", "--find-links", str(wheels), "pillow-simd"]
    return subprocess.run(command, check=False).returncode == 0 and works()


def works() -> bool:
    """Whether a fresh interpreter imports Pillow-SIMD and it resizes, writes and reads a JPEG."""
    return subprocess.run([sys.executable, "-c", WORKS], capture_output=True, check=False).returncode == 0


def restore() -> None:
    """Only Pillow, whole."""
    subprocess.run([*PIP, "uninstall", "--yes", "pillow-simd"], check=True)
    subprocess.run([*PIP, "install", "--force-reinstall", "--no-deps", "pillow"], check=True)


def main() -> int:
    """Make the swap; the argument is the folder where the wheel is kept."""
    wheels = Path(sys.argv[1])
    if installed() == {"pillow-simd"} and works():
        return 0
    if not build(wheels):
        if "pillow-simd" in installed():
            restore()
    elif not install(wheels):
        restore()
        shutil.rmtree(wheels)
        say("keeping Pillow: Pillow-SIMD was built but does not work here.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
