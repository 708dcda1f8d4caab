"""The answer of `fit --solve`: the longest contexts or the most users."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import inf
from operator import attrgetter

from fastcalc.features.fit.answer import FitAnswer, follow_up_of
from fastcalc.features.fit.records import COLUMNS, fit_records
from fastcalc.features.fit.solve import Solution
from fastcalc.features.fit.starts import length_notes, start_note, why_or_stop
from fastcalc.features.fit.verdict import MOST_LISTED
from fastcalc.grid.column import Column, TableColumn
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Charts, Screen
from fastcalc.kit.answer.memories import kept_note
from fastcalc.kit.answer.parts import Note, Part
from fastcalc.kit.answer.point_records import Record, named_chips
from fastcalc.kit.answer.quantized import quantized_note
from fastcalc.kit.answer.why_so_many import engine_limit
from fastcalc.mentions import option
from fastcalc.written import listed

_SHORT = 2
"""Maximum number of rows for which the engine's start-up lines appear by default."""

_DEPLOYED = pick(
    "chips layout weight_format kv_format",
    [
        Column(
            "chips",
            heading=("", "chips"),
            format=lambda record: f"{record['chips']:,} x {record['hardware']}",
        ),
        Column(
            "layout",
            heading=("", "layout"),
            format=lambda record: record_tables.layout(record) or "-",
        ),
    ],
)
_ASKED: dict[str, TableColumn] = {
    "context": Column("batch", "count", heading=("", "users")),
    "users": Column(
        "length",
        "count",
        heading=("tokens", "per user"),
        format=lambda record: (
            f"{max(record['prompt_tokens'] + record['output_tokens'], record['context_tokens']):,}"
        ),
    ),
}
"""The column of the given quantity, by the quantity to solve for."""

_SOLVED = pick("solution solution_at_edge solution_limited_by memory_used_fraction", COLUMNS)
_WIDE = pick("placement kv_cache_tokens max_concurrency", COLUMNS)

_KEYS = {
    "context": "fits: most tokens of prompt and output together, for each of these users",
    "users": "fits: most concurrent users, each with that many tokens",
}
_KEY = "; tight: most that fit with the smallest memory reserve"
_KEY_OF_LAYOUT = "; layout: the one with the largest capacity"


@dataclass(frozen=True, eq=False, kw_only=True)
class SolvedAnswer(FitAnswer):
    """Answer of ``fit --solve``, with the longest contexts or the most users that fit.

    solutions : The solution for each placement.
    """

    solutions: Sequence[Solution]

    @property
    def code(self) -> int:
        """The exit code, which is 1 if nothing fits, not even tightly."""
        return 0 if any(solution.certain or solution.edge for solution in self.solutions) else 1

    def _columns(self, *, wide: bool) -> list[TableColumn]:
        unknown_column = _ASKED[self.solutions[0].unknown]
        return [*_DEPLOYED, unknown_column, *_SOLVED, *(_WIDE if wide else ())]

    def body(self, screen: Screen) -> Iterator[Part]:
        """Yield a sentence and a table of chips for each model."""
        columns = self._columns(wide=screen.wide)
        of_model = attrgetter("location.scenario.model.id")
        models = [list(group) for _, group in groupby(self.solutions, of_model)]
        for index, members in enumerate(models):
            yield from [""] * bool(index)
            yield from (_sentence(members), "")
            yield record_tables.table(columns, _records(members), screen.width)

    def key(self) -> str:
        """Return the key to the solution and to tight fits."""
        is_chosen = any(
            location.placement.layout.chips > 1 and not location.scenario.sharding.names_ranks
            for location in self.locations
        )
        return f"key: {_KEYS[self.solutions[0].unknown]}{_KEY}{_KEY_OF_LAYOUT * is_chosen}"

    def notes(self) -> Iterator[Note]:
        """Yield notes on limits, on the engine's start-up log, and on its memory reserve."""
        limits = dict.fromkeys(filter(None, map(_limit_note, self.solutions)))
        starts = list[str]()
        for solution, location in zip(self.solutions, self.locations, strict=True):
            is_unfit = not solution.edge and location.verdict == "no"
            if is_unfit or location.is_share_uncertain:
                yield Note(f"{location.scenario.hardware.id}: {why_or_stop(location)}")
            elif not location.is_expected_to_stop:
                starts += filter(None, [start_note(location)])
        lines = [*limits, *starts]
        yield from (Note(line, weight=int(len(lines) <= _SHORT)) for line in lines)
        yield from map(Note, dict.fromkeys(map(quantized_note, self.quantized)))
        if self.solutions[0].unknown == "users":
            yield from map(Note, length_notes([solution.location for solution in self.solutions]))
        for solution in self.solutions:
            if solution.needs_length and solution.limited_by != "model":
                chips, length = named_chips(solution.location), solution.certain
                yield Note(f"{length:,} tokens on {chips} need {option('max_model_len', length)}")
        yield from (Note(kept_note(location), weight=0) for location in self.locations)

    def next_command(self) -> str | None:
        """Suggest the next command for the solution."""
        solutions = [solution for solution in self.solutions if solution.certain]
        if not solutions:
            return super().next_command()
        location = solutions[0].location
        prompt, batch = int(location.scenario.traffic.prompt), str(min(location.scenario.batches))
        request = replace(self._with_batch, solve=None, prompt=prompt, batch=batch)
        if solutions[0].needs_length:
            request = replace(request, max_model_len=solutions[0].certain)
        return follow_up_of(request, [location])

    def records(self) -> list[Record]:
        """Build one record per placement, including the solution."""
        return _records(self.solutions)

    def table(self) -> tuple[Sequence[TableColumn], list[Record]]:
        """Return a table of all placements of all models."""
        return [*pick("model"), *self._columns(wide=True)], self.records()

    @property
    def charts(self) -> Charts:
        """Charts of the longest context by number of users, and of memory contents."""
        charts = super().charts
        return {name: charts[name] for name in ("context", "memory")}


