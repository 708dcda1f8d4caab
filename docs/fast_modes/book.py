"""What the page asks of fastcalc, and how it writes a number."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from fastcalc.catalogue.kinds import Kind
from fastcalc.catalogue.schema.claims import Input
from fastcalc.catalogue.store import AnyEntry, Catalogue
from fastcalc.core.outcome import Outcome, solve
from fastcalc.core.pricing import PriceBasis, Pricing
from fastcalc.core.scenario import Scenario, Sharding, engine_for
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.claims.break_evens import digits
from fastcalc.features.claims.judge import Judged, Tested, judge
from fastcalc.features.claims.reasons import reason
from fastcalc.features.claims.run import read_claims
from fastcalc.features.fastmode.lighter_passes import narrowest
from fastcalc.features.fastmode.smaller_batches import Study, engines_of, study
from fastcalc.grid.largest_batch import Reach, cheapest
from fastcalc.grid.space import Space
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.written import listed, to_markdown

Words = dict[str, str]
"""Numbers and words by the name that the template calls them."""

PLAIN = {
    "supported": "is right",
    "conditional": "depends on assumptions that the article omits",
    "misleading": "is a right number with a wrong conclusion",
    "refuted": "is wrong",
    "undetermined": "is possible but cannot be decided from public facts",
    "external": "cannot be computed",
}
"""Verdicts as predicates of a sentence."""

SLOW, FAST = 65.0, 170.0
"""What the articles report of Claude Opus 4.6, standard and fast. [tokens/s]"""

FASTER, PREMIUM = 2.5, 6.0
"""What the first fast mode was sold as: times the speed, for times the price. [1]"""

LATER = 2.0
"""Price multiple of the fast mode of Opus 5, for up to that multiple of the speed. [1]

