"""The options that say where labels come from, as Click sees them."""

from __future__ import annotations

import csv
from typing import Any

import click

from convert.option_types import FOLDER


class Columns(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic in newer Clicks only
    """`A,B,C`, as a line of CSV: a name with a comma in it stands in quotes."""

    name = "A,B,C"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """See Click."""
        names = tuple(name.strip() for name in next(csv.reader([value]), []))
        if not names or not all(names):
            self.fail(f"{value!r} does not name columns: give their names with commas", param, ctx)
        return names


LABELS = [
    click.option("--labels", type=FOLDER, metavar="FILE", help="Labels from a table (.csv .tsv .jsonl .txt), not from folders' names."),
    click.option("--path", metavar="COLUMN", help="Its column of pictures, or a template: '{patient}/{image}.png'.  [by its name]"),
    click.option("--label", metavar="COLUMN", help="Its column of classes: names, or numbers from 0.  [by its name]"),
    click.option("--target", type=Columns(), help="Store these columns as float32 values instead; blank is NaN."),
    click.option("--label-sep", metavar="SEP", help="What stands between several names in a label: store 0 or 1 for each name."),
    click.option("--label-map", type=FOLDER, metavar="FILE", help="A class name for each label, such as ImageNet's map_clsloc.txt."),
    click.option("--without-boxes", is_flag=True, help="Bake the pictures alone where boxes or masks lie beside them."),
]
"""In the order of the help."""
NAMES = ("labels", "path", "label", "target", "label_sep", "label_map", "without_boxes")
