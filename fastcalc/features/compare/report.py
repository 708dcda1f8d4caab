"""``fastcalc report``: write a comparison to one HTML file."""

from fastcalc.errors import InputError
from fastcalc.features.compare import run as compare
from fastcalc.features.compare.request import Compare, WriteReport
from fastcalc.kit.answer.console import is_terminal
from fastcalc.kit.answer.respond import respond
from fastcalc.mentions import option


def run(request: WriteReport) -> int:
    """Write the page of a comparison to a file or pipe."""
    if request.out is None and is_terminal():
        raise InputError(f"a report needs a file: give {option('out', 'report.html')}")
    if request.out is not None and request.out.suffix.lower() not in (".html", ".htm", ""):
        raise InputError(
            f"{option('out', request.out)}: a report is HTML; end it in .html, or use compare"
        )
    comparison = Compare.sharing(request, format="html")
    return respond(comparison, compare.run(comparison))
