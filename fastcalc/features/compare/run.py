"""``fastcalc compare``: evaluate the scenarios and build the answer."""

from fastcalc.core.outcome import solve_all
from fastcalc.errors import InputError
from fastcalc.features.compare.answer import CompareAnswer
from fastcalc.features.compare.request import Compare
from fastcalc.kit.request.scenarios import scenarios
from fastcalc.mentions import option


def run(request: Compare) -> CompareAnswer:
    """Evaluate each model on each chip for each batch."""
    if request.explain and request.written_as not in ("table", "json", "html"):
        raise InputError(
            f"{option('explain')} gives nested data: {option('format')} {request.written_as} "
            "cannot hold it; use json"
        )
    notes: list[str] = []
    outcomes = solve_all(scenarios(request, notes))
    return CompareAnswer(request=request, reading=notes, outcomes=outcomes)
