"""``fastcalc claims``: what articles say, and what the numbers say of it."""

from pathlib import Path

from fastcalc.articles.claim_file import read_claims
from fastcalc.articles.judge import MEANING, Judged, judge
from fastcalc.catalogue.schema.claims import Claim, Claims
from fastcalc.catalogue.store import Catalogue, nearest
from fastcalc.cli import options, output
from fastcalc.errors import InputError
from fastcalc.report import claims as report
from fastcalc.report import console, records
from fastcalc.written import shown, to_csv, to_markdown


def run(
    catalogue: Catalogue,
    path: Path | None,
    *,
    only: str | None,
    explain: str | None,
    format: str,  # noqa: A002
    file: Path | None,
) -> None:
    """Judge the claims of a file, or one of them, and write them in a format."""
    format = options.choice(format, "--format", ("table", "json", "csv", "markdown"))  # noqa: A001
    wanted = [options.choice(one, "--only", tuple(MEANING)) for one in _verdicts(only)]
    book, document = read_claims(path)
    claims = book.claims if explain is None else [_claim(book, explain)]
    judged = [
        one for one in judge(catalogue, claims, document) if not wanted or one.verdict in wanted
    ]
    if not judged:
        raise InputError(f"no claim is {' or '.join(wanted)}")
    output.write(_text(judged, book, format, is_one=explain is not None, file=file), file)


def _text(
    judged: list[Judged],
    book: Claims,
    format: str,  # noqa: A002
    *,
    is_one: bool,
    file: Path | None,
) -> str:
    if format == "table" and is_one:
        return report.explain(judged[0], book, min(console.output_width(), 100))
    if format == "table":
        colour = file is None and console.wants_colour()
        return report.table(judged, console.output_width(), colour=colour)
    if format == "markdown":
        return to_markdown(*report.rows(judged))
    rows = report.claim_records(judged, book)
    if format == "json":
        return records.to_json(rows, verdicts=dict(MEANING))
    return to_csv([report.flat(row) for row in rows])


def _verdicts(only: str | None) -> list[str]:
    return [] if only is None else options.names(only, "--only")


def _claim(book: Claims, name: str) -> Claim:
    known = {claim.id: claim for claim in book.claims}
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {' or '.join(near)}?" if near else "'fastcalc claims' lists them"
        raise InputError(f"no claim is called '{shown(name)}'; {hint}")
    return known[name]
