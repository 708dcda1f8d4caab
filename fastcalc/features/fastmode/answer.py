"""The answer of `fastmode`: speed-up and cost of each technique, as page, records and chart."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial

from fastcalc.core.outcome import Outcome, each_warning
from fastcalc.core.undetermined import prefill_notes
from fastcalc.features import request_of
from fastcalc.features.fastmode import factors, sentences
from fastcalc.features.fastmode.lighter_passes import PUBLISHED
from fastcalc.features.fastmode.option import TRICKS, Option, shown
from fastcalc.features.fastmode.records import NARROW_TABLE, TABLE, rows
from fastcalc.features.fastmode.request import Fastmode
from fastcalc.features.fastmode.solve import SpeedupOptions
from fastcalc.grid.column import TableColumn
from fastcalc.kit.answer import next_commands, outcome_lines, record_tables
from fastcalc.kit.answer.answer import Answer, Charts, Screen
from fastcalc.kit.answer.console import THINNEST
from fastcalc.kit.answer.parts import Note, Part, Remark
from fastcalc.kit.answer.point_records import Record, assumptions, plain, plainly
from fastcalc.kit.answer.prices import price_line, prices
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import phrases
from fastcalc.mentions import option

_KEY = "key: each row: cheapest option with its technique, or number of techniques"
_STAR = "; *: may lower quality (other model or fewer bits)"
_OF_OTHER_MODELS = f"{TRICKS['smaller-model']}: the largest smaller one, by active parameters"
_OF_DRAFTS = (
    "speculation assumes the tokens per step published for DeepSeek-R1 with its own "
    "draft tokens on eight B200, by number of draft tokens "
    f"{', '.join(f'{count}: {tokens}' for count, tokens in PUBLISHED.items())}; other "
    "models and texts differ"
)
_OF_ANSWERS = (
    "quantization and other models (*) change the output, speculation does not; the "
    "effect on quality is not computed"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class FastmodeAnswer(Answer):
    """The result of ``fastcalc fastmode``: the techniques that reach a target speed.

    comparison : The request for today's point, from which commands that reproduce a row start.
    """

    request: Fastmode
    comparison: Evaluated
    solution: SpeedupOptions

    @property
    def code(self) -> int:
        """The exit code, which is 1 if nothing reaches the speed."""
        return 0 if self.solution.reached else 1

    @cached_property
    def _shown(self) -> list[Option]:
        """The options of the full table, for all techniques."""
        solution = self.solution
        if self.request.everything or self.request.written_as == "markdown":
            return solution.options
        return shown(solution.options, solution.cheapest)

    @cached_property
    def _first(self) -> list[Option]:
        """The options of the first screen: the cheapest per technique, unchanged answers first."""
        solution, cheapest = self.solution, dict[str, Option]()
        for choice in self._shown:
            if choice.outcome is not None:
                cheapest.setdefault(choice.trick, choice)
        first = [*solution.leading, *cheapest.values()]
        choices = [choice for choice in self._shown if choice in first]
        return sorted(choices, key=lambda choice: choice not in solution.same_answers)

    def _outcomes(self, options: Sequence[Option]) -> list[Outcome]:
        """Return the outcomes of today's point and of the given options."""
        return [self.solution.today, *(choice.outcome for choice in options if choice.outcome)]

    def page(self, screen: Screen) -> Sequence[Part]:
        """Build the page, showing every column if all options are requested."""
        return super().page(replace(screen, wide=screen.wide or self.request.everything))

    def body(self, screen: Screen) -> Iterator[Part]:
        """Show the cheapest techniques and what each of them costs."""
        solution = self.solution
        if screen.wide:
            stated = phrases(self.settings, without=outcome_lines.IN_HEADING)
            yield outcome_lines.heading_in_full(solution.today, stated)
            yield ""
        yield sentences.headline(solution)
        leading = [outcome.scenario for outcome in self._outcomes(solution.leading)]
        yield from price_line(leading, others=self._outcomes(self._first))
        yield ""
        if not screen.wide:
            yield Remark(f"{sentences.today(solution)}.")
            records = rows(solution, self._first)
            yield record_tables.table(NARROW_TABLE, records, screen.width, {"how": THINNEST})
            return
        yield record_tables.table(TABLE, rows(solution, self._shown), screen.width, {"how": 0})
        if waterfall := factors.factors_of(solution, solution.cheapest):
            yield from factors.parts(waterfall, screen.width)

    def key(self) -> str:
        """Return the key to the rows and the star."""
        same_answers = self.solution.same_answers
        changing = any(choice.outcome and choice not in same_answers for choice in self._shown)
        return _KEY + _STAR * changing

    def notes(self) -> Iterator[Note]:
        """Yield notes on the assumptions behind the table."""
        solution, outcomes = self.solution, self._outcomes(self._shown)
        for line in sentences.first_way(solution):
            yield Note(line, weight=0)
        if any(choice.trick == "smaller-model" and choice.outcome for choice in self._shown):
            yield Note(_OF_OTHER_MODELS, weight=0)
        yield from self._hints()
        yield Note(sentences.law_of_batches(solution), weight=0)
        if too_fast := sentences.too_fast(solution):
            yield Note(too_fast)
        yield Note(sentences.tried(solution), weight=0)
        yield Note(sentences.low_end(solution, self._shown), weight=0)
        yield Note(sentences.drafts_needed(solution), weight=0)
        yield Note(_OF_DRAFTS, weight=0)
        yield Note(_OF_ANSWERS, weight=0)
        yield Note(prices(outcomes), weight=0)
        for line in [line for outcome in outcomes for line in sentences.formats(outcome)]:
            yield Note(line, weight=0)
        of_first = set(each_warning(self._outcomes(self._first)))
        # The tables of this command have no TTFT.
        of_prefill = {
            line for outcome in outcomes for line in prefill_notes(outcome.placement.machine)
        }
        for line in each_warning(outcomes):
            yield Note(line, weight=2 * (line in of_first and line not in of_prefill))
        left = Counter(choice.trick for choice in solution.options)
        left -= Counter(choice.trick for choice in self._shown)
        if left:
            omitted = ", ".join(f"{TRICKS[trick]} ({count})" for trick, count in left.items())
            yield Note(f"further options: {omitted}; {option('everything')} shows them", weight=0)

    def _hints(self) -> Iterator[Note]:
        """Yield what the first screen omits: techniques that are too slow, and prices."""
        reaching = {choice.trick for choice in self._shown if choice.outcome}
        missed = dict.fromkeys(
            TRICKS[choice.trick]
            for choice in self._shown
            if choice.trick not in reaching and not choice.is_ruled_out
        )
        if missed:
            text = f"techniques that are not fast enough alone: {', '.join(missed)}"
            yield Note(f"{text}; {option('wide')} explains why", weight=3, is_hint=True)

    def next_command(self) -> str:
        """Suggest a report on today's chips and on those that reach the speed with this model."""
        today, comparison = self.solution.today.scenario, self.comparison
        own = next_commands.typed_as(comparison, comparison.on, today.hardware.id)
        chips = [
            choice.outcome.scenario.hardware.id
            for choice in self._first
            if choice.outcome and choice.usd and choice.outcome.scenario.model is today.model
            if choice.outcome.scenario.hardware.id != today.hardware.id
        ]
        on = ",".join(list(dict.fromkeys([own, *chips]))[:3])
        comparison = replace(comparison, batch=str(today.batches[0]))
        return next_commands.report_on(comparison, request_of("report"), on)

    def records(self) -> Iterator[Record]:
        """Build records for today's point and every option, with commands that reproduce them."""
        today = self.solution.today
        outcomes = [today, *(choice.outcome for choice in self.solution.options)]
        records = rows(self.solution, self.solution.options)
        for outcome, record in zip(outcomes, records, strict=True):
            repeat_command = (
                next_commands.command(self.comparison, outcome, today) if outcome else None
            )
            yield {**record, "compare": repeat_command}

    def table(self) -> tuple[Sequence[TableColumn], Sequence[Record]]:
        """Return the table with every column."""
        return TABLE, rows(self.solution, self._shown)

    def premises(self) -> Record:
        """Return the traffic, prices and engines of every option."""
        return assumptions(self._outcomes(self.solution.options))

    def details(self) -> Record:
        """Return the target speed, draft tokens that reach it, smaller shapes, and factors."""
        solution = self.solution
        drafts = zip(solution.drafts, solution.tokens, solution.acceptance, strict=True)
        shapes = {"fewer_layers": solution.fewer_layers, "thinner_layers": solution.thinner_layers}
        return {
            "target": {
                "tokens_per_s_per_user": plain(solution.speed),
                "speedup": plain(solution.speed / float(solution.today.estimate.speed[0])),
            },
            "speculation_at_todays_batch": [
                {
                    "drafts": int(count),
                    "tokens_per_pass_needed": plain(float(tokens)),
                    "acceptance_needed": plain(float(acceptance)),
                }
                for count, tokens, acceptance in drafts
            ],
            "smaller_shapes_at_todays_batch": {
                name: shape and plainly(asdict(shape)) for name, shape in shapes.items()
            },
            "waterfall": factors.factor_records(factors.factors_of(solution, solution.cheapest)),
        }

    def warnings(self) -> Iterator[str]:
        """Yield the warnings of the outcomes."""
        return each_warning(self._outcomes(self.solution.options))

    @property
    def charts(self) -> Charts:
        """A chart of concurrent users against price per token for each option."""
        from fastcalc.features.fastmode.chart import tricks

        return {"fastmode": partial(tricks, self.solution, self._shown)}
