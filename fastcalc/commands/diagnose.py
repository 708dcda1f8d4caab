"""``fastcalc diagnose``: why a deployment is slower than predicted."""

from fastcalc.commands import loading
from fastcalc.commands.answer import CommandAnswer, later
from fastcalc.commands.next_commands import follow_up
from fastcalc.commands.validate import points_of
from fastcalc.errors import InputError
from fastcalc.evidence.diagnosis.diagnose import diagnose
from fastcalc.mentions import flag
from fastcalc.report import diagnosis as report
from fastcalc.requests.evaluation import Compare
from fastcalc.requests.measurements import Diagnose


def run(request: Diagnose) -> CommandAnswer:
    """Return what of a deployment differs from what was predicted, as points of it say."""
    catalogue, file_options = loading.catalogue(request), request.file_options()
    if request.path is None:
        raise InputError("give a file of measured points, such as runs.csv")
    measured = points_of(catalogue, request.path, file_options)
    engine = catalogue.engine(file_options["engine"]) if file_options.get("engine") else None
    try:
        result = diagnose(measured.points, catalogue, engine)
    except InputError as error:
        raise InputError(f"{request.path}: {error.sentence}") from None
    point = result.predictions[0].point
    words = "compare", point.model, flag("on"), point.hardware, flag("like"), request.path
    next_command = follow_up(request, Compare, *words)
    name = request.path.name
    skipped = [f"{skip.id}: {skip.reason}" for skip in measured.skipped]
    notes = [*skipped, *result.set_aside]
    return CommandAnswer(
        lambda screen: report.parts(result, name, notes, next_command, screen.width),
        lambda: report.records(result),
        lambda: (report.TERM_TABLE, result.findings),
        lambda: report.premises(result),
        warnings=notes,
        keys=report.KEYS,
        charts={"diagnose": later("diagnosis.chart", result)},
    )
