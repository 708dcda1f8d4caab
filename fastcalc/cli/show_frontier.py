"""``fastcalc frontier``: user speed against price, the points that no other beats."""

import sys
from dataclasses import replace
from pathlib import Path

from fastcalc.catalogue.formats import number_format, weight_formats
from fastcalc.catalogue.limits import LIMITS
from fastcalc.cli import options, output
from fastcalc.cli.requests import Request
from fastcalc.core.scenario import Scenario
from fastcalc.search import FrontierPoint, frontier, placeable
from fastcalc.written import to_markdown


def run(request: Request, max_chips: int, format: str, file: Path | None) -> int:  # noqa: A002
    """Find the frontier of a request, write it, and return the exit code: 1 if there is none."""
    format = options.choice(format, "--format", ("table", "json", "csv", "markdown"))  # noqa: A001
    options.number(max_chips, "--max-chips", LIMITS["chips searched"], 72)
    scenarios, refused = placeable(_scenarios(request), max_chips)
    points = frontier(scenarios, max_chips=max_chips)
    if not points:
        return _unanswered([*refused, "nothing has both a place and a price"], format, file)
    output.write(_text(request, points, refused, format, to_file=file is not None), file)
    if format != "table":
        warnings = [line for point in points for line in point.outcome.warnings]
        output.warn([*refused, *warnings])
    return 0


def _unanswered(reasons: list[str], format: str, file: Path | None) -> int:  # noqa: A002
    """Write that there is no frontier, and return the exit code."""
    if format != "table":
        from fastcalc.report import frontier, records

        headings, _ = frontier.markdown_rows([])
        output.write(records.nothing(format, records.KEYS, headings, "; ".join(reasons)), file)
    output.warn(reasons)
    return 1


def _scenarios(request: Request) -> list[Scenario]:
    """Return a scenario for each chip, weight format and cache format asked for."""
    weights = options.names_if_any(request.weights, "--weights")
    caches = options.names_if_any(request.kv, "--kv")
    for name in weights or ():
        weight_formats(name)
    for name in caches or ():
        number_format(name, cache=True)
    alone = replace(request, weights=None, kv=None).scenarios()
    return [
        replace(scenario, weights=weight, kv=cache)
        for scenario in alone
        for weight in weights or (None,)
        for cache in caches or (None,)
    ]


def _text(
    request: Request,
    points: list[FrontierPoint],
    refused: list[str],
    format: str,  # noqa: A002
    *,
    to_file: bool,
) -> str:
    from fastcalc.report import console, frontier, records

    if format == "markdown":
        return to_markdown(*frontier.markdown_rows(points))
    if format in ("json", "csv"):
        assumed = records.assumptions(frontier.outcomes(points))
        return records.as_text(format, frontier.frontier_records(points), assumptions=assumed)
    width = console.output_width()
    parts = frontier.parts(
        points,
        refused,
        width,
        replace(request, weights=None, kv=None).again("fastmode"),
        is_ascii=not to_file and not _draws(),
    )
    return console.render(parts, width, colour=console.wants_colour() and not to_file)


def _draws() -> bool:
    """Return whether standard output has the characters of a frame."""
    try:
        "─│└".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
