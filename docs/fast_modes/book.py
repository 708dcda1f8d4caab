"""What the page asks of fastcalc, and how it writes a number."""

from collections.abc import Iterable, Sequence

from fastcalc.articles.claim_file import load_claims
from fastcalc.articles.judge import Tested, judge
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.pricing import PriceBasis, Pricing
from fastcalc.core.scenario import Outcome, Scenario, Sharding, engine_for, solve
from fastcalc.core.traffic import Traffic
from fastcalc.report.break_evens import digits
from fastcalc.report.numbers_as_text import number
from fastcalc.written import to_markdown

Words = dict[str, str]
"""Numbers and words by the name that the template calls them."""


class Book:
    """The catalogue, and its claims judged: what the page asks."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.claims = load_claims()
        self.judged = {one.claim.id: one for one in judge(catalogue, self.claims.claims)}

    def scenario(
        self,
        model: str,
        on: str,
        *,
        weights: str | None = None,
        chips: int | None = None,
        batch: int = 1,
        context: float = 1500.0,
        basis: PriceBasis = "cloud",
    ) -> Scenario:
        """Return a model on chips with the traffic that ``fastcalc compare`` has by default."""
        hardware = self.catalogue.hardware(on)
        engine, is_borrowed = engine_for(self.catalogue, hardware)
        return Scenario(
            hardware,
            self.catalogue.model(model),
            engine,
            (batch,),
            Traffic(1000.0, 1000.0, context),
            weights=weights,
            sharding=Sharding(chips=chips),
            pricing=Pricing(basis),
            engine_is_borrowed=is_borrowed,
        )

    def alone(self, model: str, on: str, weights: str | None = None) -> Outcome:
        """Return one user of a model on the fewest chips that hold it."""
        return solve(self.scenario(model, on, weights=weights))

    def verdict(self, claim: str) -> str:
        """Return the verdict on a claim."""
        return self.judged[claim].verdict

    def values(self, claim: str) -> list[float]:
        """Return the numbers of a claim in its unit."""
        return [float(one) for one in self.check(claim).values]

    def concluded(self, claim: str) -> list[float]:
        """Return the numbers of what is concluded from a claim, in its unit."""
        conclusion = self.judged[claim].conclusion
        assert conclusion is not None, f"claim {claim} concludes"
        return [float(one) for one in conclusion.values]

    def said(self, claim: str, place: int = 0) -> str:
        """Return a number of a claim as ``fastcalc claims`` prints it."""
        return digits(self.values(claim)[place])

    def alongside(self, claim: str, label: str) -> float:
        """Return a number alongside the one that decides a claim."""
        return next(p.value for p in self.check(claim).finding.parts if p.label == label)

    def turn(self, claim: str, premise: str) -> float:
        """Return where a premise of a claim turns its answer for the first time."""
        flips = self.check(claim).explored.flips
        return next(flip.at for flip in flips if flip.premise == premise)

    def check(self, claim: str) -> Tested:
        """Return the test of a claim that has one."""
        check = self.judged[claim].check
        assert check is not None, f"claim {claim} has a test"
        return check


def speed(outcome: Outcome, place: int = 0) -> str:
    """Return an expected speed with its range."""
    estimate = outcome.estimate
    text = number(float(estimate.speed[place]))
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({number(float(estimate.low[place]))}..{number(float(estimate.high[place]))})"


def first(outcome: Outcome) -> float:
    """Return the speed of the first batch. [1/s]"""
    return float(outcome.estimate.speed[0])


def price(outcome: Outcome) -> float:
    """Return the price of a million output tokens of the first batch. [USD]"""
    assert outcome.usd is not None, "the chip has a price"
    return float(outcome.usd[1][0])


def counted(chips: int, name: str = "wafer") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1), counted(2)
    ('one wafer', '2 wafers')
    """
    return f"one {name}" if chips == 1 else f"{chips:,} {name}s"


def some(count: int, total: int) -> str:
    """Return how many of a total, none and all in words.

    Examples
    --------
    >>> some(0, 4), some(3, 4), some(4, 4)
    ('none', '3', 'all')
    """
    return {0: "none", total: "all"}.get(count, f"{count}")


def dearer(multiple: float) -> str:
    """Return a price ratio in words.

    Examples
    --------
    >>> dearer(1.8), dearer(0.8), dearer(1.01)
    ('dearer', 'cheaper', 'about as dear')
    """
    if abs(multiple - 1.0) < 0.05:
        return "about as dear"
    return "dearer" if multiple > 1.0 else "cheaper"


def each_dearer(named: Sequence[tuple[str, float]]) -> str:
    """Return which of some price ratios are above 1, and which below.

    Examples
    --------
    >>> each_dearer([("A", 1.8), ("B", 1.2)]), each_dearer([("A", 1.8), ("B", 0.9)])
    ('dearer for all', 'dearer for A and cheaper for B')
    """
    groups: dict[str, list[str]] = {}
    for name, multiple in named:
        groups.setdefault(dearer(multiple), []).append(name)
    if len(groups) == 1:
        return f"{next(iter(groups))} for all"
    return " and ".join(f"{word} for {', '.join(names)}" for word, names in groups.items())


def share(parts: float) -> str:
    """Return one part of so many in words.

    Examples
    --------
    >>> share(15.0), share(3.0), share(2.9)
    ('fifteenth', 'third', '2.9th')
    """
    return {15.0: "fifteenth", 3.0: "third"}.get(parts, f"{parts:.3g}th")


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table without its last line break."""
    return to_markdown(list(headings), [list(row) for row in rows]).rstrip("\n")
