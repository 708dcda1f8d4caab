"""The sentence that opens a comparison is true of the rows below it, each at its own batch."""

import itertools
import json
import math
import os
import random
import re
from html import escape

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import solve
from fastcalc.core.scenario import Sharding
from fastcalc.features.compare.headline import Comparison, headline
from fastcalc.features.compare.headline_words import sentences
from fastcalc.features.compare.request import Compare
from fastcalc.features.fastmode.option import TRICKS
from fastcalc.kit.answer.numbers_as_text import WORDS, counted, dollars, number
from fastcalc.kit.answer.point_records import compare_records
from fastcalc.kit.answer.row_words import TableRow
from fastcalc.kit.request.scenarios import scenarios
from tests import made_up
from tests.helpers import Ran, every, outcome, run_once, thorough, words
from tests.strategies import scaled

REQUESTS = int(os.environ.get("FASTCALC_REQUESTS", scaled(15)))
FIRST = int(os.environ.get("FASTCALC_FIRST_SEED", "0"))
FEW = int(os.environ.get("FASTCALC_REQUESTS", scaled(3)))
CHIPS = ("h100-sxm", "gb200", "mi300x", "rtx-4090", "a40", "wse-3", "wse-2", "tpu-v6e", "groq-lpu")
MODELS = ("llama-3.1-8b", "llama-3.1-70b", "gpt-oss-120b", "qwen3-30b-a3b")
COUNTS = {word: count for count, word in WORDS.items()}


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def call(*request, columns=80) -> Ran:
        monkeypatch.setenv("COLUMNS", str(columns))
        return run_once(*request, capsys=capsys, monkeypatch=monkeypatch)

    return call


def count(text):
    return COUNTS.get(text) or int(text.replace(",", ""))


def ratio(over, under, low_over, high_under, high_over, low_under):
    """A ratio with its range, squares of deviations in the logarithm added up."""
    if None in (low_over, high_under, high_over, low_under):
        return over / under, None, None
    down = math.hypot(math.log(over / low_over), math.log(high_under / under))
    up = math.hypot(math.log(high_over / over), math.log(under / low_under))
    return over / under, over / under * math.exp(-down), over / under * math.exp(up)


def printed(values):
    return tuple(None if value is None else number(value, 2) for value in values)


def ends(row):
    speed = "tokens_per_s_per_user"
    return row[speed], row[f"{speed}_low"], row[f"{speed}_high"]


SPEED, COST = "tokens_per_s_per_user", "usd_per_mtok_output"


def interval(over, under, figure):
    """A ratio of two records with its 80% interval; the slow end of a speed is the dear end."""
    fast, slow = (over, under) if figure == "speed" else (under, over)
    (one, one_low, one_high), (two, two_low, two_high) = ends(fast), ends(slow)
    value, low, high = ratio(one, two, one_low, two_high, one_high, two_low)
    if figure == "speed" or over[COST] is None or under[COST] is None:
        return value, low, high
    scale = over[COST] / under[COST] / value
    return tuple(None if end is None else end * scale for end in (value, low, high))


def holds_one(over, under, figure):
    _, low, high = interval(over, under, figure)
    return low is not None and low < 1.005 and high > 1 / 1.005  # ends that print as 1.00 are 1


def compared(chance):
    """The outcomes and records of a random comparison of one model."""
    chips = chance.sample(CHIPS, chance.choice([1, 2, 2, 3, 4]))
    batches = sorted(chance.sample([1, 2, 8, 32, 100, 256], chance.choice([1, 2, 4])))
    request = Compare(
        models=[chance.choice(MODELS)],
        on=",".join(chips),
        batch=",".join(map(str, batches)),
        prompt=chance.choice([500, 8000]),
        engine="ideal" if chance.random() < 0.1 else None,
        price_basis="tco" if chance.random() < 0.2 else "cloud",
        chips=chance.choice([2, 4, 8]) if chance.random() < 0.3 else None,
        max_num_seqs=chance.choice([4, 64]) if chance.random() < 0.2 else None,
    )
    outcomes = [solve(scenario) for scenario in scenarios(request, [])]
    return outcomes, compare_records(outcomes)


def check_statement(statement, rows, figure, key, best):
    """Rows of the table; one winner only where no interval holds 1; ratios at equal batch."""
    named = [*statement.leaders, *statement.others]
    assert all(row.record in rows for row in named)
    by_chip = {}
    for row in rows:
        by_chip.setdefault(row["hardware"], []).append(row)
    assert len(named) == len({row.chip for row in named})  # no chip next to itself
    top = statement.leaders[0].record
    assert number(top[key]) == number(best(row[key] for row in rows))
    for chip, of in by_chip.items():
        if chip == top["hardware"]:
            continue
        own = best(of, key=lambda row: row[key])
        if figure == "speed":  # more users at once are slower: like is at the same batch
            own = next((row for row in of if row["batch"] == top["batch"]), own)
        is_named_level = chip in {row.chip for row in statement.leaders}
        if holds_one(top, own, figure):
            assert is_named_level
        else:
            level = next((row for row in statement.leaders if row.chip == chip), None)
            assert level is None or number(top[key]) == number(level.record[key])
            assert chip in {row.chip for row in named}


def check_comparison(comparison, rows):
    over, under = comparison.over.record, comparison.under.record
    assert over in rows
    assert under in rows
    assert over["batch"] == under["batch"]
    assert over["hardware"] != under["hardware"]
    value, low, high = interval(over, under, comparison.figure)
    told = [float(end) for end in comparison.ratio]
    assert told[0] == pytest.approx(value)
    assert all(map(math.isnan, told[1:])) if low is None else told[1:] == pytest.approx([low, high])
    if comparison.figure == "speed":
        assert over["chips"] <= under["chips"]
        assert not holds_one(over, under, "speed")


