"""``fastcalc frontier``: user speed against price, the points that no other beats."""

import sys
from dataclasses import replace

from fastcalc.catalogue.formats import number_format, weight_formats
from fastcalc.catalogue.limits import LIMITS
from fastcalc.cli import options, output
from fastcalc.cli.commands.evaluation import Compare
from fastcalc.cli.commands.search import Frontier
from fastcalc.cli.requests import again, scenarios
from fastcalc.core.scenario import Scenario
from fastcalc.search import FrontierPoint, frontier, placeable
from fastcalc.written import to_markdown


def run(asked: Frontier) -> int:
    """Find the frontier, write it, and return the exit code: 1 if there is none."""
    comparison = Compare.like(asked, models=[asked.model], batch="1", weights=None, kv=None)
    max_chips = asked.max_chips
    options.number(max_chips, "--max-chips", LIMITS["chips searched"], 72)
    found, refused = placeable(_scenarios(asked, comparison), max_chips)
    points = frontier(found, max_chips=max_chips)
    if not points:
        return _unanswered([*refused, "nothing has both a place and a price"], asked)
    output.write(_text(asked, points, refused, again(comparison, "fastmode")), asked.out)
    if asked.format != "table":
        warnings = [line for point in points for line in point.outcome.warnings]
        output.warn([*refused, *warnings])
    return 0


def _unanswered(reasons: list[str], asked: Frontier) -> int:
    """Write that there is no frontier, and return the exit code."""
    if asked.format != "table":
        from fastcalc.report import frontier, records

        headings, _ = frontier.markdown_rows([])
        text = records.nothing(
            asked.format, records.KEYS, headings, "; ".join(reasons), assumptions={}
        )
        output.write(text, asked.out)
    output.warn(reasons)
    return 1


def _scenarios(asked: Frontier, comparison: Compare) -> list[Scenario]:
    """Return a scenario for each chip, weight format and cache format asked for."""
    weights = options.names_if_any(asked.weights, "--weights")
    caches = options.names_if_any(asked.kv, "--kv")
    for name in weights or ():
        weight_formats(name)
    for name in caches or ():
        number_format(name, cache=True)
    return [
        replace(scenario, weights=weight, kv=cache)
        for scenario in scenarios(comparison)
        for weight in weights or (None,)
        for cache in caches or (None,)
    ]


def _text(
    asked: Frontier, points: list[FrontierPoint], refused: list[str], next_command: str
) -> str:
    from fastcalc.report import console, frontier, records

    if asked.format == "markdown":
        return to_markdown(*frontier.markdown_rows(points))
    if asked.format in ("json", "csv"):
        assumed = records.assumptions(frontier.outcomes(points))
        return records.as_text(asked.format, frontier.frontier_records(points), assumptions=assumed)
    width = console.output_width()
    parts = frontier.parts(
        points,
        refused,
        width,
        next_command,
        is_ascii=not asked.out and not _draws(),
    )
    return console.render(parts, width, colour=console.wants_colour() and not asked.out)


def _draws() -> bool:
    """Return whether standard output has the characters of a frame."""
    try:
        "─│└".encode(getattr(sys.stdout, "encoding", None) or "ascii")  # it may be closed
    except (UnicodeEncodeError, LookupError):
        return False
    return True
