"""``fastcalc plan --emit``: the script that starts the servers of plans."""

from collections.abc import Sequence

from fastcalc.features.plan import answer as plan_table
from fastcalc.features.plan import records as report
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.deployments_asked import typed_of
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.servers.script import script
from fastcalc.features.plan.service import Service
from fastcalc.kit.answer import commands
from fastcalc.kit.answer.answer import Answer, CommandAnswer
from fastcalc.kit.request.readers import as_text


def started(request: FindPlans, plans: Sequence[tuple[Plan, Service]], notes: list[str]) -> Answer:
    """Return the script that starts the servers of some plans, which is the answer as text."""
    typed, name, program = typed_of(request), as_text(request.model), request.emit
    assert program is not None
    text = "\n".join(
        script(program, plan, service, name, report.commands_of(plan, typed))
        for plan, service in plans
    )
    return CommandAnswer(
        None,
        lambda: [
            record for pair in plans for record in report.plan_records([pair[0]], pair[1], typed)
        ],
        lambda: (
            plan_table.columns(plans[0][1]),
            [
                row
                for plan, service in plans
                for row in report.unrounded([plan], service, commands.Typed())
            ],
        ),
        lambda: {"servers": text},
        reading=notes,
        text=lambda _: text,
    )
