"""The cost of speed uncertainty, and the tipping points, as notes and records."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist

from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.odds import CONFIDENT, CONFIDENT_DEVIATIONS, DEAR, Odds
from fastcalc.features.plan.phrases import Weight, chips_and_price, weighted
from fastcalc.features.plan.refusal import limit_as_option
from fastcalc.features.plan.regret import BATCHES, Measurement
from fastcalc.features.plan.servers.programs import bench_command
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.tipping_points import TippingPoint
from fastcalc.features.plan.verdict import Verdict
from fastcalc.kit.answer.numbers_as_text import rounded_down, rounded_up, whole_percent
from fastcalc.kit.answer.parts import Note
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.mentions import option
from fastcalc.written import listed

_OUTSIDE = {
    "rate": "the rate is outside {low} to {high} requests/s",
    "prompt": "prompts are outside {low} to {high} tokens",
    "output": "outputs are outside {low} to {high} tokens",
}
"""Phrases for quantities where both an increase and a decrease lead to the same plan."""

_WORDS = {
    "price": "{of} costs ${at} per chip-hour or {more}",
    "slowness": "{of} is {at} times slower",
    "rate": "the rate is {at} requests/s or {more}",
    "prompt": "prompts have {at} tokens or {more}",
    "output": "outputs have {at} tokens or {more}",
}


def tipping_point_notes(verdict: Verdict) -> Iterator[str]:
    """Yield notes on the tipping points, each considered alone, grouped by the new leader."""
    for leads in dict.fromkeys(turn.leads for turn in verdict.turns or ()):
        texts = [*_texts([turn for turn in verdict.turns or () if turn.leads == leads])]
        any_of = "any of these is true: " * (len(texts) > 1)
        yield f"{leads} would be cheaper if {any_of}{'; '.join(texts)}"
    if verdict.turns == []:
        yield "no tipping points: fewer than two chips with colocated prefill sustain a rate"


def _texts(turns: Sequence[TippingPoint]) -> Iterator[str]:
    """Yield a text for each tipping point of a leader, or for two of the same quantity."""
    ends = {(turn.quantity, turn.is_above): _digits(turn) for turn in turns}
    for turn in turns:
        low, high = (ends.get((turn.quantity, is_above)) for is_above in (False, True))
        if low and high and turn.quantity in _OUTSIDE:
            if turn.is_above:
                yield _OUTSIDE[turn.quantity].format(low=low, high=high)
            continue
        more = "more" if turn.is_above else "less" if turn.quantity == "price" else "fewer"
        yield _WORDS[turn.quantity].format(of=turn.of, at=_digits(turn), more=more)


def _digits(turn: TippingPoint) -> str:
    return f"{(rounded_up if turn.is_above else rounded_down)(turn.at):,g}"


def tipping_point_records(verdict: Verdict) -> list[Record] | None:
    """Build the record of each tipping point. Returns None if they were not requested."""
    if verdict.turns is None:
        return None
    return [
        {
            "quantity": turn.quantity,
            "of": turn.of,
            "at": plain(turn.at),
            "side": "above" if turn.is_above else "below",
            "leads": turn.leads,
        }
        for turn in verdict.turns
    ]


CHANCE = "chance of meeting the latency limits"

_MATTERS = 0.01
"""Fraction of the cost above which regret appears on the first screen."""


def _rough(usd: float) -> str:
    """Round dollars to two digits, since they are uncertain."""
    return f"{float(f'{usd:.2g}'):,.0f}"


def chance_of_limits(verdict: Verdict) -> str:
    """Give the probability that the limits hold. Empty if it is unknown, or was requested."""
    odds = verdict.odds
    if odds is None or verdict.decision.service.deviations:
        return ""
    return f"; {whole_percent(odds.chance)} {CHANCE}"


def odds_notes(verdict: Verdict) -> Iterator[Note]:
    """Yield notes on a plan with more confidence, or on limits that a chip barely meets."""
    odds, service = verdict.odds, verdict.decision.service
    if odds is not None and verdict.decision.expected is not None:
        texts = _drivers(odds, verdict.decision, verdict.decision.expected)
        yield from weighted(Weight.ODDS, texts)
        return
    if odds is None or odds.chance >= CONFIDENT / 100.0:
        return
    chosen, confident = verdict.decision.plans[0], odds.confident
    flag = option("confidence", f"{CONFIDENT:g}")
    chance = f"a {CONFIDENT:g}% chance of meeting the limits"
    chip = "" if confident is None else confident.scenario.hardware.id
    on = "" if chip == chosen.scenario.hardware.id else f" with {chip}"
    if confident is None:
        text = f"no plan has {chance} ({flag}){_relaxed(odds, service, 'one')}"
    elif (times := confident.cost / chosen.cost) >= DEAR:
        text = (
            f"{chance} ({flag}) costs {times:,.0f} times as much{on}{_relaxed(odds, service, 'it')}"
        )
    elif times == 1.0 and not on:
        text = f"{chance} ({flag}) needs another layout or batch"
    else:
        slower = replace(service, deviations=CONFIDENT_DEVIATIONS)
        other = f"{chip}: " * bool(on)
        text = f"{chance} ({flag}) needs {other}{chips_and_price(confident, slower)}"
    yield Note(text, Weight.ODDS)


def _drivers(odds: Odds, decision: Decision, expected: Decision) -> Iterator[str]:
    """Yield why a requested confidence needs more chips, and which limit to relax."""
    service, chosen, cheapest = decision.service, decision.plans[0], expected.plans[0]
    if chosen.cost <= cheapest.cost:
        return
    text = (
        f"sized for expected speeds instead, {cheapest.scenario.hardware.id} needs only "
        f"{chips_and_price(cheapest, service)}, but meets the latency limits with a chance of "
        f"{whole_percent(odds.chance)}"
    )
    if odds.chance >= NormalDist().cdf(service.deviations):
        cap = whole_percent(service.utilization)
        yield f"{text}. More chips keep utilization within {cap} at slow speeds as well"
    else:
        relaxed = _relaxed(odds, service, "the requested chance")
        yield text + relaxed * (chosen.cost >= DEAR * cheapest.cost)


def _relaxed(odds: Odds, service: Service, what: str) -> str:
    """Say which limit to relax for a confident plan at a reasonable cost. Empty if none."""
    options = [limit_as_option(name, value, service) for name, value in odds.relaxed.items()]
    relaxed = f". With {listed(options, 'or')}, {what} costs at most {DEAR:g} times as much"
    return relaxed if options else ""


def regret_notes(verdict: Verdict) -> Iterator[Note]:
    """Yield notes on the cost of speed uncertainty, and the benchmark that reduces it most."""
    regret = verdict.regret
    if regret is None:
        return
    before, bill = regret.expected[0], regret.plans[0].usd_per_month or 0.0
    weight = Weight.REGRET if before > _MATTERS * bill else 0
    text = f"uncertain speeds cost ${_rough(before)} per month on average"
    best = next(iter(regret.measurements), None)
    if best is None or best.regret + best.usd >= before:
        yield Note(f"{text}, and no benchmark pays for itself", weight)
        return
    chip, saved = best.plan.scenario.hardware.id, before - best.regret
    chips = f"{best.chips} rented {chip} chips" if best.chips > 1 else f"one rented {chip}"
    benchmark = f"a {best.minutes}-minute benchmark on {chips}"
    yield Note(
        f"{benchmark} (${best.usd:,.2f}) may show that another plan is cheaper; on average, it "
        f"saves about ${_rough(saved)} per month",
        weight,
    )
    server = f"the server that {option('on', chip)} {option('emit', 'vllm')} prints"
    has_vllm = best.plan.scenario.hardware.kind in ("gpu", "npu", "soc", "tpu")
    yield Note(
        f"to measure {chip}, start {server if has_vllm else 'its server'}, run "
        f"'{bench_command(best.plan, verdict.model)}', and pass its file with {option('like')}. "
        f"Predicted speed is then within {whole_percent(best.error - 1.0)}. In {best.minutes} "
        f"minutes, the server loads the weights and processes {BATCHES} batches",
        weight=0,
    )


def regret_record(verdict: Verdict) -> Record | None:
    """Build a record of each plan's regret, with the cost and remaining regret of measurements."""
    regret = verdict.regret
    if regret is None:
        return None
    plans = [
        {
            "hardware": plan.scenario.hardware.id,
            "usd_per_month": plain(plan.usd_per_month),
            "expected_regret_usd_per_month": plain(usd),
        }
        for plan, usd in zip(regret.plans, regret.expected, strict=True)
    ]
    before = regret.expected[0]
    return {
        "plans": plans,
        "measurements": [
            _measurement(measured, before, verdict.model) for measured in regret.measurements
        ],
    }


def _measurement(measured: Measurement, before: float, model: str) -> Record:
    plan, removed = measured.plan, before - measured.regret
    return {
        "hardware": plan.scenario.hardware.id,
        "chips": measured.chips,
        "batch": plain(plan.batch),
        "minutes": measured.minutes,
        "usd": plain(measured.usd),
        "error_then": plain(measured.error),
        "expected_regret_usd_per_month_then": plain(measured.regret),
        "removed_per_usd": plain(removed / measured.usd) if measured.usd else None,
        "command": bench_command(plan, model),
    }
