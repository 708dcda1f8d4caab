"""What each trick buys and costs, as a table with notes."""

from collections.abc import Sequence
from dataclasses import replace
from math import isnan

import numpy as np

from fastcalc.core.chip.formats_run import format_notes
from fastcalc.core.ratios import Ranged
from fastcalc.core.scenario import Outcome, each_warning
from fastcalc.features.fastmode import factors
from fastcalc.features.fastmode.lighter_passes import PUBLISHED
from fastcalc.features.fastmode.option import TRICKS, Option
from fastcalc.features.fastmode.records import (
    COLUMNS,
    MOST_SHOWN,
    factors_of,
    no_option_reaches,
    rows,
)
from fastcalc.features.fastmode.smaller_models import SmallerShape
from fastcalc.features.fastmode.solve import FastModeAnswer
from fastcalc.features.fastmode.start import WAFERS, most_chips
from fastcalc.formulas.types import floats
from fastcalc.grid.columns import Column, pick
from fastcalc.kit.answer import outcome_lines, record_tables
from fastcalc.kit.answer.console import THINNEST, Part, Remark, Screen
from fastcalc.kit.answer.numbers_as_text import counted, dollars, number, parameters
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.prices import other_prices, price_line, prices
from fastcalc.kit.answer.row_words import interval
from fastcalc.mentions import option
from fastcalc.written import many


def _how(record: Record) -> str:
    change, cannot = _marked(record), record["cannot"]
    if cannot:
        return f"cannot: {change}, {cannot}" if change else f"cannot: {cannot}"
    unpriced = None if record["usd_per_mtok_output"] is not None else "no price"
    return "; ".join(word for word in (change, record["limiter"], unpriced) if word)


def _marked(record: Record) -> str | None:
    """Return what is changed, with a star where the answers change with it."""
    change: str | None = record["change"]
    return f"{change} *" if record["changes_answers"] else change


def _called(record: Record) -> str:
    """Return what people call a trick; a lower speed has a larger batch."""
    if record["trick"] == "smaller-batch" and (record["batch_ratio"] or 1.0) < 1.0:
        return "larger batch"
    return str(TRICKS.get(record["trick"], record["trick"]))


TABLE = pick(
    "trick batch chips tokens_per_s_per_user tokens_per_s_per_user_low "
    "tokens_per_s_per_user_bound usd_per_mtok_output cost_multiple how",
    [
        *COLUMNS,
        # All rows have the speed that was asked for: what differs is the cost.
        *(replace(column, is_key_figure=False) for column in pick("tokens_per_s_per_user")),
        Column("trick", heading=("", "trick"), format=_called),
        Column("how", heading=("how; what limits it next,", "or why it cannot"), format=_how),
    ],
)


def identity(answer: FastModeAnswer) -> str:
    """Return the identity of batches, in the numbers of the smaller batch where it reaches."""
    law = "on fixed hardware, cost multiple x speed-up = batch ratio"
    smaller = next(option for option in answer.options if option.trick == "smaller-batch")
    if smaller.outcome is None:
        return f"{law}; here no batch is fast enough, whatever it costs"
    today, row = rows(answer, [smaller])
    speedup, batches = row["speedup"], row["batch_ratio"]
    cost = row["cost_multiple"] or batches / speedup
    reported = (
        f"{law}: {number(cost)} x {number(speedup)} = {number(batches)} = {today['batch']:,} / "
        f"{row['batch']:,}, for output tokens at the same use of the hours paid for"
    )
    total = row["cost_multiple_total"]
    if total is not None:
        reported += (
            f"; with prompts in the mix a token costs {number(total)} times as much, and a lane "
            "that stands idle half of the time twice that"
        )
    return reported


def drafts_needed(answer: FastModeAnswer) -> str:
    """Return what speculation would need at today's batch, draft by draft."""
    parts = []
    for count, tokens, share in zip(answer.drafts, answer.tokens, answer.acceptance, strict=True):
        if isnan(tokens):
            parts.append(f"{count:.0f}: the bound is below it")
        elif isnan(share):
            parts.append(f"{count:.0f}: {number(tokens)}, more than it can yield")
        else:
            parts.append(f"{count:.0f}: {number(tokens)} (acceptance {share:.2f})")
    batch = answer.today.scenario.batches[0]
    if all(isnan(share) for share in answer.acceptance):
        return (
            f"speculation at batch {batch:,}: no acceptance below 1 reaches it with 1 to "
            f"{len(parts)} drafts, as verifying them takes too long"
        )
    return f"speculation at batch {batch:,}, tokens a pass needed by drafts: " + ", ".join(parts)


