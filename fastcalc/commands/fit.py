"""``fastcalc fit``: does it fit, where, on how many chips, and how large a batch."""

from fastcalc.commands.answer import CommandAnswer, later
from fastcalc.commands.loading import DEFAULT_MODELS, scenarios
from fastcalc.commands.next_commands import follow_up, typed_as
from fastcalc.core.scenario import locate_each
from fastcalc.mentions import flag
from fastcalc.report import fit as report
from fastcalc.report.console import Part, Screen
from fastcalc.requests.evaluation import Compare, FitMemory
from fastcalc.requests.search import FindPlans


def run(request: FitMemory) -> CommandAnswer:
    """Return where each model lives, or why nowhere."""
    notes: list[str] = []
    locations = [
        location
        for scenario in scenarios(Compare.sharing(request), notes)
        for location in locate_each(scenario)
    ]
    fitting = [location for location in locations if location.fits]

    def page(screen: Screen) -> list[Part]:
        models = request.models or DEFAULT_MODELS
        chips = dict.fromkeys(location.scenario.hardware.id for location in fitting)
        typed = dict.fromkeys(typed_as(request, chip) for chip in chips)
        next_command = follow_up(request, Compare, "compare", *models, flag("on"), ",".join(typed))
        if not fitting:  # then what does hold it
            next_command = follow_up(request, FindPlans, "plan", models[0])
        return report.parts(locations, next_command, screen)

    return CommandAnswer(
        page,
        lambda: report.fit_records(locations),
        lambda: (report.MARKDOWN, report.fit_records(locations)),
        charts={"memory": later("charts.of_memory.memory", locations)},
        notes=notes,
        code=0 if fitting else 1,
    )
