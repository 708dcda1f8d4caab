"""``fastcalc report``: a comparison as one HTML file."""

from fastcalc.cli import show_compare
from fastcalc.cli.answers import write
from fastcalc.cli.commands.drawings import WriteReport
from fastcalc.cli.commands.evaluation import Compare
from fastcalc.errors import InputError
from fastcalc.report.console import is_terminal


def run(request: WriteReport) -> int:
    """Write the page of a comparison to a file, or to a pipe."""
    if request.out is None and is_terminal():
        raise InputError("a report goes to a file: give -o report.html")
    if request.out is not None and request.out.suffix.lower() not in (".html", ".htm", ""):
        raise InputError(f"-o {request.out}: a report is HTML; end it in .html, or use compare")
    comparison = Compare.like(request, format="html")
    return write(comparison, show_compare.run(comparison))
