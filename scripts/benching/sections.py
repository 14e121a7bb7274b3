"""The figures of the bench as tables: their words, units and digits."""

from __future__ import annotations

from typing import Any

from benching.table import Section, number, plain, spread
from convert.errors import human

SHORT = {"float16": "f16", "float32": "f32", "uint8": "u8", "uint16": "u16"}


def short(name: str) -> str:
    """A row's name with the type of its pixels in few letters."""
    return " ".join(SHORT.get(word, word) for word in name.split())


def _costs(told: dict[str, Any]) -> Section:
    rows = []
    for row in told["rows"]:
        bake, pays = row["conversion"], row["pays_after_epochs"]
        pace = [number(bake and bake["full_seconds"]), number(bake and bake["pictures_per_s"])]
        rows.append(
            [short(row["name"]), *pace, human(row["full_bytes"]), "yes" if row["fits_ram"] else "no", "-" if pays is None else str(pays)]
        )
    return Section(
        "costs; bakes without a time were there before; paid after so many epochs",
        ["", "bake s", "pict./s", "on disk", "in RAM", "paid after"],
        rows,
    )


def _kind(told: dict[str, Any], kind: str, title: str) -> Section:
    rows = []
    for row in told["rows"]:
        one = row[kind]
        if one is None:
            continue
        low, high = one["epoch_s_spread"]
        cells = [short(row["name"]), number(one["epoch_s"]), spread(low, high, one["epoch_s"])]
        cells += [number(one["pictures_per_s"]), number(one["speedup"])]
        rows.append([*cells, *_more(one, kind)])
    return Section(title, ["", "epoch s", "+-%", "pict./s", "faster", *MORE[kind]], rows)


def _waits(told: dict[str, Any]) -> Section:
    """How long the model waits for data."""
    rows = []
    for row in told["rows"]:
        if one := row["training"]:
            waits = [number(one["wait_ms"][name]) for name in ("median", "p95", "max")]
            rows.append([short(row["name"]), f"{100 * one['shares']['waiting']:.0f} %", *waits])
    return Section("waiting for data in training: share of the time, and ms per step", ["", "waits", "median", "p95", "max"], rows)


def _gpu(told: dict[str, Any]) -> Section:
    """What the GPU says of itself, as far as it does: all of it busy, and what torch took of its memory."""
    rows = []
    for row in told["rows"]:
        seen = row["training"]["gpu"] if row["training"] else {}
        if seen:
            rows.append([short(row["name"]), number(seen.get("utilisation")), human(seen["allocated"]) if "allocated" in seen else "-"])
    return Section("the GPU in training", ["", "busy %", "memory"], rows)


MORE = {
    "loader_only": ["1st ms", "MB", "CPU/k"],
    "training": ["bound"],
    "cold": ["1st ms", "MB/s", "resident"],
}
"""Further columns."""


def _more(one: dict[str, Any], kind: str) -> list[str]:
    if kind == "loader_only":
        return [number(1e3 * one["first_batch_s"]), number(one["memory"] / 1e6), number(one["cpu_s_per_1000"])]
    if kind == "training":
        return [f"{100 * one['of_bound']:.0f} %"]
    state = f"{100 * one['resident_before']:.0f} %" + (" WARM" if one["stayed_warm"] else "")
    return [number(1e3 * one["first_batch_s"]), number(one["disk_mb_per_s"]), state]


def about(told: dict[str, Any]) -> list[str]:
    """On what was measured, and what; a line for each."""
    counts, asked = told["pictures"], told["asked"]
    pictures = f"{counts['measured']:,} pictures, batch {counts['batch']}, augment {asked['augment']}, rounds {asked['epochs']}"
    if counts["scaled"]:
        pictures += f"; epochs, bytes and bake seconds are SCALED to the full set of {counts['full']:,}"
    tuned = "".join(f"; {row['name']}: {row['setup']}" for row in told["rows"] if row["role"] == "tuned")
    return [*here(told["machine"]), pictures + tuned, f"same labels in the same order for all rows: {told['labels']}"]


def here(machine: dict[str, Any]) -> list[str]:
    """On what was measured."""
    gpu = machine["gpu"]["name"] if machine["gpu"] else "no GPU used: figures are those of a CPU"
    return [
        f"{machine['node']}: {machine['processor']}, {machine['cores']} cores, {human(machine['memory'])}; {gpu}",
        f"prebake {machine['prebake']}, torch {machine['torch']}, torchvision {machine['torchvision']}, "
        f"{machine['variant']} {machine['pillow']}, libjpeg {machine['libjpeg']}, Python {machine['python']}, Linux {machine['kernel']}",
        f"bakes on {machine['bakes_on']['device']} ({machine['bakes_on']['file_system']}); load before: {machine['load_before']:.1f}",
    ]


def sections(told: dict[str, Any]) -> list[Section]:
    """All tables."""
    asked, found = told["asked"], [_costs(told), _kind(told, "loader_only", "loader only, warm page cache")]
    if told["bound"]:
        where = f"training {asked['model']} on {asked['device']}, {told['precision']}, warm page cache"
        bound = f"upper bound, one cached batch: {told['bound']['pictures_per_s']:,.0f} pictures/s"
        found += [_kind(told, "training", f"{where}; {bound}"), _waits(told), _gpu(told)]
    if told["rows"][0]["cold"]:
        found.append(_kind(told, "cold", "cold: one pass, pages dropped, from opening on, workers' start included"))
    return [one for one in found if one.rows]


def table(told: dict[str, Any]) -> str:
    """All of it."""
    return plain(about(told), sections(told), last(told))


def last(told: dict[str, Any]) -> list[str]:
    """What is said below the tables."""
    return [*(f"NOTE: {note}" for note in told["notes"]), told["verdict"]]
