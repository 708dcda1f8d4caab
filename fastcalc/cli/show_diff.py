"""``fastcalc diff``: two entries side by side."""

from pathlib import Path

from fastcalc.catalogue.store import Catalogue
from fastcalc.cli import options, output
from fastcalc.cli.show_entries import find
from fastcalc.errors import InputError
from fastcalc.report import console, diff, records


def run(catalogue: Catalogue, left: str, right: str, format: str, file: Path | None) -> None:  # noqa: A002
    """Compare two entries of one kind in a format."""
    format = options.choice(format, "--format", ("table", "json", "csv"))  # noqa: A001
    one, two = find(catalogue, left), find(catalogue, right)
    if type(one) is not type(two):
        kinds = [type(entry).__name__.lower() for entry in (one, two)]
        raise InputError(
            f"{left} is of kind {kinds[0]} and {right} of kind {kinds[1]}; compare two of one kind"
        )
    if format == "table":
        colour = file is None and console.wants_colour()
        parts = diff.diff_parts(one, two)
        output.write(console.render(parts, console.output_width(), colour=colour), file)
        return
    output.write(records.as_text(format, diff.diff_records(one, two)), file)