def parts(
    answer: FastModeAnswer,
    options: Sequence[Option],
    left: dict[str, int],
    phrases: Sequence[str],
    next_command: str,
    screen: Screen,
) -> list[Part]:
    """Return the cheapest ways in a sentence, a table of what reaches the speed, and notes."""
    reach = [option for option in options if option.outcome is not None]
    first = dict[str, Option]()
    for way in reach:
        first.setdefault(way.trick, way)
    leading = (answer.on_same_chips, answer.on_another_machine)
    shown = [option for option in reach if option in leading or option is first[option.trick]]
    shown.sort(key=lambda option: option not in answer.same_answers)
    outcomes = _drawn(answer, shown)
    missed = dict.fromkeys(
        TRICKS[option.trick]
        for option in options
        if option.trick not in first and not option.is_ruled_out
    )
    short_notes = [f"cannot: {', '.join(missed)}; {option('wide')} says why"] if missed else []
    named = [answer.today, *(way.outcome for way in leading if way and way.outcome)]
    scenarios = [outcome.scenario for outcome in named]
    short_notes += other_prices(outcomes, scenarios)
    warnings = each_warning(outcomes)
    short_notes += [*warnings, *_start(answer)]
    all_notes = notes(answer, options, left)
    priced = price_line(scenarios)
    if screen.wide:
        table = record_tables.table(TABLE, rows(answer, options), screen.width, {"how": 0})
        waterfall = factors_of(answer, answer.cheapest)
        factor_parts = factors.parts(waterfall, screen.width) if waterfall else []
        key = record_tables.with_mark(_KEY, table)
        under = screen.under_table(key, short_notes, all_notes, next_command)
        head = [
            outcome_lines.heading_in_full(answer.today, phrases),
            "",
            _sentence(answer),
            *priced,
        ]
        return [*head, table, *factor_parts, under]
    columns = [replace(o, heading=("", "how"), format="") if o.key == "how" else o for o in TABLE]
    cells = [{**record, "how": _marked(record)} for record in rows(answer, shown)]
    cells[0]["how"] = f"limited by {cells[0]['limiter']}"
    table = record_tables.table(columns, cells, screen.width, {"how": THINNEST})
    key = record_tables.with_mark(_KEY, table)
    under = screen.under_table(key, short_notes, all_notes, next_command)
    return [_sentence(answer), *priced, *_first_way(answer), "", table, under]


_ANSWERS_REST_ON = ("model", "weight_format", "kv_format")

_KEY = (
    f"key: each row is the cheapest tried ({option('notes')}), at its largest batch expected to "
    "reach the speed, those that keep the answers first; cost: an output token's over today's; "
    "smaller model: the largest that reaches it; *: another model or fewer bits change the "
    "answers, so such a row leads only where its model or format is named"
)


def _tried(answer: FastModeAnswer) -> str:
    """Say how many chips are tried, and which batches."""
    chips, today = answer.today.placement.layout.chips, answer.today.scenario.hardware.id
    return (
        f"tried: up to {most_chips(answer.today):,} {today}; of other chips as many as today's "
        f"{chips:,}, as a fast link joins or as the model needs; of SRAM machines {WAFERS} times "
        "as many as it needs; batches with as many users on each replica"
    )


def _start(answer: FastModeAnswer) -> list[str]:
    """Say why today's users are faster than was asked: no more of them fit in memory."""
    wanted_speed, place = answer.asked_start, answer.today.placement
    batch, speed = answer.today.scenario.batches[0], number(float(answer.today.estimate.speed[0]))
    if wanted_speed is None or batch < place.max_batch or speed == number(wanted_speed):
        return []
    chips = counted(place.layout.chips, answer.today.scenario.hardware.id)
    return [
        f"today's users get {speed} tokens/s, not the {number(wanted_speed)} asked for: the memory "
        f"of {chips} holds no more than {batch:,}; {option('chips')} starts from more"
    ]


def _drawn(answer: FastModeAnswer, options: Sequence[Option]) -> list[Outcome]:
    return [answer.today, *(option.outcome for option in options if option.outcome is not None)]


def _sentence(answer: FastModeAnswer) -> str:
    today, batch = answer.today, answer.today.scenario.batches[0]
    speed, chips = float(today.estimate.speed[0]), today.placement.layout.chips
    users = "its one user" if batch == 1 else f"each of {batch:,} users"
    if _start(answer):
        users += f", all that memory holds ({number(answer.asked_start or 0.0)} was asked for)"
    begun = (
        f"{today.scenario.model.asked_name} on {chips:,} {today.scenario.hardware.id}, "
        f"{number(speed)} tokens/s for {users}, to {number(answer.speed)} "
        f"({number(answer.speed / speed)}x)"
    )
    if answer.cheapest is None and answer.reached:
        return f"{begun}: only with fewer bits or another model, which change the answers."
    if answer.cheapest is None:
        return f"{begun}: {no_option_reaches(answer)}."
    return f"{begun}: {'; '.join(_ways(answer))}."


def _ways(answer: FastModeAnswer) -> list[str]:
    """Return the cheapest way on today's kind of chip, then on another, each with its cost."""
    on_same_chips, on_other_chips = answer.on_same_chips, answer.on_another_machine
    today = answer.today.scenario.hardware.id
    first = f"on {today} {_way(answer, on_same_chips)}" if on_same_chips else f"no way on {today}"
    if not on_other_chips:
        return [first]
    return [first, f"on another machine {_way(answer, on_other_chips)}"]


