"""Which decoder and resizer is installed: pixels may differ between them, so a bake names them."""

import PIL
import simplejpeg
from PIL import features


def is_simd() -> bool:
    """Whether `PIL` is Pillow-SIMD, whose versions end in `.postN`."""
    return ".post" in PIL.__version__


def pillow_versions() -> dict[str, str]:
    """Versions of all that decides pixels: `pillow`, `variant`, `libjpeg`, `simplejpeg`."""
    return {
        "pillow": PIL.__version__,
        "variant": "Pillow-SIMD" if is_simd() else "Pillow",
        "libjpeg": str(features.version("libjpeg_turbo") or features.version("jpg")),
        "simplejpeg": str(simplejpeg.__version__),
        "littlecms": str(features.version("littlecms2") or "none"),
    }