def check_words(text, stated, rows):
    """Every number of the sentence is one of its data, printed; no ratio but those of the data."""
    ratios = [
        statement.comparison
        for statement in (stated.fastest, stated.cheapest)
        if statement and statement.comparison and not statement.comparison.is_level
    ]
    told = re.findall(r"([\d.,]+)x \(([\d.,]+ to [\d.,]+|range undetermined)\)", text)
    assert len(told) == len(ratios)
    for (value, within), comparison in zip(told, ratios, strict=True):
        expected, low, high = interval(
            comparison.over.record, comparison.under.record, comparison.figure
        )
        assert value == number(expected, 2)
        assert within == "range undetermined" or [
            float(end.replace(",", "")) for end in within.split(" to ")
        ] == pytest.approx([low, high], rel=0.051)
        assert not re.search(r"\b1\.0+\b", within)
    fitting = {(counted(row["chips"], row["hardware"]), f"{row['batch']:,}") for row in rows}
    named = re.findall(r"(\b(?!in )[\w,]+ [a-z][\w.-]+) at batch ([\d,]*\d)", text)
    assert set(named) <= fitting
    for price in re.findall(r"\$([\d.,]*\d)", text):
        assert price in {dollars(row[COST]) for row in rows if row[COST] is not None}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + REQUESTS))
def test_a_headline_compares_like_with_like(seed):
    """Nothing but rows of the table, ratios at one batch, and no winner of what is level."""
    outcomes, records = compared(random.Random(seed))
    stated, rows = headline(outcomes), [row for row in records if row["fits"]]
    text = " ".join(sentences(headline(outcomes)))
    if not rows:
        assert " does not fit on " in text
        return
    check_statement(stated.fastest, rows, "speed", SPEED, max)
    assert bool(re.search("Fastest[^.]*: uncertain, ", text)) == stated.fastest.is_level
    assert ("Fastest:" in text) == (stated.has_rivals and not stated.fastest.is_level)
    priced = [row for row in rows if row[COST] is not None]
    if stated.has_rivals and priced:
        check_statement(stated.cheapest, priced, "cost", COST, min)
        assert bool(re.search("Cheapest[^.]*: uncertain, ", text)) == stated.cheapest.is_level
        assert ("Cheapest:" in text) != stated.cheapest.is_level
        if stated.cheapest.comparison is not None:  # with the next cheapest chip
            chips = {row["hardware"] for row in priced}
            lowest = {
                chip: min(row[COST] for row in priced if row["hardware"] == chip) for chip in chips
            }
            assert lowest[stated.cheapest.comparison.over.chip] == sorted(lowest.values())[1]
    for statement in filter(None, (stated.fastest, stated.cheapest)):
        if statement.comparison is not None:
            check_comparison(statement.comparison, rows)
    check_words(text, stated, rows)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + REQUESTS))
def test_a_batch_fits_up_to_the_largest_batch_of_its_chips(seed):
    """That of memory for certain and of the engine's limit; so many chips or fewer are needed."""
    for row in compared(random.Random(seed))[1]:
        assert (row["fit_verdict"] == "fits") == (row["batch"] <= row["max_batch"]), row
        if row["fit_verdict"] == "fits":
            assert row["min_chips"] <= row["chips"]


def test_speeds_are_level_only_at_one_batch(fastcalc):
    """At batch 1 the newer card is faster; two of the older at batch 32 are another question."""
    text = words(fastcalc("compare", "llama-3-8b", "--on", "rtx-4090,rtx-5090").out)
    assert re.match(r"Fastest: one rtx-5090 at batch 1, .*x \(.*\) as fast as one rtx-4090\.", text)


def test_a_batch_that_fewer_chips_hold_is_not_on_more_chips(fastcalc):
    """Eight chips share the memory of a host's memory, which holds one copy of the weights."""
    request = ["compare", "llama-3-70b", "--on", "apple-m1-7", "--chips", 8, "--batch", 1]
    request += ["--engine", "mlx"]  # llama.cpp has stages, and no copies
    text = words(fastcalc(*request, "--host", "epyc-9004-12ch").out)
    unfit = "llama-3-70b does not fit on eight apple-m1-7 at batch 1."
    assert text.startswith(f"{unfit} Llama 3 70B:")
    assert "fits on 1 " in text
    assert "fits on N: the batch fits on N chips in another layout" in text


def test_a_headline_marks_an_uncertain_price(fastcalc):
    """A survey's price of a chip-hour makes every amount by it uncertain, above the table, too."""
    for request in (["compare", "llama-3.1-8b", "--on", "l4"], ["frontier", "deepseek-r1"]):
        text = fastcalc(*request).out
        headline_text = words(text.partition("\n\n")[0]).partition("rice per")[0]
        table = words(text.partition("\n\n")[2])
        for price, mark in re.findall(r"\$([\d.,]*\d)(\??)", headline_text):
            assert re.search(rf" {re.escape(price)}{re.escape(mark)} ", table), price


def test_a_headline_marks_a_speed_that_no_publication_determines(fastcalc):
    """Of batches 1 and 8, equally fast on a wafer, it is 1 that public speeds determine."""
    text = words(fastcalc("compare", "llama-3.1-70b", "--on", "wse-3", "--batch", "1,8").out)
    assert re.match(r"At batch 1 four wse-3 give one user \d+ tokens/s \(", text)
    for request in (
        ["compare", "llama-3.1-70b", "--on", "wse-3", "--batch", "8"],
        ["compare", "glm-4.7", "--on", "h200-sxm,wse-3", "--batch", "128", "--chips", "24"],
        ["frontier", "llama-3.1-8b", "--on", "wse-3", "--max-chips", "1"],
    ):
        text = words(fastcalc(*request).out.partition("\n\n")[0])
        assert re.search(r"\d\? tok(?:ens)?/s", text), request


def test_a_ratio_of_unequal_batches_cannot_be_made():
    asked = Compare(on="h100-sxm", chips=4, batch="1,8")
    (outcome,) = (solve(one) for one in scenarios(asked, []))
    one, eight = (TableRow(record, outcome) for record in compare_records([outcome]))
    with pytest.raises(ValueError, match="unequal batches"):
        Comparison("cost", one, eight)


@every(
    "given,is_sized",
    [({}, False), ({"chips": 1}, True), ({"tp": 1}, True), ({"chips": 1, "tp": 1}, True)],
)
def test_chips_are_counted_by_the_user_who_gives_them_or_ranks(given, is_sized):
    """For one of the chips at least: ranks that another cannot have are left out for it."""
    rows = [
        outcome(
            made_up.minimal(),
            made_up.chip(id=name),
            engine=made_up.engine(),
            sharding=Sharding(**ranks),
        )
        for name, ranks in (("one", given), ("other", {}))
    ]
    assert headline(rows).is_sized == is_sized


