"""What a person reads after a bake."""

from __future__ import annotations

import importlib.util
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from convert.errors import counted, human, printable
from convert.image.depth import DARK
from convert.image.depth import SEEN as WIDE
from convert.manifest import Manifest
from convert.packed import Packed
from convert.preview import PREVIEW

WARNING = (
    "WARNING: {} of {} 16-bit pictures use less than a tenth of the 16-bit range, so they are nearly black or all alike: bake again with "
    "--window LO:HI, or --window auto"
)


def _tally(title: str, counts: Counter[str]) -> str:
    """How often each, over as many lines of 80 columns as it takes."""
    text = f"{title}: {', '.join(f'{what} {count:,}' for what, count in sorted(counts.items()))}"
    return "\n".join(textwrap.wrap(text, 80, subsequent_indent="    "))


def summary(out: Path, manifest: Manifest, packed: Sequence[Packed], seconds: float, *, duplicates: str = "") -> str:
    """The block that is shown when the bake is complete; `duplicates` is a sentence, or empty."""
    rejects = Counter(reason for done in packed for _, reason, _ in done.rejects)
    rejected = sum(rejects.values())
    candidates = manifest.count + rejected
    stored = sum(shard.bytes for shard in manifest.shards) + sum(file.bytes for file in manifest.files)
    rate = f"{seconds:.1f} s, {candidates / max(seconds, 1e-9):,.0f} pictures/s"
    done_to = sum((done.seen for done in packed), Counter[str]())
    kinds = {
        "class": counted(len(manifest.classes), "class"),
        "values": f"{counted(manifest.target.width, 'value')} each",
        "none": "no labels",
    }
    drawn = any(file.name == PREVIEW for file in manifest.files)
    return "\n".join(
        [
            f"{counted(candidates, 'picture')} = {manifest.count:,} written + {rejected:,} rejected",
            *([_tally("rejected, see rejects.csv", rejects)] if rejects else []),
            *([_tally("among the written", done_to)] if done_to else []),
            *(["\n".join(textwrap.wrap(WARNING.format(done_to[DARK], done_to[WIDE]), 80))] if done_to[DARK] else []),
            *textwrap.wrap(duplicates, 80, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False),
            f"{kinds[manifest.target.kind]}, {human(stored)} in {counted(len(manifest.shards), 'shard')}, {rate}",
            f"in {printable(out)}: samples.csv says which picture is where{f', {PREVIEW} shows some' if drawn else ''}",
            *([] if importlib.util.find_spec("torch") else ["to read it, install torch: make install, or pip install 'prebake[train]'"]),
            "",
            "    from readers import open_dataset",
            f"    dataset = open_dataset({str(out)!r})",
        ]
    )
