"""The figures as a table for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from typing import Any

from convert.errors import human

WIDTH = 80
SHORT = {"float16": "f16", "float32": "f32", "uint8": "u8"}


def short(name: str) -> str:
    """A row's name with the type of its pixels in few letters."""
    return " ".join(SHORT.get(word, word) for word in name.split())


def _number(value: float | None, unit: str = "") -> str:
    if value is None:
        return "-"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}{unit}"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Columns as wide as their widest cell; the first one is text."""
    cells = [head, *rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    return [
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in cells
    ]


def _costs(told: dict[str, Any]) -> list[str]:
    rows = []
    for row in told["rows"]:
        bake, pays = row["conversion"], row["pays_after_epochs"]
        pace = [_number(bake and bake["full_seconds"]), _number(bake and bake["pictures_per_s"])]
        rows.append(
            [short(row["name"]), *pace, human(row["full_bytes"]), "yes" if row["fits_ram"] else "no", "-" if pays is None else str(pays)]
        )
    return _table(["", "bake s", "pict./s", "on disk", "in RAM", "paid after"], rows)


def _kind(told: dict[str, Any], kind: str) -> list[str]:
    rows = []
    for row in told["rows"]:
        one = row[kind]
        if one is None:
            continue
        low, high = one["epoch_s_spread"]
        spread = f"{50 * (high - low) / one['epoch_s']:.0f}"
        cells = [short(row["name"]), _number(one["epoch_s"]), spread, _number(one["pictures_per_s"]), _number(one["speedup"])]
        rows.append([*cells, *_more(one, kind)])
    return _table(["", "epoch s", "+-%", "pict./s", "faster", *MORE[kind]], rows)


def _gpu(told: dict[str, Any]) -> list[str]:
    """What the GPU says of itself, as far as it does."""
    rows = []
    for row in told["rows"]:
        seen = row["training"]["gpu"] if row["training"] else {}
        if seen:
            memory = human(seen.get("memory", seen["allocated"]))
            rows.append([short(row["name"]), _number(seen.get("utilisation")), memory])
    return ["", *_table(["", "GPU %", "memory"], rows)] if rows else []


MORE = {
    "loader_only": ["1st ms", "MB", "CPU/k"],
    "training": ["bound", "waits", "p95 ms", "max"],
    "cold": ["1st ms", "MB/s", "resident"],
}
"""Further columns."""


def _more(one: dict[str, Any], kind: str) -> list[str]:
    if kind == "loader_only":
        return [_number(1e3 * one["first_batch_s"]), _number(one["memory"] / 1e6), _number(one["cpu_s_per_1000"])]
    if kind == "training":
        wait = one["wait_ms"]
        return [f"{100 * one['of_bound']:.0f} %", f"{100 * one['shares']['waiting']:.0f} %", _number(wait["p95"]), _number(wait["max"])]
    state = f"{100 * one['resident_before']:.0f} %" + (" WARM" if one["stayed_warm"] else "")
    return [_number(1e3 * one["first_batch_s"]), _number(one["disk_mb_per_s"]), state]


def machine(told: dict[str, Any]) -> list[str]:
    """On what was measured, and what."""
    here, counts, asked = told["machine"], told["pictures"], told["asked"]
    gpu = here["gpu"]["name"] if here["gpu"] else "no GPU used: figures are those of a CPU"
    pictures = f"{counts['measured']:,} pictures, batch {counts['batch']}, augment {asked['augment']}, rounds {asked['epochs']}"
    if counts["scaled"]:
        pictures += f"; epochs, bytes and bake seconds are SCALED to the full set of {counts['full']:,}"
    lines = [
        f"{here['node']}: {here['processor']}, {here['cores']} cores, {human(here['memory'])}; {gpu}",
        f"prebake {here['prebake']}, torch {here['torch']}, torchvision {here['torchvision']}, {here['variant']} {here['pillow']}, "
        f"libjpeg {here['libjpeg']}, Python {here['python']}, Linux {here['kernel']}",
        f"bakes on {here['bakes_on']['device']} ({here['bakes_on']['file_system']}); load before: {here['load_before']:.1f}",
        pictures,
        f"same labels in the same order for all rows: {told['labels']}",
    ]
    return [part for line in lines for part in textwrap.wrap(line, WIDTH, subsequent_indent="  ")]


def table(told: dict[str, Any]) -> str:
    """All of it."""
    lines = [*machine(told), "", *_costs(told), "", "loader only, warm page cache", *_kind(told, "loader_only")]
    if told["bound"]:
        asked = told["asked"]
        precision = "autocast" if asked["amp"] else "float32"
        lines += ["", f"training {asked['model']} on {asked['device']}, {precision}, warm page cache"]
        lines += [
            f"upper bound, one cached batch: {told['bound']['pictures_per_s']:,.0f} pictures/s",
            *_kind(told, "training"),
            *_gpu(told),
        ]
    if told["rows"][0]["cold"]:
        lines += ["", "cold: pages dropped, from opening on, workers' start included", *_kind(told, "cold")]
    notes = [line for note in told["notes"] for line in textwrap.wrap(f"NOTE: {note}", WIDTH, subsequent_indent="  ")]
    return "\n".join([*lines, "", *notes, *textwrap.wrap(told["verdict"], WIDTH)])