def test_a_chip_is_not_compared_with_itself(fastcalc):
    """Eight H200 run the two batches in two layouts, which are no two chips."""
    request = ["compare", "deepseek-r1", "--on", "h200-sxm", "--chips", 8, "--batch", "1,256"]
    text = words(fastcalc(*request).out).partition(" DeepSeek-R1:")[0]
    assert text.startswith("At batch 1 eight h200-sxm give one user")
    assert "Cheapest at batch 256: $" in text
    assert "times" not in text


def test_speeds_of_unequal_numbers_of_chips_are_no_ratio_where_more_chips_are_faster(fastcalc):
    """19 wafers next to eight H200: both counts, and the command that makes them equal."""
    request = ["compare", "glm-4.7", "--on", "h200-sxm,wse-3", "--batch", 1]
    text = words(fastcalc(*request).out)
    assert re.match(
        r"Fastest: 19 wse-3 at batch 1, [\d.]+ tokens/s per user; eight h200-sxm give [\d.]+\. ",
        text,
    )
    assert "- To compare equal numbers of chips, add --chips 24 -" in text
    equal = words(fastcalc(*request, "--chips", 24).out)
    assert re.match(r"Fastest: 24 wse-3 at batch 1, .*x \(.*\) as fast as 24 h200-sxm\.", equal)
    assert "equal numbers of chips" not in equal


@pytest.mark.parametrize("more", [["--wide"], ["--explain"]])
def test_more_columns_and_more_steps_keep_the_headline(more, fastcalc):
    request = ["compare", "llama-3.1-8b", "--on", "h100-sxm,wse-3", "--batch", "1,64"]
    first = words(fastcalc(*request).out).partition(" Llama 3.1 8B:")[0]
    assert words(fastcalc(*request, *more).out).startswith(f"{first} Llama 3.1 8B:")


def check_left_out(text, ran):
    """Each batch that more chips than these hold is named, and no other."""
    short = [row for row in json.loads(ran.out)["records"] if not row["fits"]]
    expected = {(row["hardware"], row["batch"]) for row in short if row["min_chips"]}
    sentence = re.search(r"More chips hold larger batches, which may be cheaper: (.*?) - ", text)
    named = set()
    for batches, chip in re.findall(
        r"((?:[\d,]*\d(?:, | and )?)+) on ([\w.-]+)", sentence[1] if sentence else ""
    ):
        named |= {(chip, count(batch)) for batch in re.findall(r"\d+(?:,\d{3})*", batches)}
    assert named == expected


def test_a_batch_at_the_same_price_is_not_cheaper(fastcalc):
    """From batch 32 on a wafer's layers are full: 64 are half as fast at a price that reads alike."""
    text = words(fastcalc("compare", "llama-3.1-8b", "--on", "wse-3", "--batch", "32,64").out)
    assert "At batch 32 one wse-3" in text
    assert "Cheapest" not in text


def test_a_batch_that_more_chips_hold_is_named(fastcalc):
    """Of four chips each, which are given; left open, each batch has the chips that hold it."""
    wide = ["compare", "llama-3.1-70b", "--on", "h100-sxm,gb200,wse-3", "--batch", "32,1000"]
    text = words(fastcalc(*wide, "--chips", 4).out)
    assert (
        "- More chips hold larger batches, which may be cheaper: 1,000 on h100-sxm; 1,000 on gb200; "
        "32 and 1,000 on wse-3. - "
    ) in text
    assert "More chips hold" not in words(fastcalc(*wide).out)


def test_fewer_chips_than_are_called_needed_may_do(fastcalc):
    """What is needed is a number of a usual layout; of others, five hold what "needs 8" does."""
    request = ["compare", "llama-3.1-70b", "--on", "h100-sxm"]
    text = words(fastcalc(*request, "--batch", 256, "--chips", 4).out)
    assert "needs 8" in text
    assert "needs N: the batch needs N chips" in text
    five = json.loads(fastcalc(*request, "--batch", 256, "--chips", 5, "--format", "json").out)
    assert five["records"][0]["fits"]
    assert "the next practical layout has 16" in words(
        fastcalc("fit", "deepseek-r1", "--on", "h100-sxm").out
    )


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(FEW))
def test_each_batch_that_more_chips_hold_is_named(seed, fastcalc):
    chance = random.Random(seed)
    request = ["compare", chance.choice(MODELS), "--on", ",".join(chance.sample(CHIPS, 3))]
    request += ["--batch", "1,32,256"]
    ran = fastcalc(*request, "--format", "json")
    check_left_out(words(fastcalc(*request).out), ran)


@pytest.mark.thorough
def test_what_moves_a_number_stands_in_the_heading(fastcalc):
    """Each flag that changes a row of the table changes the heading above it, too."""
    plain = ["compare", "gpt-oss-120b", "--on", "h100-sxm", "--batch", "8"]
    heading = (
        words(fastcalc(*plain, columns=300).out).partition("parameters")[2].partition(" tok/s ")[0]
    )
    for flags, phrase in (
        ("--prompt 2000", "prompt 2,000"),
        ("--output 200", "output 200"),
        ("--context 65536", "mean context 65,536"),
        ("--weights fp8", "fp8 "),
        ("--kv fp8", "KV cache fp8"),
        ("--prefix-hit 0.4", "40% of prompts cached"),
        ("--speculate 2.5/3", "3 draft tokens, 2.50 tokens per step"),
        ("--engine sglang", "engine sglang"),
        ("--host ddr5-2ch", "host ddr5-2ch"),
        ("--place embedding=HBM3", "placed embedding in HBM3"),
        ("--price-basis tco", "ownership cost"),
        ("--utilization 0.5", "50% utilization of paid hours"),
        ("--price h100-sxm=2", "h100-sxm at $2.00 per chip-hour"),
        ("--gpu-memory-utilization 0.5", "engine limited to 50% of memory"),
        ("--max-num-seqs 16", "at most 16 sequences per step"),
        ("--max-num-batched-tokens 2k", "at most 2,000 tokens per step"),
        ("--price-basis tco --years 3", "depreciated over 3 years"),
    ):
        text = words(fastcalc(*plain, *flags.split(), columns=300).out)
        text = text.partition("parameters")[2].partition(" tok/s ")[0]
        assert phrase in text, flags
        assert phrase not in heading