def _first_way(answer: FastModeAnswer) -> list[Part]:
    """Return what the way that the sentence names first multiplies up to, and how it comes about.

    A pass of it, and what all of its users get, on which the cost of a token depends.
    """
    way = answer.on_same_chips or answer.on_another_machine
    if way is None or way.outcome is None:
        return []
    subject = "The first" if answer.on_same_chips and answer.on_another_machine else "That"
    texts: list[str] = []
    records = rows(answer, [way])
    for outcome, record in zip((answer.today, way.outcome), records, strict=True):
        tokens = float(np.squeeze(outcome.scenario.traffic.speculation.tokens_per_pass))
        words = "one token" if tokens == 1.0 else f"{number(tokens)} tokens"
        chips = f"{record['chips']:,} {record['hardware']}"
        texts += [
            f"{number(record['tpot_ms'] * tokens)} ms for {words} of each user",
            f"{many(record['batch'], 'user')} on {chips}, together "
            f"{number(record['tokens_per_s_total'])} tokens/s",
        ]
    pass_today, all_today, pass_then, all_then = texts
    today, then = ([record[key] for key in _ANSWERS_REST_ON] for record in records)
    explained = (
        f"{subject} is {factors.product(factors_of(answer, way))}. "
        f"{'It keeps the answers as they are. ' * (today == then)}"
        f"A pass takes {pass_then}, and serves {all_then}; today {pass_today}, {all_today}."
    )
    return [Remark(explained)]


def _way(answer: FastModeAnswer, option: Option) -> str:
    """Return a trick, what it changes, its users where they are fewer or more, and its cost."""
    _, record = rows(answer, [option])
    how = f" ({option.change})" if option.change else ""
    if (batch := record["batch"]) != answer.today.scenario.batches[0]:
        how += " for one user" if batch == 1 else f" for {batch:,} users"
    cost = record["cost_multiple"]
    if cost is None or option.outcome is None:
        return f"{_called(record)}{how}, which has no price"
    phrase = f"{_called(record)}{how} at {dollars(cost)} times the cost"
    low, high = record["cost_multiple_low"], record["cost_multiple_high"]
    phrase += "" if low is None else f" ({interval(Ranged(*map(floats, (cost, low, high))))})"
    return phrase


def notes(answer: FastModeAnswer, options: Sequence[Option], left: dict[str, int]) -> list[str]:
    """Return what a reader must know to trust the table, a line each."""
    drawn = _drawn(answer, options)
    published = ", ".join(f"{count}: {tokens}" for count, tokens in PUBLISHED.items())
    lines = [
        identity(answer),
        *_start(answer),
        _tried(answer),
        _low_end(answer, options),
        drafts_needed(answer),
        "the speculation row takes the tokens a pass that are published for DeepSeek-R1 with its "
        f"own drafts on eight B200, by drafts {published}; other models and texts differ",
        _shapes(answer),
        "fewer bits and smaller models (*) change the answers, drafts do not; what that is worth "
        "is not computed",
        prices(drawn),
        *dict.fromkeys(note for outcome in drawn for note in _formats(outcome)),
        *each_warning(drawn),
    ]
    if left:
        reported = ", ".join(f"{count} of {TRICKS[trick]}" for trick, count in left.items())
        lines.append(f"not shown: {reported}; {option('everything')} shows them")
    return lines


def _formats(outcome: Outcome) -> list[str]:
    """Return a note where the units of a chip say which formats run, as its engine does not."""
    scenario, model = outcome.scenario, outcome.scenario.model
    chosen_formats = {scenario.weights, scenario.kv} - {None, model.weight_format, model.kv_format}
    return format_notes(scenario.engine, scenario.hardware, *sorted(filter(None, chosen_formats)))


def _low_end(answer: FastModeAnswer, options: Sequence[Option]) -> str:
    if not answer.reached:
        return no_option_reaches(answer)
    _, *records = rows(answer, options)
    sure = [
        f"{_called(record)} ({option.change})" if option.trick in MOST_SHOWN else _called(record)
        for option, record in zip(options, records, strict=True)
        if record["low_end_reaches"]
    ]
    return (
        "each row is at the largest batch that is expected to reach the speed; at the low end of "
        f"the 80 % range it is reached by {', '.join(sure) or 'none of the rows'}"
    )


def _shapes(answer: FastModeAnswer) -> str:
    today = answer.today.placement.work
    batch, chips = answer.today.scenario.batches[0], answer.today.placement.layout.chips
    reported = f"a hypothetical smaller model, at batch {batch:,} on today's {chips} chips: "
    fewer, thinner = answer.fewer_layers, answer.thinner_layers
    deep = "no number of the same layers reaches it"
    if fewer is not None:
        deep = f"{_shape(fewer)} in {fewer.layers:.0f} of the {today.layers:.0f} layers reach it"
    wide = "with thinner feed-forward networks alone none does"
    if thinner is not None:
        wide = f"with thinner feed-forward networks alone {_shape(thinner)}"
    return f"{reported}{deep}; {wide}"


def _shape(shape: SmallerShape) -> str:
    active = parameters(shape.active_parameters)
    if shape.total_parameters > shape.active_parameters:
        return f"{active} active of {parameters(shape.total_parameters)} parameters"
    return f"{active} parameters"
