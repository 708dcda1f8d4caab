"""What each trick buys and costs: records, and cells for tables."""

from collections.abc import Callable
from typing import Any

from fastcalc.core.scenario import Outcome
from fastcalc.report.records import KEYS, Record, compare_records, plain
from fastcalc.search.tricks import Answer, Option
from fastcalc.search.tricks.option import TRICKS
from fastcalc.search.tricks.smaller_models import Shrunk

Command = Callable[[Outcome], str | None]
"""Returns the command that prints a point again, or None where there is none."""


def fastmode_records(answer: Answer, command: Command) -> list[Record]:
    """Return a record for today's point and one for each option.

    What the trick is and costs comes first, then the keys of ``compare``, null where no point
    reaches the speed.

    Parameters
    ----------
    answer : Answer
        All options.
    command : callable
        Returns the command that prints a point again.
    """
    today = compare_records([answer.today])[0]
    options = [Option("today", "", answer.today), *answer.options]
    return [record_of(one, today, answer.speed, command) for one in options]


def record_of(
    option: Option, today: Record, speed: float, command: Command = lambda _: None
) -> Record:
    """Return the record of one option, ratios against today's record."""
    point = dict.fromkeys(today) | {"warnings": []}
    if option.outcome is not None:
        point = compare_records([option.outcome])[0]
    low = point["tokens_per_s_per_user_low"]
    ratios = {
        "speedup": _ratio(point, today, "tokens_per_s_per_user"),
        "cost_multiple": _ratio(point, today, "usd_per_mtok_output"),
        "cost_multiple_total": _ratio(point, today, "usd_per_mtok_total"),
        "batch_ratio": _ratio(today, point, "batch"),
    }
    return {
        "trick": option.trick,
        "change": option.change or None,
        "reaches": option.outcome is not None and option.trick != "today",
        "cannot": option.why_not,
        **{key: plain(value) for key, value in ratios.items()},
        "low_end_reaches": None if low is None else low >= speed,
        **point,
        "compare": command(option.outcome) if option.outcome else None,
    }


def keys() -> list[str]:
    """Return the keys of a record."""
    return list(record_of(Option("today", "", None), dict.fromkeys(KEYS), 0.0))


def _ratio(above: Record, below: Record, key: str) -> float | None:
    """Return how many times one record's value is another's; None where either is not known."""
    if above[key] is None or not below[key]:
        return None
    return float(above[key] / below[key])


def beside(answer: Answer) -> dict[str, Any]:
    """Return what stands beside the records in JSON: the speed, the drafts, smaller shapes."""
    drafts = zip(answer.drafts, answer.tokens, answer.acceptance, strict=True)
    return {
        "target": {
            "tokens_per_s_per_user": plain(answer.speed),
            "speedup": plain(answer.speed / float(answer.today.estimate.speed[0])),
        },
        "speculation_at_todays_batch": [
            {
                "drafts": int(count),
                "tokens_per_pass_needed": plain(float(tokens)),
                "acceptance_needed": plain(float(share)),
            }
            for count, tokens, share in drafts
        ],
        "smaller_shapes_at_todays_batch": {
            "fewer_layers": _shape(answer.shorter),
            "thinner_layers": _shape(answer.thinner),
        },
    }


def _shape(shrunk: Shrunk | None) -> Record | None:
    if shrunk is None:
        return None
    return {
        "active_parameters": plain(shrunk.active_parameters),
        "total_parameters": plain(shrunk.total_parameters),
        "layers": plain(shrunk.layers),
    }


MOST_SHOWN = {
    "newer-hardware": 3,
    "other-hardware": 3,
    "fewer-bits": 2,
    "smaller-model": 2,
    "sram-machine": 3,
}
"""Options of a trick that a table shows unless asked for all."""


def shown(answer: Answer, *, everything: bool) -> tuple[list[Option], dict[str, int]]:
    """Return the options that a table shows, and how many of each trick it leaves out.

    Of a trick that reaches the speed in several ways the first few are shown, of one that never
    does the nearest.
    """
    if everything:
        return answer.options, {}
    kept: list[Option] = []
    left: dict[str, int] = {}
    for trick in TRICKS:
        options = [one for one in answer.options if one.trick == trick]
        reached = [one for one in options if one.outcome is not None]
        nearest = sorted(options, key=lambda one: -one.fastest)[:1]
        few = reached[: MOST_SHOWN.get(trick, 1)] or nearest
        kept += few
        if len(options) > len(few):
            left[trick] = len(options) - len(few)
    return kept, left