@pytest.mark.thorough
def test_a_page_has_the_sentence_of_a_first_screen(fastcalc, tmp_path):
    request, page = ("compare", "glm-4.7", "--on", "h200-sxm,wse-3"), tmp_path / "page.html"
    sentence = words(fastcalc(*request).out).partition(" GLM-4.7:")[0]
    assert re.search(r"give \d\d\.\d\. Cheapest.*: uncertain", sentence)
    assert fastcalc(*request, "-o", page).code == 0
    assert escape(sentence) in words(page.read_text(encoding="utf-8"))


def test_the_page_opens_with_the_same_sentence(fastcalc, tmp_path):
    request = ["compare", "llama-3.1-8b", "--on", "h100-sxm,wse-3", "--batch", "1,64"]
    sentence = words(fastcalc(*request).out).partition(" Llama 3.1 8B:")[0]
    page = tmp_path / "page.html"
    assert fastcalc(*request, "-o", page).code == 0
    assert escape(sentence) in words(page.read_text(encoding="utf-8"))


LEVEL = "one of "
OFFER = (
    r"est: ([\w,]+) ([\w.-]+), ([\d.,]+\??) tok(?:ens)?/s(?: per user)? at "
    r"\$([\d,]*\d(?:\.\d+)?)"
)


def check_offer(match, row):
    speed, _, _ = ends(row)
    assert (count(match.group(1)), match.group(2)) == (row["chips"], row["hardware"])
    assert match.group(3) == number(speed) + "?" * ("tokens_per_s_per_user" in row["undetermined"])
    assert match.group(4) == dollars(row["usd_per_mtok_output"])


def check_runs(text, rows):
    """Chips stand together where the next offers a higher speed at a level price, and only there."""
    runs = []
    for row in rows:
        if runs and (row["hardware"] in runs[-1][1] or holds_one(row, runs[-1][0], "cost")):
            runs[-1][1].setdefault(row["hardware"])
        else:
            runs.append((row, {row["hardware"]: None}))
    for _, chips in runs:
        *most, last = chips
        together = f"{LEVEL}{', '.join(most)} and {last}" if most else last
        assert together in text


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(FIRST, FIRST + math.ceil(REQUESTS / 2)))
def test_a_frontier_runs_from_the_cheapest_to_the_fastest(seed, fastcalc):
    """And between them the chip named is the cheapest of all that are as fast, at every point."""
    chance = random.Random(seed)
    chips = chance.sample(CHIPS, chance.choice([1, 2, 3]))
    request = ["frontier", chance.choice(MODELS), "--on", ",".join(chips)]
    request += ["--prompt", chance.choice([500, 8000])]
    ran = fastcalc(*request, "--format", "json")
    if ran.code:
        assert ran.code == 1
        return
    rows = json.loads(ran.out)["records"]
    sentence = words(fastcalc(*request, columns=300).out.partition("\n\n")[0])
    slow, *fast = re.finditer(OFFER, sentence)
    check_offer(slow, min(rows, key=lambda row: row["usd_per_mtok_output"]))
    for match in fast:
        check_offer(match, max(rows, key=lambda row: row["tokens_per_s_per_user"]))
    _, is_named, runs = sentence.partition("Cheapest by speed: ")
    if not is_named:
        return
    runs = runs.partition(". ")[0].rstrip(".")
    check_runs(runs, rows)
    steps, _, last = runs.replace(LEVEL, "").replace(" tok/s", "").rpartition("; above that, ")
    steps = re.findall(r"(\S.*?) up to ([\d.,]*\d)", re.sub("(?<=\\d), ", " ", steps))
    steps = [(re.split(", | and ", chips), edge) for chips, edge in steps]
    edges = [float(speed.replace(",", "")) for _, speed in steps]
    for row in rows:
        speed = ends(row)[0]
        if any(abs(speed / edge - 1.0) < 0.01 for edge in edges):
            continue  # edges are printed with three digits
        fast_enough = [each for each in rows if ends(each)[0] >= speed]
        cheapest = min(fast_enough, key=lambda each: each["usd_per_mtok_output"])["hardware"]
        below = (chips for (chips, _), edge in zip(steps, edges, strict=True) if speed < edge)
        assert cheapest in next(below, re.split(", | and ", last))


CLAUSE = (
    r"(?P<verdict>fits tightly|fits(?! tightly)|does not)(?: fit| start)?(?: at batch [\d,]+)? on "
    r"(?P<chips>.+?)(?=; it (?:fits|does)|: it starts|$)"
)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + math.ceil(REQUESTS / 2)))
def test_fit_names_every_chip_with_its_count_and_largest_batch(seed, fastcalc):
    chance = random.Random(seed)
    chips = chance.sample(CHIPS, chance.choice([1, 2, 4]))
    request = ["fit", chance.choice([*MODELS, "deepseek-r1"]), "--on", ",".join(chips)]
    request += ["--batch", chance.choice([1, 16, 300])]
    request += ["--chips", 4] if chance.random() < 0.5 else []
    rows = json.loads(fastcalc(*request, "--format", "json").out)["records"]
    tables = fastcalc(*request, columns=300).out.split("\n\n")  # one of each format of weights
    sentences = [words(each) for each in tables if each.startswith(f"{request[1]} ")]
    named = {verdict: [] for verdict in ("fits", "fits tightly", "does not")}
    clauses = [re.finditer(CLAUSE, each.partition(". ")[0].rstrip(".")) for each in sentences]
    for clause in itertools.chain(*clauses):
        chips = re.split(", | or | and ", re.sub(r" \(tight on [\w,]+\)", "", clause["chips"]))
        named[clause["verdict"]] += chips
    is_sized = "--chips" in request
    expected = {verdict: [] for verdict in named}
    for row in rows:
        verdict = {"fits": "fits", "edge": "fits tightly"}.get(row["fit_verdict"], "does not")
        is_counted = is_sized or verdict != "does not"
        chip = row["hardware"]
        expected[verdict].append(counted(row["chips"], chip) if is_counted else chip)
    assert {verdict: sorted(chips) for verdict, chips in named.items()} == {
        verdict: sorted(chips) for verdict, chips in expected.items()
    }
    held = [row for row in rows if row["fits"]]
    largest = [
        each.partition("The largest batch is ")[2].partition(". This assumes ")[0]
        for each in sentences
    ]
    largest = re.sub(r" \([^)]*\)| on [\w,]+ [\w.-]+\w", "", " ".join(largest))  # chips and layout
    certain = [f"{row['max_batch']:,}" for row in held if row["fit_verdict"] == "fits"]
    assert sorted(re.findall(r"[\d,]*\d", largest)) == sorted(certain)
    sentence = " ".join(sentences)
    edge = [row for row in held if row["fit_verdict"] == "edge"]
    sure = re.search(r"; ([^;.]+) hold it in any case", sentence)
    told = re.split(", | and ", sure[1]) if sure else []
    assert set(told) <= {counted(row["min_chips"], row["hardware"]) for row in edge}
    more = [row for row in edge if row["min_chips"] not in (None, row["chips"])]
    assert told or not more or "leaves enough memory free" in sentence