def _records(solutions: Sequence[Solution]) -> list[Record]:
    return fit_records([solution.location for solution in solutions], solutions)


def _limit_note(solution: Solution) -> str | None:
    """Describe the engine's limit if it is the limiting factor."""
    if solution.limited_by != "engine":
        return None
    if solution.unknown == "context" and solution.certain:
        machine = solution.location.placement.machine
        if not machine.memory.longest:
            return (
                f"{machine.engine.id} needs more memory to start than longer sequences do; "
                f"'fastcalc fit' with a longer {option('prompt')} explains why and how to fix it"
            )
        among, slots = "", machine.memory.slots
        if machine.shared_context < inf:
            parts = f" in {slots:,.0f} equal parts" if slots > 1.0 else ""
            among = f" for all sequences of a replica{parts}"
        return (
            f"{option('max_model_len')} limits {machine.engine.id} to "
            f"{machine.memory.longest:,.0f} tokens{among}"
        )
    return engine_limit(solution.location)


def _sentence(solutions: Sequence[Solution]) -> str:
    """Give the capacity of each chip, or the smallest and largest if there are many chips."""
    scenario, unknown = solutions[0].location.scenario, solutions[0].unknown
    model, tokens = scenario.model.asked_name, f"{scenario.traffic.longest:,.0f} tokens"
    batches = sorted({min(solution.location.scenario.batches) for solution in solutions})
    users = f"{listed([f'{batch:,}' for batch in batches])} user{'s' * (batches != [1])} of {model}"
    holding = [solution for solution in solutions if solution.certain]
    if not holding:
        tight = [solution for solution in solutions if solution.edge]
        named = (named_chips(solution.location) for solution in tight or solutions)
        chips = listed([*dict.fromkeys(named)], "or")
        subject = f"One user of {model} with {tokens}" if unknown == "users" else users
        is_plural = unknown == "context" and batches != [1]
        if edge := max(solution.edge for solution in solutions):
            if unknown == "users" and edge > 1:
                subject, is_plural = f"Up to {edge:,} users of {model} with {tokens}", True
            verb = "fit" if is_plural else "fits"
            condition = "the engine reserves less memory than its maximum"
            if all(solution.location.is_share_uncertain for solution in tight):
                condition = "the system leaves enough memory free"
            return f"{subject} {verb} on {chips} only if {condition}."
        return f"{subject} {'do' if is_plural else 'does'} not fit on {chips}."
    formats = {_formats(solution) for solution in solutions}
    amounts = [
        f"{solution.certain:,} on {named_chips(solution.location)}{_replicas(solution)}"
        + _formats(solution) * (len(formats) > 1)
        for solution in holding
    ]
    if len(holding) > MOST_LISTED:
        order = sorted(range(len(holding)), key=lambda at: holding[at].certain)
        amounts = [f"from {amounts[order[0]]} to {amounts[order[-1]]}"]
    if unknown == "users":
        amounts[0] = amounts[0].replace(" on ", " concurrent users on ", 1)
        return f"{model} with {tokens} per user: {listed(amounts)}."
    amounts[0] = amounts[0].replace(" on ", " tokens on ", 1)
    return f"Longest context for {users}: {listed(amounts)}."


def _formats(solution: Solution) -> str:
    work = solution.location.placement.work
    return f" ({work.short_format}, KV cache {work.kv_format})"


def _replicas(solution: Solution) -> str:
    """Format in parentheses the number of replicas that share the users, if several."""
    layout = solution.location.placement.layout
    if layout.dp == 1 or solution.unknown == "context":
        return ""
    return f" ({layout}: {layout.dp} replicas of {solution.certain // layout.dp:,})"
