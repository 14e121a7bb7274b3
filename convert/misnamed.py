"""Files whose names say something else than their content."""

from pathlib import Path

NAMED = {
    **dict.fromkeys([".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"], "JPEG"),
    **dict.fromkeys([".tif", ".tiff"], "TIFF"),
    **dict.fromkeys([".ppm", ".pgm"], "PPM"),
    **{f".{name.lower()}": name for name in ("PNG", "WEBP", "BMP", "GIF")},
}
"""What an extension says."""


def misnamed(key: str, format: str) -> list[str]:
    """What is counted of a file whose name says something else than its content."""
    extension = Path(key).suffix
    named = NAMED.get(extension.lower(), format)
    return [] if format == named else [f"{format} named {extension}"]