BITS = {
    "bf16": 16.0,
    "fp16": 16.0,
    "fp8": 8.0,
    "int8": 8.0,
    "q8_0": 8.5,
    "nvfp4": 4.5,
    "mxfp4": 4.25,
}
BITS |= {"int4": 4.25, "q4_k_m": 4.8, "q4_0": 4.5, "q6_k": 6.6, "q5_k_m": 5.7}
PUBLISHED = {model: "mxfp4" if model == "gpt-oss-120b" else "bf16" for model in MODELS}
"""Formats of weights in which models are published; all of their caches are of 16 bits."""
TAKEN = (
    r"([\w,]+)\?? ([\w.-]+)(?: in (a|[\d,]+) nodes?)?"
    r"(?:, ([\d,.]+) kW)?(?:, \$[\d,.]+\??/Mtok)?(?:, \$([\d,.]+)\?? per month)?"
)
PLANNED = re.compile(
    rf"(?:Cheapest plan|Plan with least power|Plan with fewest chips) in [\w.-]+: {TAKEN}(.*?) ([\w.-]+): prompt [\d,]+, output "
)
NEXT = re.compile(
    r"- Second-best chip: ([\w.-]+), ([\d,.]+) times the \w+(?: \(may [\w ]+\))?: "
    rf"{TAKEN}(?:, quantized further)?\. "
)
WINS = re.compile(
    r"; ([\w.-]+) in [\w.-]+ would win at a price below \$([\d,.]+) \(now \$[\d,.]+\) or with "
    r"([\w.-]+) above \$([\d,.]+?)\. "
)


def is_narrower(row):
    """Whether a plan has fewer bits than its model is published with."""
    weights, published = BITS[row["weight_format"]], BITS[PUBLISHED[row["model"]]]
    return weights < published or BITS[row["kv_format"]] < 16.0


def check_taken(total, nodes, kilowatts, month, row, objective):
    assert count(total) == row["chips_total"]
    watts = row["watts"] if objective == "watts" else None
    assert kilowatts == (watts and number(watts / 1000))
    if nodes is None:
        assert row["node_chips"] == 1
    else:
        assert (1 if nodes == "a" else count(nodes)) * row["node_chips"] == row["chips_total"]
    usd = row["usd_per_month"]
    nearly = {None if usd is None else dollars(usd * (1 + way)) for way in (-1e-9, 1e-9)}
    assert month in nearly  # half a dollar rounds either way


def check_plan(text, document, objective, prices):
    every = {json.dumps(row): row for row in document["records"]}
    every |= {json.dumps(row): row for row in document["best_of_each_chip"]}
    whole = [row for row in every.values() if not is_narrower(row)] or [*every.values()]
    least = min(row["cost"] for row in whole)
    said = PLANNED.match(text)
    (best,) = [row for row in document["records"] if row["rank"] == 1]
    assert best["cost"] == least
    assert best["cost"] == min(row["cost"] for row in document["records"] if row in whole)
    assert said.group(2, 7) == (best["hardware"], best["model"])
    check_taken(*said.group(1, 3, 4, 5), best, objective)
    assert is_narrower(best) == ("quantized further than published" in said.group(6))
    others = [row for row in every.values() if row["hardware"] != best["hardware"]]
    rivals = [row for row in others if row in whole] or others
    second = NEXT.search(text)
    if second is None:
        assert "- Second-best chip" not in text
        assert not rivals
        return
    row = min(rivals, key=lambda rival: rival["cost"])
    assert row["cost"] == document["runner_up"]["cost"]
    row = document["runner_up"]
    assert second.group(1) == row["hardware"]
    check_taken(*second.group(3, 5, 6, 7), row, objective)
    assert second.group(2) == number(row["cost"] / best["cost"])
    scaled = {**row, COST: row["cost"]}, {**best, COST: best["cost"]}
    is_level = holds_one(*scaled, "cost") or abs(math.log(row["cost"] / best["cost"])) < 0.0015
    is_said = " (may " in second.group()  # not if the best needs no more chips at its slow end
    assert is_level or not is_said
    amount = r" \(\$([\d,.]+)\??(?: per month|/Mtok)\)" * (objective == "usd")
    within = rf"; {row['hardware']}(?: in [\w.-]+)?{amount} (?:may be cheaper|may need .+?) \(80% ranges of \w+ overlap\)"
    found = re.search(within, text)
    assert is_said == bool(found)
    if found and amount:
        assert float(found.group(1).replace(",", "")) == pytest.approx(row["cost"], rel=0.01)
    wins = WINS.search(text)
    is_changed = is_narrower(row) and not is_narrower(best)
    assert is_changed == (", quantized further. " in second.group())
    if objective != "usd" or is_changed:
        assert wins is None
        return
    # All of the best's chips cost as much more: the price at which both cost the same.
    price = prices[best["hardware"]]["usd_per_chip_hour"] * row["cost"] / best["cost"]
    below = prices[row["hardware"]]["usd_per_chip_hour"] * best["cost"] / row["cost"]
    assert wins.group(1, 3) == (row["hardware"], best["hardware"])
    assert below * 0.989 <= float(wins.group(2).replace(",", "")) <= below * (1 + 1e-9)
    assert price * (1 - 1e-9) <= float(wins.group(4).replace(",", "")) <= price * 1.011


