"""The first screen of a comparison: a sentence that answers, one table, and how to read it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from fastcalc.core.columns import pick
from fastcalc.core.scenario import Outcome
from fastcalc.report import record_tables
from fastcalc.report.console import Part, Screen
from fastcalc.report.numbers_as_text import WORDS, counted, dollars, number, parameters, size
from fastcalc.report.records import Record, compare_records

_SHOWN = pick(
    "batch tokens_per_s_per_user tokens_per_s_per_user_low tokens_per_s_per_user_bound "
    "tokens_per_s_total ttft_ms usd_per_mtok_output limiter",
    keep="tokens_per_s_per_user_low tokens_per_s_per_user_bound",
)
_COLUMNS = (
    record_tables.words("|chips", lambda one: one["label"]),
    record_tables.words("|lives in", lambda one: one["lives"], 7),
    *(
        replace(one, format=lambda row: row["batches"]) if one.key == "batch" else one
        for one in _SHOWN
    ),
)
_KEY = (
    "key: tok/s a user is decode alone, with its 80 % range and the bound, which no software "
    "exceeds; $/Mtok is of output, prompts priced apart; needs N: that batch takes N chips"
)


def parts(
    outcomes: Sequence[Outcome],
    notes: tuple[Sequence[str], Sequence[str]],
    then: str,
    screen: Screen,
) -> list[Part]:
    """Return a sentence that answers, a table for each model, few or all notes, what is next."""
    found: list[Part] = []
    models = [list(group) for _, group in groupby(outcomes, lambda one: one.scenario.model.id)]
    rows = [[cells for one in group for cells in _rows(one)] for group in models]
    tables = record_tables.tables(_COLUMNS, rows, screen.width)
    for group, table in zip(models, tables, strict=True):
        found += [*[""][: len(found)], verdict(group), "", heading(group[0]), table]
    return [*found, screen.under_table(_KEY, *notes, then)]


def heading(outcome: Outcome) -> str:
    """Return what is compared, in a line: the model as it is held, and the traffic."""
    work, traffic = outcome.placement.work, outcome.scenario.traffic
    return (
        f"{outcome.scenario.model.name}: {parameters(work.total_parameters)} parameters, "
        f"{work.weight_format} {size(work.weight_bytes)}; prompt {traffic.prompt:,.0f}, output "
        f"{traffic.output:,.0f} tokens"
    )


def _rows(outcome: Outcome) -> Iterator[record_tables.Row]:
    """Yield the cells of each batch; those that do not fit share a row."""
    layout = outcome.placement.layout
    lives = " ".join(filter(None, (outcome.memories, str(layout))))
    label = f"{layout.chips} x {outcome.scenario.hardware.id}"
    for fits, group in groupby(compare_records([outcome]), lambda record: bool(record["fits"])):
        records = list(group)
        for some in [[one] for one in records] if fits else [records]:
            shown = {**some[0], "label": label, "lives": lives}
            shown["batches"] = ", ".join(f"{one['batch']:,}" for one in some)
            limits = (record_tables.row(pick("limiter"), one)["limiter"] for one in some)
            first, *others = dict.fromkeys(limits)
            word = first.rpartition(" ")[0]  # which is said once
            said = ", ".join([first, *(one.removeprefix(f"{word} ") for one in others)])
            yield record_tables.row(_COLUMNS, shown) | {"limiter": said}
            label = lives = ""


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Return what a comparison of chips says, at the largest batch that most of them hold."""
    held: dict[int, list[tuple[Record, Outcome]]] = {}
    for outcome in outcomes:
        for record in compare_records([outcome]):
            if record["fits"]:
                held.setdefault(record["batch"], []).append((record, outcome))
    if not held:
        least = min(batch for outcome in outcomes for batch in outcome.scenario.batches)
        return f"No chip here holds {outcomes[0].scenario.model.id} at batch {least:,}."
    batch = max(held, key=lambda one: (len(held[one]), one))
    rated = sorted(held[batch], key=lambda one: -one[0]["tokens_per_s_per_user"])
    best = rated[0]
    who = _named(best)
    pause = "" if best[0]["chips"] in WORDS else ","
    gives = "gives" if best[0]["chips"] == 1 else "give"
    if len(rated) == 1:
        low, high = (best[0][f"tokens_per_s_per_user_{end}"] for end in ("low", "high"))
        within = "range undetermined" if low is None else f"{number(low)} to {number(high)}"
        price = best[0]["usd_per_mtok_output"]
        cost = f" at ${dollars(price)} a million output tokens" if price is not None else ""
        return (
            f"At batch {batch:,}{pause} {who} {gives} each user "
            f"{number(best[0]['tokens_per_s_per_user'])} tokens/s ({within}){cost}; "
            f"{best[0]['limiter']} limits it."
        )
    return f"At batch {batch:,}{pause} {who} {gives} each user {_against(best, rated[1:])}"


def _against(best: tuple[Record, Outcome], others: Sequence[tuple[Record, Outcome]]) -> str:
    fast, second = best[0], others[0][0]
    ratio = number(fast["tokens_per_s_per_user"] / second["tokens_per_s_per_user"], 2)
    low, high = fast["tokens_per_s_per_user_low"], second["tokens_per_s_per_user_high"]
    unsure = " (ranges undetermined)"
    if low is not None and high is not None:
        unsure = " (their ranges overlap)" if low < high else ""
    times = "about" if ratio == "1.0" else f"{ratio} times"
    said = f"{times} the speed of {_named(others[0])}{unsure}"
    priced = [one for one in (best, *others) if one[0]["usd_per_mtok_output"] is not None]
    if fast["usd_per_mtok_output"] is None or second["usd_per_mtok_output"] is None:
        return f"{said}; not all have a price."
    factor = number(fast["usd_per_mtok_output"] / second["usd_per_mtok_output"], 2)
    origins = [one.scenario.pricing.origin(one.scenario.hardware) for _, one in (best, others[0])]
    is_doubtful = any(one is not None and one.confidence == "low" for one in origins)
    by = ", by a price of low confidence" if is_doubtful else ""
    cheapest = min(priced, key=lambda one: one[0]["usd_per_mtok_output"])
    said = f"{said} at {factor} times the price a token{by}."
    if cheapest[0] in (fast, second):
        return said
    cost = dollars(cheapest[0]["usd_per_mtok_output"])
    return f"{said} Cheapest: {_named(cheapest)}, ${cost} a million output tokens."


def _named(one: tuple[Record, Outcome]) -> str:
    return counted(one[0]["chips"], one[0]["hardware"])
