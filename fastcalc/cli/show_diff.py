"""``fastcalc diff``: two entries side by side."""

from fastcalc.cli import requests
from fastcalc.cli.answers import Found
from fastcalc.cli.commands.catalogue import DiffEntries
from fastcalc.cli.show_entries import find, next_of
from fastcalc.errors import InputError
from fastcalc.report import diff


def run(asked: DiffEntries) -> Found:
    """Compare two entries of one kind in a format."""
    catalogue = requests.catalogue(asked)
    one, two = find(catalogue, asked.left), find(catalogue, asked.right)
    if type(one) is not type(two):
        kinds = [type(entry).__name__.lower() for entry in (one, two)]
        raise InputError(
            f"{asked.left} is of kind {kinds[0]} and {asked.right} of kind {kinds[1]}; compare two "
            "of one kind"
        )
    return Found(
        lambda _: [
            *diff.diff_parts(one, two),
            *next_of(asked, [asked.left, asked.right], [one, two]),
        ],
        lambda: diff.diff_records(one, two),
    )