@pytest.mark.usefixtures("without_regret")
@pytest.mark.parametrize("seed", [thorough(0), 1, *map(thorough, range(2, FEW))])
def test_a_plan_is_the_least_of_all_that_keep_the_answers(seed, fastcalc):
    """And the next chip is dearer by as much, and wins above the price that is named."""
    chance = random.Random(seed)
    chips = chance.sample(CHIPS, chance.choice([1, 2, 3, 4]))
    request = ["plan", chance.choice(MODELS), "--on", ",".join(chips)]
    request += ["--prompt", chance.choice([500, 8000]), "--output", chance.choice([200, 1000])]
    objective = chance.choice(["usd", "usd", "usd", "watts", "chips"])
    request += ["--objective", objective]
    request += ["--tpot", f"{chance.choice([5, 20, 60, 200])}ms"] if chance.random() < 0.8 else []
    request += ["--ttft", f"{chance.choice([0.3, 1, 5])}s"] if chance.random() < 0.5 else []
    request += ["--rate", f"{chance.choice([0.3, 4, 50])}/s"] if chance.random() < 0.7 else []
    request += ["--price-basis", "tco"] if chance.random() < 0.2 else []
    ran = fastcalc(*request, "--top", 1000, "--format", "json")
    shown = fastcalc(*request, "--notes", columns=400)
    assert shown.code == ran.code
    if ran.code == 0:
        document = json.loads(ran.out)
        check_plan(words(shown.out), document, objective, document["assumptions"]["prices"])
        return
    why = words(shown.err)
    assert "no deployment meets these limits" in why or "no layout of these chips holds" in why
    _, _, would = why.partition("one would meet them with ")
    for flag, value in re.findall(r"(--(?:tpot|ttft|max-chips)) ([\d.]+m?s?)", would):
        assert fastcalc(*request, flag, value).code == 0, (flag, value)


@pytest.mark.thorough
@pytest.mark.usefixtures("without_regret")
def test_a_plan_whose_next_chip_is_level_says_so_where_it_leads(fastcalc):
    """64 H100 and 32 B200 cost within 2% a month, with speeds that are 30% unsure."""
    request = ("--on", "h100-sxm,b200", "--tpot", "40ms", "--rate", "40/s")
    request += ("--price", "h100-sxm=2.95", "--price", "b200=6.03")
    text = words(fastcalc("plan", "llama-3.1-70b", *request, columns=400).out)
    assert re.search(
        r"^Cheapest plan in bf16: 64 h100-sxm .*; b200 \(\$\d+,\d+ per month\) may be cheaper \(80% ranges of cost overlap\)",
        text,
    )
    assert "second-best chip" not in text.lower()  # which the headline has
    every = words(fastcalc("plan", "llama-3.1-70b", *request, "--notes", columns=400).out)
    assert "times the cost (may be cheaper)" in every


@pytest.mark.parametrize(
    ("request_of_fleet", "is_level"),
    [
        thorough("glm-4.7 --on h200-sxm,b200,mi325x --budget 40000/month", True),
        thorough("llama-3.1-8b --on l40s,h100-sxm --budget 20k/month", False),
        ("llama-3.1-70b --on h100-sxm,b200 --power 40kW", False),
        thorough("llama-3.1-70b --on h100-sxm,b200 --own l40s=8 --budget 40k/month", True),
    ],
)
def test_a_fleet_names_the_next_chip_where_it_is_level(request_of_fleet, is_level, fastcalc):
    """In requests/s within the ranges of both speeds; at a rate, which both carry, in cost."""
    asked = ("plan", *request_of_fleet.split())
    share = json.loads(fastcalc(*asked, "--format", "json").out)["shares"][-1]
    pair = share["runner_up"], share["best_of_each_chip"][0]
    key = "cost" if "--rate" in asked else "service_requests_per_s_most"
    power = 1 if "--rate" in asked else -1
    scaled = [row | {COST: row[key] ** power} for row in pair]
    assert holds_one(*scaled, "cost") == is_level
    text = words(fastcalc(*asked, "--notes", columns=400).out)
    first, _, _ = text.partition("rice per ")
    level = rf"; \d+ {pair[0]['hardware']} may sustain more \(80% ranges of throughput overlap\)"
    assert is_level == bool(re.search(level, first))
    assert is_level == (" (may sustain more)" in text)


TODAY = re.compile(
    r" Today ([\w.-]+) \([^)]+\) on ([\d,]+) ([\w.-]+) gives (?:each of )?([\w,]+) users? ([\d.,]+) "
    r"tokens/s(?: \([\d.,]+ asked, but no larger batch fits\))?\. "
)
FAST = re.compile(
    r"(?:(?:(?P<none>Nothing on [\w.-]+ reaches |On [\w.-]+, only quantization or another model reaches )|Cheapest on (?P<chip>[\w.-]+) for )?(?P<goal>[\d.,]+) tokens/s per user \((?P<speedup>[\d.,]+)x\)(?:"
    r"(?P<changed> requires quantization or another model, which changes the output)?"
    r"(?:: (?P<technique>.+?), (?P<same>(?:at|without) .+?), batch [\d,]+(?:\. On other chips: (?P<beside>.+?))?"
    r"|\. Other chips reach it: (?P<other>.+?))?)\. (?=(?:On-demand p|P)rice|Ownership|Today)"
    r"|Nothing in the catalogue reaches (?P<missed>[\d.,]+) tokens/s; a single user gets at "
    r"most (?P<most>[\d.,]+), with (?P<with>.*?)\. )"
)
WAY = re.compile(
    r"(?P<way>.+?),? (?:(?:at )?(?P<cost>[\d.,]+)x(?: today's cost)?(?: \((?:80% range )?"
    r"(?P<low>[\d.,]+) to (?P<high>[\d.,]+)\))?|(?P<free>without a known price|(?:at )?\$[\d.,?]+/Mtok))"
)
LAW = re.compile(r"Factors of [a-zA-Z ]+: ([\d.,]+)x = (.*?)(?:; cost ([\d.,]+)x)?\. ")


def keeps_answers(row, today):
    """Whether a row has today's model and cache, and its weights or those of another release."""
    if not row["reaches"] or any(row[key] != today[key] for key in ("model", "kv_format")):
        return False
    released = Catalogue().model(today["model"]).also_published
    return row["weight_format"] in (today["weight_format"], *released)


def called(row, today):
    if row["trick"] == "smaller-batch" and row["batch"] > today["batch"]:
        return "larger batch"
    return TRICKS[row["trick"]]


