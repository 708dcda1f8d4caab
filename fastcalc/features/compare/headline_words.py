"""Write headlines: the fastest and the cheapest chips, with batch and number of chips."""

from collections.abc import Sequence
from math import lcm

from fastcalc.core.outcome import Outcome
from fastcalc.core.ratios import Ranged
from fastcalc.features.compare.headline import Headline, Statement, headline
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.record_tables import output_price, user_speed
from fastcalc.kit.answer.row_words import TableRow, alone, by_prices_of, interval
from fastcalc.mentions import option
from fastcalc.written import first_few, listed

_MOST_NAMED = 4
"""Maximum number of chips that a sentence names."""

_MOST_TIMES = 8
"""Largest ratio of chip counts at which a comparison at equal counts is suggested."""

_BEST = {"speed": "Fastest", "cost": "Cheapest"}

_LINE = 100
"""Maximum width of a headline in characters. Clauses that do not fit are dropped."""


def sentences(stated: Headline) -> list[str]:
    """Return a model's headline: speed and price, on two lines if there are several chips."""
    stated_sentences = [*filter(None, (speed(stated), cost(stated)))]
    return stated_sentences if stated.has_rivals else [" ".join(stated_sentences)]


def hints(stated: Headline) -> list[str]:
    """Return hints on using more chips: for batches without a row, or for equal chip counts."""
    fastest, texts = stated.fastest, list[str]()
    if fastest is None:
        return texts
    chips = [f"{listed([f'{batch:,}' for batch in of])} on {chip}" for chip, of in stated.left_out]
    if chips:
        unnamed = len(chips) - _MOST_NAMED
        chips[_MOST_NAMED:] = [f"some on {unnamed:,} more"] * (unnamed > 0)
        texts.append(f"more chips hold larger batches, which may be cheaper: {'; '.join(chips)}")
    if stated.has_rivals and not stated.is_sized:
        counts = {row.chips for row in (*fastest.leaders[:_MOST_NAMED], *_others(fastest))}
        *fewer, largest = sorted(counts)
        step = lcm(*fewer)
        equal = -(-largest // step) * step  # 24 for 8 and 19 chips
        if len(counts) > 1 and equal <= _MOST_TIMES * min(counts):
            add = option("chips", f"{equal}")
            texts.append(f"to compare equal numbers of chips, add {add}")
    return texts


def speed(stated: Headline) -> str:
    """Name the fastest chips, or give the speed per user of a single chip."""
    fastest = stated.fastest
    if fastest is None:
        too_small = [name for name in stated.tried if name not in stated.stopped]
        clauses = [
            f"does not {verb} on {listed(first_few(names, _MOST_NAMED), 'or')}"
            for verb, names in (("start", stated.stopped), ("fit", too_small))
            if names
        ]
        sentence = f"{stated.model} {listed(clauses)} at batch {stated.smallest_batch:,}."
        needs = []
        for chip, needed in stated.left_out:
            smallest, largest = min(needed), max(needed)
            words = f"{needed[smallest]:,} {chip} at batch {smallest:,}"
            more = f" and {needed[largest]:,} at batch {largest:,}"
            needs.append(words + more * (needed[largest] > needed[smallest]))
        verb = "needs" if too_small else "starts on"
        return f"{sentence} It {verb} {listed(first_few(needs, 2))}." if needs else sentence
    return f"{_fastest(fastest)}." if stated.has_rivals else alone(fastest.leaders[0])


def cost(stated: Headline) -> str:
    """Name the cheapest chips, or the cheapest batch of a single chip."""
    cheapest = stated.cheapest
    if cheapest is None:
        return "No price is known." if stated.fastest and stated.has_rivals else ""
    if stated.has_rivals:
        return f"{_cheapest(cheapest)}{by_prices_of([*cheapest.leaders, *cheapest.others])}."
    (row,) = cheapest.leaders
    assert stated.fastest is not None
    on = f" on {row.name}" if row.chips != stated.fastest.leaders[0].chips else ""
    return (
        f"Cheapest at batch {row.batch:,}{on}: {output_price(row.record)}/Mtok at "
        f"{user_speed(row.record)} tokens/s per user."
    )


def leaders(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """Name the fastest and the cheapest chips. Both are empty if nothing fits."""
    stated = headline(outcomes)
    fastest, cheapest = stated.fastest, stated.cheapest
    if cheapest is None and fastest is not None and fastest.leaders[0].price is not None:
        cheapest = Statement("cost", fastest.leaders)
    return _in_short(fastest), _in_short(cheapest)


def _in_short(statement: Statement | None) -> str:
    if statement is None:
        return ""
    row = statement.leaders[0]
    if statement.is_level:
        return f"{listed([row.name for row in statement.leaders[:_MOST_NAMED]])}, tied"
    return f"{row.name}, {_amount(row, statement.figure)}"


def times(ratio: Ranged) -> str:
    """Format a ratio of two predictions with its 80% interval.

    >>> none = float("nan")
    >>> times(Ranged(19.04, 11.2, 32.9)), times(Ranged(1.2, none, none))
    ('19x (11 to 33)', '1.2x (range undetermined)')
    """
    return f"{number(float(ratio.expected), 2)}x ({interval(ratio)})"


def _fastest(statement: Statement) -> str:
    if statement.is_level:
        return _level(statement)
    leader, comparison = statement.leaders[0], statement.comparison
    sentence = f"Fastest: {leader.name} at batch {leader.batch:,}, {_amount(leader, 'speed')}"
    rivals = _others(statement)
    if comparison is not None:
        rivals.remove(comparison.under)
        sentence += f", {times(comparison.ratio)} as fast as {comparison.under.name}"
    slower = [
        f"{row.name} {'gives' if row.chips == 1 else 'give'} "
        f"{user_speed(row.record)}{_at_batch(row, leader)}"
        for row in rivals
    ]
    return _in_a_line([sentence, *slower])


def _others(statement: Statement) -> list[TableRow]:
    """Return the rows to name after the fastest: up to the first one used in a ratio."""
    if statement.is_level:
        return []
    comparison = statement.comparison
    last = statement.others.index(comparison.under) if comparison else 0
    names = [*statement.others[: last + 1]]
    return names if len(names) < _MOST_NAMED else [*names[: _MOST_NAMED - 2], names[-1]]


def _at_batch(row: TableRow, leader: TableRow) -> str:
    return "" if row.batch == leader.batch else f" at batch {row.batch:,}"


def _cheapest(statement: Statement) -> str:
    leader, comparison = statement.leaders[0], statement.comparison
    if statement.is_level:
        return _level(statement)
    sentence = f"Cheapest: {leader.name} at batch {leader.batch:,}, {_amount(leader, 'cost')}"
    if comparison is not None:
        over, under, ratio = comparison.over, comparison.under, times(comparison.ratio)
        if under == leader:
            return f"{sentence}; {_costs(over)} {output_price(over.record)}, {ratio} as much"
        at, named = f"at batch {over.batch:,}, ", f" as {under.name}" * (under.name != leader.name)
        if comparison.is_level:
            return f"{sentence}; {at}{over.name} is tied with {under.name}"
        return f"{sentence}; {at}{_costs(over)} {ratio} as much{named}"
    if not statement.others:
        return f"{sentence}; no other has a price"
    row = statement.others[0]
    return _in_a_line(
        [sentence, f"{_costs(row)} {output_price(row.record)}{_at_batch(row, leader)}"]
    )


def _costs(row: TableRow) -> str:
    return f"{row.name} {'costs' if row.chips == 1 else 'cost'}"


def _in_a_line(clauses: Sequence[str]) -> str:
    """Join as many clauses as fit on a line, and add a full stop."""
    sentence, *more = clauses
    for clause in more:
        if len(f"{sentence}; {clause}.") > _LINE:
            break
        sentence += f"; {clause}"
    return sentence


def _level(statement: Statement) -> str:
    """Name the tied rows, each with its batch, or with the batch they all share."""
    rows = statement.leaders
    leader, shared = rows[0], len({row.batch for row in rows}) == 1
    at = f" at batch {leader.batch:,}" if shared else ""
    amounts = [_amount(leader, statement.figure)]
    amounts += [_bare_amount(row, statement.figure) for row in rows[1:]]
    names = [
        f"{row.name}{'' if shared else f' at batch {row.batch:,}'} ({amount})"
        for row, amount in zip(rows, amounts, strict=True)
    ]
    sentences_of = [
        f"{_BEST[statement.figure]}{at}: uncertain, {listed(first_few(names, count), 'or')}"
        for count in range(_MOST_NAMED, 1, -1)
    ]
    shortest = sentences_of[-1].replace(" per user", "")
    return next((text for text in sentences_of if len(text) < _LINE), shortest)


def _amount(row: TableRow, figure: str) -> str:
    unit = " tokens/s per user" if figure == "speed" else "/Mtok"
    return f"{_bare_amount(row, figure)}{unit}"


def _bare_amount(row: TableRow, figure: str) -> str:
    return user_speed(row.record) if figure == "speed" else output_price(row.record)