10 and 50 USD per million tokens in and out over 5 and 25. Sources:
https://vercel.com/ai-gateway/models/claude-opus-5-fast.md,
https://platform.claude.com/docs/about-claude/models/whats-new-opus-5
"""

SOLD = 25.0
"""What a million output tokens of the standard mode were sold at. [USD]"""

RACK = 72
"""Chips of GB200 that one link domain holds. [1]"""

SHORT = 1500.0
"""Tokens of context that ``fastcalc compare`` has by default. [1]"""

LONG = 65_536
"""Tokens of context of a coding agent, assumed. [1]"""


EVEN = 0.06
"""Difference up to which neither of two numbers is called the smaller. [1]"""


@dataclass(frozen=True)
class Kept(Catalogue):
    """A catalogue that reads each entry once."""

    entries: dict[tuple[str, str], Any] = field(default_factory=dict)

    def _load(self, name: str, kind: Kind, schema: type[AnyEntry]) -> AnyEntry:
        if (kind, name) not in self.entries:
            self.entries[kind, name] = super()._load(name, kind, schema)
        return cast(AnyEntry, self.entries[kind, name])


class Book:
    """The catalogue, and its claims judged: what the page asks."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = Kept(catalogue.user_folders)
        self.claims, self._file = read_claims()
        self._tested: dict[str, Judged] = {}
        self._alone: dict[tuple[str, str, str | None], Outcome] = {}
        self._reached: dict[tuple[str, float], Reach] = {}
        self._cut: dict[tuple[str, str, int, int], Scenario] = {}

    @cached_property
    def judged(self) -> list[Judged]:
        """Every claim with its tests run."""
        found = judge(self.catalogue, self.claims.claims, self._file)
        self._tested = {one.claim.id: one for one in found}
        return found

    def tested(self, claim: str) -> Judged:
        """A claim with its tests run."""
        if claim not in self._tested:
            asked = [one for one in self.claims.claims if one.id == claim]
            (self._tested[claim],) = judge(self.catalogue, asked, self._file)
        return self._tested[claim]

    def scenario(
        self,
        model: str,
        on: str,
        *,
        weights: str | None = None,
        chips: int | None = None,
        batch: int = 1,
        context: float = LONG,
    ) -> Scenario:
        """A model on chips with the prompts that ``fastcalc compare`` has by default."""
        hardware = self.catalogue.hardware(on)
        engine, is_borrowed = engine_for(self.catalogue, hardware)
        shape = self.catalogue.model(model)
        return Scenario(
            hardware,
            shape,
            engine,
            (batch,),
            Traffic(1000.0, 1000.0, min(context, shape.max_context or context)),
            weights=weights,
            sharding=Sharding(chips=chips),
            engine_is_borrowed=is_borrowed,
        )

    def alone(self, model: str, on: str, weights: str | None = None) -> Outcome:
        """One user of a model on the fewest chips that hold it."""
        key = (model, on, weights)
        if key not in self._alone:
            self._alone[key] = solve(self.scenario(model, on, weights=weights))
        return self._alone[key]

    def cut(self, model: str, on: str, chips: int, batch: int, basis: PriceBasis) -> Outcome:
        """A model on some chips, in the layout that serves a batch with most throughput."""
        key = (model, on, chips, batch)
        if key not in self._cut:
            self._cut[key] = self.scenario(model, on, chips=chips, batch=batch, context=SHORT)
        return solve(replace(self._cut[key], pricing=Pricing(basis)))

    @cached_property
    def smaller_batches(self) -> Study:
        """What 2.5 times the speed costs on a rack from every starting batch."""
        rack = self.scenario("deepseek-r1", "gb200", chips=RACK, context=LONG)
        engines = [*engines_of(self.catalogue, rack.hardware), self.catalogue.engine("ideal")]
        found = study(
            [
                one
                for engine in engines
                for native in [replace(rack, engine=engine)]
                for one in (native, *(narrow for _, narrow in narrowest(native)))
            ],
            RACK,
            FASTER,
        )
        assert found is not None, "a rack holds the model"
        return found

    def rack(self, model: str) -> Space:
        """A model on GB200 with the context of a coding agent."""
        return Space(self.scenario(model, "gb200", context=LONG))

    def reach(self, model: str, goal: float) -> Reach:
        """The cheapest way of a rack to serve a model at a speed. [1/s]"""
        if (model, goal) not in self._reached:
            space = self.rack(model)
            self._reached[model, goal] = cheapest(space, space.layouts(RACK), goal)
        return self._reached[model, goal]

    def verdict(self, claim: str) -> str:
        """The verdict on a claim."""
        return self.tested(claim).verdict

    def plain(self, claim: str, omitted: str = "") -> str:
        """The verdict on a claim as a predicate, with what an article omits."""
        verdict = self.tested(claim).verdict
        if omitted and verdict == "conditional":
            return f"depends on {omitted}, which the article omits"
        return PLAIN[verdict]

    def filled(self, claim: str, name: str) -> str:
        """A number of a claim by the name that its reason could have for it."""
        judged = self.tested(claim)
        text = f"{{{name}}}"
        return reason(replace(judged, claim=judged.claim.model_copy(update={"reason": text})))

    def values(self, claim: str) -> list[float]:
        """The numbers of a claim in its unit."""
        return [float(one) for one in self.check(claim).values]

    def concluded(self, claim: str) -> list[float]:
        """The numbers of what is concluded from a claim, in its unit."""
        conclusion = self.tested(claim).conclusion
        assert conclusion is not None, f"claim {claim} concludes"
        return [float(one) for one in conclusion.values]

    def concluding(self, claim: str, name: str) -> str:
        """An input of what is concluded from a claim, as its file writes it."""
        conclusion = self.tested(claim).conclusion
        assert conclusion is not None, f"claim {claim} concludes"
        return conclusion.input_texts[name]

    def premise(self, claim: str, name: str) -> Input:
        """An input of what is concluded from a claim, with its source; nothing is tested."""
        (conclusion,) = (one.conclusion for one in self.claims.claims if one.id == claim)
        assert conclusion is not None, f"claim {claim} concludes"
        return conclusion.inputs[name]

    def said(self, claim: str, place: int = 0) -> str:
        """A number of a claim as ``fastcalc claims`` prints it."""
        return digits(self.values(claim)[place])

    def alongside(self, claim: str, label: str) -> float:
        """A second number of a claim, next to the deciding one."""
        return next(p.value for p in self.check(claim).finding.parts if p.label == label)

    def turn(self, claim: str, premise: str) -> float:
        """Where a premise of a claim turns its answer for the first time."""
        flips = self.check(claim).explored.flips
        return next(flip.at for flip in flips if flip.premise == premise)

    def check(self, claim: str) -> Tested:
        """The test of a claim that has one."""
        check = self.tested(claim).check
        assert check is not None, f"claim {claim} has a test"
        return check


