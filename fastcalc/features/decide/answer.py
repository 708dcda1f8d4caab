"""The answer of `decide`: the verdict in a sentence, a table of options, and break-even values."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from fastcalc.features.decide import map as decision_map
from fastcalc.features.decide import rows as decision_rows
from fastcalc.features.decide.agent_run import Terms
from fastcalc.features.decide.choice import BreakEven, Choice, WinnerMap
from fastcalc.features.decide.options import DEFAULTS
from fastcalc.features.decide.parameters import PARAMETERS
from fastcalc.features.decide.request import Decide
from fastcalc.features.decide.rows import COLUMNS, Row, scenarios_of
from fastcalc.features.decide.verdict import cached_at_full_price, failures, verdict
from fastcalc.grid.column import TableColumn, key_figure
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer, Charts, Screen
from fastcalc.kit.answer.numbers_as_text import number, seconds
from fastcalc.kit.answer.parts import Note, Notes, Part, TextTable
from fastcalc.kit.answer.point_records import Record, plainly, price_records
from fastcalc.kit.answer.prices import price_line
from fastcalc.kit.request.fields import phrases
from fastcalc.mentions import command, flag, option
from fastcalc.quoting import shell_line
from fastcalc.written import listed, many

_MOST_FLIPS = 4
"""Maximum number of break-even values on the first screen."""

_LETTER = record_tables.words("", lambda row: row.letter)
_TASK = "option tokens_per_s usd_per_mtok_output accuracy success run_s s_to_success usd_to_success"
_GAP = "option tokens_per_s lead_ms round_trip_ms window_tokens tokens_per_s_needed"
_KEY_FIGURES = {
    "time": "s_to_success",
    "cost": "usd_to_success",
    "total": "total_usd_to_success",
    "window": "window_tokens",
}
"""The record key of the deciding number for each objective."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DecideAnswer(Answer):
    """The result of ``fastcalc decide``: the best option and what would change the choice.

    winners : The winners on a map, or None if no map was requested.
    uncounted : The inputs that were not given and so are not counted.
    remarks : The sources for the numbers of the options.
    warned : The warnings about models on chips.
    """

    request: Decide
    decision: Choice
    winners: WinnerMap | None
    uncounted: Sequence[str]
    remarks: Sequence[str]
    warned: Sequence[str]

    @cached_property
    def rows(self) -> list[Row]:
        """The time and cost of each option."""
        return decision_rows.rows(self.decision)

    @cached_property
    def flips(self) -> list[BreakEven]:
        """The values at which another option wins."""
        return self.decision.flips()

    @property
    def nearest_flips(self) -> list[BreakEven]:
        """The break-even values ordered by distance from today's values.

        Distances are ratios, so doubling a speed counts the same as halving it.
        """
        return sorted(self.flips, key=lambda flip: round(flip.distance, 9))

    def columns(self) -> list[TableColumn]:
        """Return the columns for the options, or for the tokens that fit a window."""
        objective = self.decision.objective
        keys = _GAP
        if objective != "window":
            first = self.decision.terms(self.decision.options[0])
            keys = _TASK + " user_s_to_success" * (float(first.sessions) > 1)
            keys += " total_usd_to_success" * (objective == "total")
            keys += " successes_a_month usd_a_month"
        return [
            _LETTER,
            *(
                key_figure(column) if column.key == _KEY_FIGURES[objective] else column
                for column in pick(keys, COLUMNS)
            ),
        ]

    def body(self, screen: Screen) -> Iterator[Part]:
        """Yield the verdict, the table of options, and the map of winners."""
        sentences = verdict(self.decision, self.rows, self.nearest_flips)
        yield " ".join([sentences, *failures(self.decision, self.rows)])
        yield from price_line(scenarios_of(self.decision.options))
        shared = Terms(**{"speed": 1.0, **self.decision.shared})  # the task in one line
        tokens, stated = f"{float(shared.tokens):,.0f} tokens", phrases(self.settings)
        task = [f"A run is {many(float(shared.steps), 'step')} of {tokens}", *stated]
        task += [f"per month, one user works {float(shared.hours):g} hours"]
        if self.decision.window is not None:
            task = [f"Window of {seconds(self.decision.window)} for {tokens}", *stated]
        yield from ("", "; ".join(task))
        yield record_tables.table(self.columns(), self.rows, screen.width)
        if self.winners is not None:
            yield decision_map.title(self.winners)
            yield decision_map.table(self.winners)

    def page(self, screen: Screen) -> list[Part]:
        """Build the body, break-even values, a few or all notes, and the next command."""
        body, flips, notes = [*self.body(screen)], self.nearest_flips, [*self.notes()]
        most_notes = 1 if self.winners else 3
        counts = (len(flips) - _MOST_FLIPS, "break-even value"), (len(notes) - most_notes, "note")
        hint = listed([many(count, f"more {noun}") for count, noun in counts if count > 0])
        if screen.notes:
            hint, most_notes = "", len(notes)
        else:
            flips = flips[:_MOST_FLIPS]
        lines = [
            *record_tables.key_of_mark(*(piece for piece in body if isinstance(piece, TextTable))),
            *(_flip_lines(flips) if flips else [_NO_FLIPS]),
            *screen.sentences(notes[:most_notes]),
            *[f"{option('notes')} prints {hint}."] * bool(hint),
        ]
        return [*body, Notes(lines, self.next_command())]

    def notes(self) -> Iterator[Note]:
        """Yield notes on the assumptions behind the numbers, and on what they omit."""
        on_numbers = (
            ["the window includes the round trip, TTFT and the stream"]
            if self.decision.objective == "window"
            else self._on_numbers()
        )
        warned = [text for text in dict.fromkeys(self.warned) if text not in self.reading]
        yield from map(Note, (*self.uncounted, *on_numbers, *self.remarks, *warned))

    def _on_numbers(self) -> Iterator[str]:
        """Yield the assumptions about prices, failures, users and models."""
        decision, offered = self.decision, self.rows
        ends = "A failed run starts again, so a success takes 1 / (success rate) runs on average"
        if decision.shared.get("repair") is not None:
            ends = "The user repairs a failed run"
        unknown = [row.option.name for row in offered if math.isnan(float(row.prospect.run.usd))]
        yield from cached_at_full_price(offered)
        if unknown:
            cannot = "it cannot win" if len(unknown) == 1 else "they cannot win"
            yield f"no price is given for {listed(unknown)}, so {cannot} on cost"
        yield (
            "Assumed: a run succeeds if all its steps succeed, and steps fail independently. "
            f"Noticing a failure takes no time. {ends}"
        )
        if math.isinf(decision.terms(decision.options[0]).look_away):
            after = option("look_away", "S")
            yield f"the user waits until a run ends, or with {after} for at most S seconds"
        is_priced = any(row.offered("price") > 0.0 for row in offered)
        if is_priced and not any(float(row.terms.prompt) for row in offered):
            prompt = option("prompt")
            yield (
                "input tokens are not counted, although agents read more than they write; set "
                f"{prompt} to include them"
            )
        computed = [row.option for row in offered if row.option.model]
        if computed:
            where = ", ".join(
                f"{contender.name} {contender.batch:,} on {contender.hardware}"
                for contender in computed
            )
            other = {"time": "cost", "cost": "time", "total": "the user's time"}
            yield (
                "speeds and prices of models are expected values. Options that tie with the best "
                "one (the 80% range of their ratio contains 1) are ranked by "
                f"{other[decision.objective]}. Batches: {where}"
            )
        limits = (row.tool_limit for row in offered if row.option is decision.winner)
        yield from filter(None, limits)
        yield from (line for row in offered for line in row.limits)

    def next_command(self) -> str:
        """Suggest a map of the nearest break-even values, or all notes."""
        words = ["fastcalc", "decide", *(self.request.options or DEFAULTS)]
        stated = [setting for setting in self.settings if not setting.shown.is_argument]
        words += [word for setting in stated for word in setting.words]
        if self.request.map is not None or self.request.window_ms is not None:
            return command(shell_line([*words, flag("notes")]))
        plain = [contender.name for contender in self.decision.options if contender.routes is None]
        axes = f"tools=0..30,{plain[-1]}.accuracy=0.5..1"
        return command(shell_line([*words, flag("map"), axes]))

    def records(self) -> list[Record]:
        """Build one record per option, or per point of a map."""
        if self.winners is not None:
            return decision_map.records(self.decision, self.winners)
        return decision_rows.records(self.decision)

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Return a table of the options."""
        return self.columns(), self.rows

    def premises(self) -> Record:
        """Return the chip prices behind options that are models."""
        return {"prices": price_records(scenarios_of(self.decision.options))}

    def details(self) -> Record:
        """Return the objective, the break-even values and, with a map, the options."""
        break_evens = [
            plainly(
                {
                    "parameter": flip.parameter,
                    "now": flip.now,
                    "value": flip.value,
                    "side": "above" if flip.is_above else "below",
                    "winner": flip.winner,
                }
            )
            for flip in self.flips
        ]
        return {
            "objective": self.decision.objective,
            "decided_by": self.decision.decided_by,
            "break_even": break_evens,
            **({"options": decision_rows.records(self.decision)} if self.winners else {}),
        }

    def warnings(self) -> list[str]:
        """Return the inputs that are not counted, and warnings about models on chips."""
        return [*self.uncounted, *self.warned]

    @property
    def charts(self) -> Charts:
        """A chart of time and price per success."""
        from fastcalc.features.decide.chart import services

        return {"decide": partial(services, self.decision)}


_NO_FLIPS = "No change of a single number makes another option rank first."


def _flip_lines(flips: Sequence[BreakEven]) -> list[str]:
    """Format the break-even values at which another option ranks first, one line per option.

    An option's own values come first, since "its" after another name would be ambiguous.
    """
    own: dict[str, list[str]] = {flip.winner: [] for flip in flips}
    others: dict[str, list[str]] = {flip.winner: [] for flip in flips}
    for flip in flips:
        noun = decision_map.noun(flip.parameter)
        of_winner = noun.removeprefix(f"{flip.winner}'s ")
        if of_winner == noun:
            others[flip.winner].append(f"{noun} is {_side(flip)}")
        else:
            own[flip.winner].append(f"its {of_winner} is {_side(flip)}")
    lines = []
    for name in own:
        conditions = [*own[name], *others[name]]
        start = f"{name} ranks first if"
        if len(conditions) > 1:
            start = f"{name} would rank first if any of these is true:"
        lines.append(f"{start} {'; '.join(conditions)}.")
    return lines


def _side(flip: BreakEven) -> str:
    """Format the condition for another option to win: above or below a value, or only at 0."""
    parameter = PARAMETERS[flip.parameter.rpartition(".")[2]]
    if parameter.is_count:
        side = "or more" if flip.is_above else "or fewer"
        return f"{flip.value:,.0f} {side} {parameter.unit}".rstrip()
    if not flip.value and not flip.is_above:
        return f"0 {parameter.unit}".rstrip()
    side, value = "above" if flip.is_above else "below", number(flip.value)
    if parameter.unit.startswith("$"):
        return f"{side} ${value}{parameter.unit.removeprefix('$')}"
    return f"{side} {value} {parameter.unit}".rstrip()