def way_of(row, today):
    """How the headline names a row: by its chip or model, its combination, or its technique."""
    name, change = called(row, today), row["change"]
    is_machine = row["trick"] in ("newer-hardware", "other-hardware", "sram-machine")
    if (
        name.endswith("techniques")
        or is_machine
        or row["trick"] in ("smaller-model", "speculation")
    ):
        return change
    return f"{'a ' * name.endswith('batch')}{name}{f' ({change})' * bool(change)}"


def check_ways(said, noted, rows):
    """The cheapest on today's chips, and on any other, of all that keep the answers."""
    today, *others = rows
    kept = [row for row in others if keeps_answers(row, today)]
    same = [row for row in kept if row["hardware"] == today["hardware"]]
    other = [row for row in kept if row["hardware"] != today["hardware"]]
    assert bool(said["same"]) == bool(same)
    assert bool(said["beside"] or said["other"]) == bool(other)
    if not same:
        on = today["hardware"]
        is_changed = any(row["reaches"] and row["hardware"] == on for row in others)
        if not said["changed"]:
            changed = f"On {on}, only quantization or another model reaches "
            assert said["none"] == (changed if is_changed else f"Nothing on {on} reaches ")
    leads = []
    on_same_chips = said["same"] and f"{said['technique']} {said['same']}"
    assert said["chip"] == (today["hardware"] if same else None)
    for text, alike in ((on_same_chips, same), (said["beside"] or said["other"], other)):
        if text:
            leads.append(check_lead(WAY.fullmatch(text), alike, today))
    priced = [row for row in leads if row is not None]
    if not priced or len(priced) < bool(same) + bool(other):
        return
    lead = leads[0]  # what keeps the kind of chip is explained, where there is a way
    times = lead["usd_per_mtok_output"] / today["usd_per_mtok_output"]
    (now, *_), (then, *_) = ends(today), ends(lead)
    law = LAW.search(noted)
    assert float(law.group(1).replace(",", "")) == pytest.approx(then / now, rel=0.005)
    factors = [float(one.replace(",", "")) for one in re.findall(r"([\d.,]+) \(", law.group(2))]
    assert math.prod(factors) == pytest.approx(then / now, rel=0.005 * len(factors))
    assert law.group(3) in (None, dollars(times))


def check_lead(said, kept, today):
    """Return the row that leads: the cheapest, with its cost over today's; None without prices."""
    priced = [row for row in kept if row["usd_per_mtok_output"] is not None]
    named = [row for row in kept if way_of(row, today) == said["way"]]
    if said["free"] or said["cost"] is None:
        assert not priced or today["usd_per_mtok_output"] is None
        assert named
        return None
    (lead,) = {json.dumps(row): row for row in named}.values()
    assert lead["usd_per_mtok_output"] == min(row["usd_per_mtok_output"] for row in priced)
    times = lead["usd_per_mtok_output"] / today["usd_per_mtok_output"]
    assert said["cost"] == dollars(times)
    (now, now_low, now_high), (then, then_low, then_high) = ends(today), ends(lead)
    slower = ratio(now, then, now_low, then_high, now_high, then_low)
    scaled_up = [None if end is None else end * times / slower[0] for end in slower]
    if None in scaled_up:
        assert said["low"] is None
        return lead
    told = [float(said[end].replace(",", "")) for end in ("low", "high")]
    assert told == pytest.approx(scaled_up[1:], rel=0.051)
    return lead


@pytest.mark.parametrize("seed", [0, *map(thorough, range(1, FEW))])
def test_a_fast_mode_leads_with_the_cheapest_that_keeps_the_answers(seed, fastcalc):
    chance = random.Random(seed)
    request = ["fastmode", chance.choice(MODELS), "--on", chance.choice(CHIPS)]
    request += ["--batch", chance.choice([1, 8, 32, 100]), "--prompt", chance.choice([500, 8000])]
    request += ["--speedup", chance.choice([0.5, 1.5, 2.5, 6, 15, 400])]
    request += ["--smaller", "none"] if chance.random() < 0.3 else []
    request += ["--engine", "ideal"] if chance.random() < 0.1 else []
    request += ["--price-basis", "tco"] if chance.random() < 0.2 else []
    ran, shown = fastcalc(*request, "--format", "json"), fastcalc(*request, columns=400)
    assert ran.code == shown.code
    if ran.code == 2:
        assert re.search("does not fit|has no routed experts", ran.err)
        return
    text, rows = words(shown.out), json.loads(ran.out or '{"records": []}')["records"]
    said = FAST.match(text)
    now, goal = TODAY.search(text), float((said["goal"] or said["missed"]).replace(",", ""))
    assert ran.code == (1 if said["missed"] else 0)
    if said["missed"]:
        assert goal > float(said["most"].replace(",", ""))
        wide = words(fastcalc(*request, "--wide", columns=400).out)
        alone = [
            float(one.replace(",", ""))
            for one in re.findall(r"at most ([\d,]+) tokens/s expected at batch 1", wide)
        ]
        assert max(alone, default=0.0) <= float(said["most"].replace(",", "")) * 1.01
        return
    today = rows[0]
    assert now.group(1, 3) == (today["model"], today["hardware"])
    assert f"{today['model']} ({today['weight_format']}) on " in text
    assert count(now.group(2)) == today["chips"]
    assert count(now.group(4)) == today["batch"]
    assert now.group(5) == number(today["tokens_per_s_per_user"])
    asked = float(request[request.index("--speedup") + 1])
    assert said["speedup"] == number(asked)
    reached = [row for row in rows[1:] if row["reaches"]]
    assert all(row["tokens_per_s_per_user"] >= goal * (1 - 5e-3) for row in reached)
    if said["changed"]:
        assert reached
        assert not any(keeps_answers(row, today) for row in rows)
    else:
        noted = words(fastcalc(*request, "--notes", columns=400).out)
        check_ways(said, noted, rows)


@pytest.mark.parametrize(
    "command",
    [
        "compare llama-3.1-8b --on wse-3 --batch 1,8",
        "frontier llama-3.1-8b --on wse-3 --max-chips 1",
        "plan llama-3.1-8b --on wse-3 --tpot 25ms --rate 20/s",
        thorough("fastmode llama-3.1-8b --on h100-sxm --batch 8 --speedup 4"),
    ],
)
def test_a_wafers_price_beyond_a_user_says_what_it_rests_on(command, capsys, monkeypatch):
    shown = " ".join(run_once(*command.split(), capsys=capsys, monkeypatch=monkeypatch).out.split())
    assert "No public benchmark shows wse-3 serving several users" in shown