def speed(outcome: Outcome, place: int = 0) -> str:
    """An expected speed with its range."""
    estimate = outcome.estimate
    text = number(float(estimate.speed[place]))
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({number(float(estimate.low[place]))}..{number(float(estimate.high[place]))})"


def first(outcome: Outcome) -> float:
    """The speed of the first batch. [1/s]"""
    return float(outcome.estimate.speed[0])


def price(outcome: Outcome) -> float:
    """The price of a million output tokens of the first batch. [USD]"""
    assert outcome.usd is not None, "the chip has a price"
    return float(outcome.usd[1][0])


def counted(chips: int, name: str = "wafer") -> str:
    """A count with its noun.

    Examples
    --------
    >>> counted(1), counted(2)
    ('one wafer', '2 wafers')
    """
    return f"one {name}" if chips == 1 else f"{chips:,} {name}s"


def ends_of(values: list[float]) -> list[float]:
    """The least and the largest of some numbers, each once."""
    return sorted({min(values), max(values)}) if values else []


def span(values: Iterable[float], digits: int = 2) -> str:
    """Between which ends some numbers lie; two ends that read the same are one.

    Examples
    --------
    >>> span([9.73, 4.63]), span([4.0]), span([1.001, 1.0])
    ('4.6 to 9.7', '4.0', '1.0')
    """
    return " to ".join(dict.fromkeys(number(end, digits) for end in ends_of(list(values))))


def users(found: Reach) -> str:
    """The batch of a point, or that there is none."""
    return f"{found.outcome.scenario.batches[0]:,}" if found.outcome else "never"


def some(count: int, total: int) -> str:
    """How many of a total, none and all in words.

    Examples
    --------
    >>> some(0, 4), some(3, 4), some(4, 4)
    ('none', '3', 'all')
    """
    return {0: "none", total: "all"}.get(count, f"{count}")


def is_even(ratio: float) -> bool:
    """Whether two numbers are too close to call one of them the smaller.

    Examples
    --------
    >>> is_even(1.05), is_even(0.95), is_even(1.07)
    (True, True, False)
    """
    return bool(max(ratio, 1.0 / ratio) < 1.0 + EVEN)


def dearer(multiple: float) -> str:
    """A price ratio in words.

    Examples
    --------
    >>> dearer(1.8), dearer(0.8), dearer(1.01)
    ('more expensive', 'cheaper', 'about equal')
    """
    if is_even(multiple):
        return "about equal"
    return "more expensive" if multiple > 1.0 else "cheaper"


def each_dearer(named: Sequence[tuple[str, float]]) -> str:
    """Which of some price ratios are above 1, and which below.

    Examples
    --------
    >>> each_dearer([("A", 1.8), ("B", 1.2)]), each_dearer([("A", 1.8), ("B", 0.9)])
    ('more expensive for all models', 'more expensive for A and cheaper for B')
    """
    groups: dict[str, list[str]] = {}
    for name, multiple in named:
        groups.setdefault(dearer(multiple), []).append(name)
    if len(groups) == 1:
        return f"{next(iter(groups))} for all models"
    return " and ".join(f"{word} for {listed(names)}" for word, names in groups.items())


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table without its last line break."""
    return to_markdown(list(headings), [list(row) for row in rows]).rstrip("\n")
