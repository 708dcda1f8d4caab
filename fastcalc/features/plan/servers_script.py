"""``fastcalc plan --emit``: the script that starts the servers of plans."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.deployments_asked import typed_of
from fastcalc.features.plan.records import commands_of, unrounded
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.servers.script import script
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.table_columns import columns
from fastcalc.grid.column import TableColumn
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.answer.console import Screen
from fastcalc.kit.answer.point_records import Record, plainly
from fastcalc.kit.request.readers import as_text


@dataclass(frozen=True, eq=False, kw_only=True)
class ServersAnswer(Answer):
    """The script that starts the servers of some plans, which is the answer as text."""

    request: FindPlans
    plans: Sequence[tuple[Plan, Service]]
    servers: str

    @cached_property
    def _unrounded(self) -> list[Record]:
        typed = typed_of(self.request)
        return [row for plan, service in self.plans for row in unrounded([plan], service, typed)]

    def text(self, screen: Screen) -> str:  # noqa: ARG002
        """The script."""
        return self.servers

    def records(self) -> list[Record]:
        """A record for each plan."""
        return [plainly(record) for record in self._unrounded]

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """The records, in the columns of plans."""
        return columns(self.plans[0][1]), self._unrounded

    def details(self) -> Record:
        """The script."""
        return {"servers": self.servers}


def started(
    request: FindPlans, plans: Sequence[tuple[Plan, Service]], notes: Sequence[str]
) -> ServersAnswer:
    """Return the script that starts the servers of some plans."""
    program, typed, name = request.emit, typed_of(request), as_text(request.model)
    assert program is not None
    scripts = [
        script(program, plan, service, name, commands_of(plan, typed)) for plan, service in plans
    ]
    return ServersAnswer(request=request, reading=notes, plans=plans, servers="\n".join(scripts))