@pytest.mark.parametrize("rest", ["--on wse-3 --batch 1", "--on h100-sxm --batch 8"])
def test_where_nothing_rests_on_that_nothing_is_said_of_it(rest, capsys, monkeypatch):
    shown = run_once(
        "compare", "llama-3.1-8b", *rest.split(), capsys=capsys, monkeypatch=monkeypatch
    ).out
    assert "No public benchmark" not in shown


@pytest.mark.thorough
def test_what_fits_nowhere_says_why_in_every_command(fastcalc, tmp_path):
    """DeepSeek-R1 is 713 GB as q8_0, which llama.cpp reads, and no link of an M5 is stated."""
    why = "apple-m5: 713 GB does not fit on one chip, and the hardware file gives no link to more"
    request = ["deepseek-r1", "--on", "h100-sxm,apple-m5"]
    page = tmp_path / "page.html"
    assert fastcalc("report", *request, "-o", page).code == 0
    for text in (
        fastcalc("compare", *request).out,
        fastcalc("fit", *request).out,
        fastcalc("plot", "speed", *request).out,
        page.read_text(encoding="utf-8"),
    ):
        assert why in words(text)
    assert "Not drawn: apple-m5" in words(fastcalc("plot", "price", *request).out)


def test_thousands_of_chips_are_written_alike_in_headline_and_table(fastcalc):
    out = fastcalc(
        "compare", "llama-3.1-8b", "--on", "l4", "--chips", "1024", "--batch", "1024"
    ).out
    assert "1,024 l4 give" in words(out)
    assert "\n1,024 x l4" in out


def test_a_chip_that_no_engine_was_fitted_on_says_whose_floors_it_has(fastcalc):
    """No measured row is of Turing; vllm is what a datacenter GPU runs where none is named."""
    note = "t4: engine vllm{} has no measurements of turing chips, so latency floors are those fitted on other chips"
    text = words(fastcalc("compare", "llama-3.1-8b", "--on", "t4", "--batch", "1").out)
    assert note.format(" (default for datacenter chips)") in text
    assert "on other chips, and the 80% range is wider" in text
    text = words(fastcalc("compare", "llama-3.1-8b", "--on", "tpu-v5e", "--batch", "1").out)
    assert (
        "has no measurements of tpu-v5 chips, so latency floors are those fitted on other chips"
        in text
    )
    assert "range is wider" in text  # other publishers measured other TPUs
    text = words(fastcalc("compare", "llama-3.1-8b", "--on", "t4", "--engine", "sglang").out)
    assert "t4: engine sglang has no measurements of turing" in text
    assert "has no measurements" not in fastcalc("compare", "llama-3.1-8b", "--on", "h100-sxm").out


def test_validate_says_on_its_screen_what_it_assumed(fastcalc, tmp_path):
    """A batch of 300 fits 233 at once (worked by hand in test_measured): two waves, in words."""
    path = tmp_path / "runs.csv"
    path.write_text(
        "id,source,url,date,hardware,chips,model,engine,weights,kv,tp,ep,pp,dp,concurrency,prompt,"
        "output,metric,value,tokens_per_pass,measured_by,notes\n"
        "a,s,https://example.org,2026-01,h100-sxm,1,llama-3.1-8b,vllm,bf16,bf16,1,,1,1,300,1000,"
        "1000,tokens_per_s_total,4000,1,me,static batch\n"
    )
    assert "- Assumed: in 2 waves: " in fastcalc("validate", path, columns=200).out


def test_a_price_of_the_chip_that_a_file_extends_is_said_to_be_its(fastcalc, tmp_path):
    path = tmp_path / "big.yaml"
    path.write_text("id: big\nname: Big\nextends: wse-3\nmemory: {SRAM: {capacity: 60 GB}}\n")
    note = "big inherits peak, cores, fabric, links, power and price from wse-3"
    for chips in (path, f"gb200,{path}"):
        text = words(fastcalc("compare", "--on", chips, "--batch", "8").out)
        assert "by the price of wse-3" in text
        assert note in text
        given = words(fastcalc("compare", "--on", chips, "--batch", "8", "--price", "big=30").out)
        assert "by the price of" not in given
        assert note.replace(", power and price", " and power") in given
    path.write_text(path.read_text() + "price: {cloud: 50 USD/h}\n")
    assert "by the price of" not in words(fastcalc("compare", "--on", path, "--batch", "8").out)


def test_a_comparison_does_not_ask_for_chips_where_settings_stop_the_server(fastcalc):
    """Two H100 hold blocks for 1,024 sequences; on one, fewer sequences start as well."""
    settings = ("--on", "h100-sxm", "--max-num-seqs", 1024, "--batch", 1)
    ran = fastcalc("compare", "qwen3.5-27b", *settings, "--chips", 1)
    first = "qwen3.5-27b does not start on one h100-sxm at batch 1. It starts on 2 h100-sxm"
    assert (first in ran.out, "needs 2" in ran.out) == (True, False)
    assert "does not start\n" in ran.out


def test_a_server_that_does_not_start_is_told_apart_from_chips_that_are_too_small(fastcalc):
    """55 GB on one L40S of 48 GB; one H100 has memory, and too few blocks for 1,024 sequences."""
    settings = ("--chips", 1, "--batch", 1, "--max-num-seqs", 1024)
    ran = fastcalc("compare", "qwen3.5-27b", "--on", "h100-sxm,l40s", *settings)
    first = "qwen3.5-27b does not start on one h100-sxm and does not fit on one l40s at batch 1."
    assert words(ran.out).startswith(first)
    ran = fastcalc("compare", "qwen3.5-27b", "--on", "h100-sxm,mi300x", *settings, "--notes")
    assert ("does not start\n" in ran.out, "larger batches" in ran.out) == (True, False)
    ran = fastcalc("fastmode", "qwen3.5-27b", "--on", "h100-sxm", *settings)
    assert "batch 1 of qwen3.5-27b does not start on 1 h100-sxm chip: one chip has" in words(
        ran.err
    )
