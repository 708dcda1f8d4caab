"""Sensitivity to each number agrees with difference quotients, what it would have to be with scans."""

import re
from dataclasses import replace
from functools import partial
from itertools import combinations
from math import ceil

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import fastcalc as fc
from fastcalc.catalogue.entry_numbers import entry_numbers, with_value
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import solve
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.features.sensitivity.crossing import nearest
from fastcalc.features.sensitivity.effects import effects
from fastcalc.features.sensitivity.figures import BatchFigure, MovedFigures
from fastcalc.features.sensitivity.levers import levers
from fastcalc.features.sensitivity.targets import Target, _better, _good_end, goals
from fastcalc.kit.answer.console import render
from fastcalc.kit.answer.field_names import in_words
from fastcalc.kit.charts.terminal import parts
from tests import strategies
from tests.core.test_each_number import multiplied
from tests.helpers import outcome, run_once, thorough, words


@st.composite
def outcomes(draw):
    """Return a random model on a random machine, which holds it."""
    scenario = Scenario(
        hardware=draw(strategies.hardware()),
        model=draw(strategies.models()),
        engine=draw(strategies.engines()),
        batches=(draw(st.sampled_from([1, 3, 32])),),
        traffic=Traffic(1000.0, 1000.0, 1500.0),
    )
    try:
        solved = solve(scenario)
    except InputError:
        assume(False)
    assume(solved.estimate.fits.all())
    return solved


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return partial(run_once, capsys=capsys, monkeypatch=monkeypatch)


def speed_with(scenario, lever, factor):
    """Return the speed with a number multiplied, by another hand than that of the search."""
    place = lever.number.place
    if lever.file == "engine":
        moved = replace(scenario, engine=multiplied(scenario.engine, place, factor))
    else:
        moved = replace(scenario, hardware=multiplied(scenario.hardware, place, factor))
    try:
        return float(solve(moved).estimate.speed[0])
    except InputError:  # the layout needs more of it
        return np.nan


def some(count):
    """Return settings for properties whose failures are not worth hours of shrinking."""
    return settings(strategies.examples(count), phases=[Phase.explicit, Phase.generate])


@pytest.mark.thorough
@some(1)
@given(outcomes())
def test_elasticities_are_difference_quotients(solved):
    scenario = solved.on_its_layout
    now = float(solve(scenario).estimate.speed[0])
    for effect in effects(solved):
        lever = effect.lever
        limit = lever.number.limit
        if lever.file == "model" or lever.number.is_default or limit.is_whole:
            continue  # the slope of a whole number is that over 10%
        highest = min(1.001, limit.maximum / lever.number.value)
        lowest = max(1.0 / 1.001, min(limit.minimum / lever.number.value, 1.0))
        if highest == lowest:
            continue
        speeds = [speed_with(scenario, lever, factor) for factor in (lowest, highest)]
        sides = [
            np.log(speed / now) / np.log(factor)
            for speed, factor in zip(speeds, (lowest, highest), strict=True)
            if factor != 1.0 and speed == speed
        ]
        slope = float(effect.elasticity.speed[0])
        # At a bend it lies between the slopes of both sides.
        assert min(sides) - 2e-3 <= slope <= max(sides) + 2e-3, lever


@pytest.mark.thorough
@some(1)
@given(outcomes(), st.floats(1.05, 4.0))
def test_what_a_number_alone_would_have_to_be_is_the_first_of_a_scan(solved, faster):
    scenario = solved.on_its_layout
    now = float(solve(scenario).estimate.speed[0])
    reached = goals(solved, Target("speed", now * faster))[0]
    for answer in reached.alone:
        lever = answer.lever
        if lever.is_choice or lever.number.is_default:
            continue
        limit = lever.number.limit
        scanned = []
        for factor in np.geomspace(1e-3, 1e3, 13):
            if factor * lever.number.value in replace(limit, is_whole=False):
                speed = speed_with(scenario, lever, float(factor))
                scanned += [float(factor)] if speed >= now * faster else []
        nearest = min(scanned, key=lambda factor: abs(np.log(factor)), default=None)
        if answer.factor is None:
            assert nearest is None, lever
        elif nearest is not None and not limit.is_whole:
            assert speed_with(scenario, lever, answer.factor) >= now * faster * (1 - 1e-6)
            assert abs(np.log(answer.factor)) <= abs(np.log(nearest)) * (1 + 1e-6)
            nearer = answer.factor ** (1 - 1e-3)
            assert speed_with(scenario, lever, nearer) < now * faster, lever


@pytest.mark.thorough
def test_no_two_numbers_change_less_than_the_pair():
    """Every pair of what moves the speed, each a little less than the factor of the pair better."""
    solved = outcome("llama-3.1-8b", "h100-sxm")
    reached = goals(solved, Target("speed", 400.0))[0]
    least = {lever.number.path for lever in reached.pair.levers}
    assert least == {"memory.HBM3.bandwidth", "parameters.decode_layer_floor"}
    raised = {"memory.HBM3.bandwidth": 1, "peak.bf16": 1, "cores": 1}
    raised |= {"parameters.bandwidth_fraction": 1, "parameters.decode_layer_floor": -1}
    scenario = reached.scenario
    own = [lever for lever in levers(scenario) if lever.number.path in raised]
    for factor, is_enough in ((0.99, False), (1.0, True)):
        fastest = 0.0
        for pair in combinations(own, 2):
            moved = scenario
            for lever in pair:
                number = lever.number
                value = number.value * (factor * reached.pair.factor) ** raised[number.path]
                moved = lever.moved(moved, min(value, number.limit.maximum))
            fastest = max(fastest, float(solve(moved).estimate.speed[0]))
        assert (fastest >= 400.0 * (1.0 - 1e-6)) == is_enough


@pytest.mark.thorough
def test_a_change_is_that_of_the_what_if():
    """Rows of the table, with 10% more, against a comparison with each what-if."""
    case = {"on": "h100-sxm", "batch": 8, "tp": 1}
    base = fc.compare("llama-3.1-8b", **case)[0]
    table = fc.sensitivity("llama-3.1-8b", **case)
    compared = 0
    for row in table:
        if row["more_value"] is None or row["is_default"]:
            continue
        units = {"size": " B", "bandwidth": " B/s", "compute rate": " FLOP/s", "time": " s"}
        units |= {"hourly price": " USD/h", "price": " USD", "power": " W", "reserve": " B"}
        value = row["more_value"]
        if unit := units.get(row["quantity"]):
            value = f"{value:.15g}{unit}"
        if row["quantity"] == "area":
            continue
        other = fc.compare("llama-3.1-8b", **case, set={row["path"]: value})[0]
        for key in ("tokens_per_s_per_user", "ttft_ms", "usd_per_mtok_output", "max_batch"):
            change = other[key] / base[key] - 1.0
            assert row[f"{key}_change"] == pytest.approx(change, abs=1e-9), (row["path"], key)
        compared += 1
    assert compared > 30


FLOORED = """
id: floored
name: Floored
vendor: Nobody
kind: wafer
execution: spatial
scope: one wafer
memory:
  - {name: SRAM, capacity: 60 GB, bandwidth: 20 PB/s}
peak: {bf16: 10 PFLOP/s}
price: {cloud: 20 USD/h}
"""


@pytest.fixture
def chip(tmp_path):
    path = tmp_path / "floored.yaml"
    path.write_text(FLOORED)
    return path


@pytest.mark.thorough
def test_it_says_beyond_which_bandwidth_nothing_is_bought(chip):
    """A layer's floor of 17 us hides all below it: half the bandwidth gives the same speed."""
    table = fc.sensitivity("llama-3.1-8b", on=chip)
    rows = {row["path"]: row for row in table}
    row = rows["memory.SRAM.bandwidth"]
    assert row["tokens_per_s_per_user_elasticity"] == 0
    assert rows["parameters.decode_layer_floor"]["tokens_per_s_per_user_elasticity"] == (
        pytest.approx(-1.0, abs=1e-3)
    )
    enough = row["enough_value"]
    speeds = [
        fc.compare(
            "llama-3.1-8b", on=chip, batch=1, set={"memory.SRAM.bandwidth": f"{value:.12g} B/s"}
        )[0]["tokens_per_s_per_user"]
        for value in (0.5 * enough, 0.99 * enough, 1.01 * enough, 20e15, 2000e15)
    ]
    assert speeds[0] < speeds[1] < 0.99 * speeds[4] < speeds[2]
    assert speeds[3] == speeds[4]
    assert "Beyond these values, decode speeds up by at most 1%: SRAM bandwidth " in words(
        str(table)
    )


@pytest.mark.thorough
def test_prices_and_first_tokens_are_targets_too(chip):
    """Half the price of an hour is half the price of a token; a peak shortens the first token."""
    base = fc.compare("llama-3.1-8b", on=chip, batch=1)[0]
    half = base["usd_per_mtok_output"] / 2
    rows = fc.sensitivity("llama-3.1-8b", on=chip, target=f"{half}$/Mtok")
    by_path = {row["path"]: row for row in rows}
    assert by_path["price.cloud"]["target_value"] == pytest.approx(10.0, rel=1e-5)
    assert by_path["memory.SRAM.bandwidth"]["target_value"] is None
    sooner = f"{base['ttft_ms'] * 0.9:.6g}ms"
    by_path = {row["path"]: row for row in fc.sensitivity("llama-3.1-8b", on=chip, target=sooner)}
    peak = by_path["peak.bf16"]["target_value"]
    reached = fc.compare("llama-3.1-8b", on=chip, batch=1, set={"peak.bf16": f"{peak} FLOP/s"})
    assert reached[0]["ttft_ms"] == pytest.approx(0.9 * base["ttft_ms"], rel=1e-5)


@pytest.fixture(scope="module")
def faster():
    """What would make one H100 three times as fast with a small model."""
    return fc.sensitivity("llama-3.1-8b", on="h100-sxm", target=400)


@pytest.mark.thorough
def test_whole_numbers_of_a_model_move_to_the_next_that_a_file_may_hold(faster):
    rows = {row["path"]: row for row in faster}
    assert rows["blocks[0].attention.kv_heads"]["more_value"] == 16
    assert rows["blocks[0].count"]["target_value"] == 9
    speeds = [
        fc.compare("llama-3.1-8b", on="h100-sxm", batch=1, set={"blocks[0].count": layers})[0][
            "tokens_per_s_per_user"
        ]
        for layers in (9, 10)
    ]
    assert speeds[0] >= 400 > speeds[1]


@pytest.mark.thorough
def test_the_two_numbers_stand_alongside_the_records(faster):
    (target,) = faster.details["targets"]
    assert target["figure"] == "tokens_per_s_per_user"
    assert len(target["pair"]) == 2
    assert "No parameter of chip or engine reaches 400 tokens/s alone" in words(str(faster))


@pytest.mark.parametrize(
    "asked",
    [
        thorough(("kimi-k2", "--on", "wse-3", "--batch", "8")),
        thorough(("llama-3.1-8b", "--on", "h100-sxm", "--batch", "1")),
        ("llama-3.1-8b", "--on", "groq-lpu", "--batch", "1"),
    ],
)
@pytest.mark.parametrize("target", [(), thorough(("--target", "900"))])
def test_it_opens_as_the_comparison_and_prices_what_has_dollars(fastcalc, asked, target):
    """The speed and the price of the comparison: the price where the table has changes of it."""
    compared = words(fastcalc("compare", *asked).out).partition("-bound.")[0]
    speed, _, ending = compared.partition(" at $")
    price, _, limiter = ending.partition("/Mtok;") if ending else ("", "", "")
    text = words(fastcalc("sensitivity", *asked, *target).out)
    assert text.startswith(f"{speed};{limiter}-bound." if price else f"{compared}-bound.")
    sentences = text.partition("parameters,")[0]
    is_priced = bool(price) and not target
    assert ("rice per chip-hour: " in sentences) == ("$" in sentences) == is_priced
    assert (f"); output costs ${price}/Mtok at batch {asked[-1]}. " in sentences) == is_priced
    assert bool(price) == ("groq-lpu" not in asked)


def shown_numbers(answer):
    """Return the numbers in the rows of a page."""
    lines = str(answer).partition("reached\n")[2].splitlines()
    names = {row["path"]: in_words(row["path"]) for row in answer}
    return {path for path, name in names.items() if any(x.startswith(f"{name} ") for x in lines)}


@pytest.mark.parametrize(
    ("target", "moving", "idle"),
    [
        (
            "5000",
            ["parameters.decode_layer_floor", "blocks[0].count"],
            ["price.cloud", "peak.bf16"],
        ),
        thorough(
            "1$/Mtok", ["price.cloud", "parameters.decode_layer_floor"], ["peak.bf16", "area"]
        ),
    ],
)
def test_levers_of_a_target_are_numbers_that_move_it(target, moving, idle):
    """A rent makes no token faster, and a peak none that waits for the latency of layers."""
    answer = fc.sensitivity("llama-3.1-8b", on="wse-3", target=target)
    shown = shown_numbers(answer)
    assert set(moving) <= shown
    assert not set(idle) & shown
    left_out = len(answer) - len(shown)
    assert f"{left_out} parameters that cannot " in words(str(answer))
    assert set(idle) <= {row["path"] for row in answer}, "records have every number"


@pytest.mark.thorough
def test_numbers_that_move_a_target_and_miss_it_are_shown(faster):
    """No bandwidth alone reaches 400 tokens/s, but with more of it a user gets more."""
    (bandwidth,) = (row for row in faster if row["path"] == "memory.HBM3.bandwidth")
    assert bandwidth["target_value"] is None
    assert "memory.HBM3.bandwidth" in shown_numbers(faster)
    assert "peak.fp8" not in shown_numbers(faster)
    assert " parameters that cannot raise the speed are not shown" in words(str(faster))


@pytest.fixture(scope="module")
def of_llama():
    """Each number of Llama 3.1 8B on an H100, without a target."""
    return fc.sensitivity("llama-3.1-8b", on="h100-sxm", engine="vllm")


def test_the_tornado_draws_both_ways(of_llama):
    chart = of_llama._answer.charts["tornado"]()
    (swing,) = (swing for swing in chart.swings if swing.name == "HBM3 bandwidth")
    assert swing.lowered < 0 < swing.raised
    changes = [max(abs(swing.lowered), abs(swing.raised)) for swing in chart.swings]
    assert changes == sorted(changes, reverse=True)
    text = render(parts(chart, 80, is_ascii=True), 80)
    line = next(line for line in text.splitlines() if re.match("HBM3 bandwidth .*[|]", line))
    assert re.search(r"-+\|\++$", line)
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("target", ["fast", "0$/Mtok", "-3", "5 kg", "$5", "1e400", ""])
def test_what_is_no_target_is_refused_in_a_sentence(target):
    with pytest.raises(fc.InputError, match="is not a target; write 1000"):
        fc.sensitivity("llama-3.1-8b", target=target)


def test_a_price_that_a_chip_has_not_is_no_target_for_it():
    with pytest.raises(fc.InputError, match="groq-lpu has no cloud price; set one"):
        fc.sensitivity("llama-3.1-8b", on="groq-lpu", target="0.5$/Mtok")


def test_several_chips_are_refused():
    with pytest.raises(fc.InputError, match="sensitivity is computed for one chip"):
        fc.sensitivity("llama-3.1-8b", on="h100-sxm,wse-3")


@pytest.mark.thorough
def test_nothing_that_reaches_a_target_is_the_answer_no(chip, fastcalc):
    ran = fastcalc("sensitivity", "llama-3.1-8b", "--on", str(chip), "--target", "900000000")
    assert ran.code == 1
    ran = fastcalc("sensitivity", "kimi-k2", "--on", "rtx-4090", "--chips", "1")
    assert ran.code == 1
    ran = fastcalc("sensitivity", "llama-3.1-8b", "--on", str(chip), "--batch", "1,4096")
    assert ran.code == 0
    assert "batch 4,096 does not fit" in ran.err
    assert "Traceback" not in ran.err


def test_switches_are_not_varied(of_llama):
    """Parameters that are 0 or 1 have no value that is 10% larger."""
    switches = "launches_ahead", "overlaps_steps", "loads_encoders"
    assert not {f"parameters.{name}" for name in switches} & {row["path"] for row in of_llama}


def test_every_number_of_a_file_is_found_and_can_be_replaced():
    entries = Catalogue()
    chip, model = entries.hardware("wse-3"), entries.model("llama-3.1-8b")
    paths = {number.path: number for number in entry_numbers(chip)}
    assert paths["memory.SRAM.bandwidth"].value == 21e15
    assert paths["price.offers[0].price"].kind == "hourly price"
    faster = with_value(chip, paths["memory.SRAM.bandwidth"].place, 42e15)
    assert faster.memory[0].bandwidth.si == 42e15
    layers = next(number for number in entry_numbers(model) if number.path == "blocks[0].count")
    assert (layers.value, layers.kind) == (32, "layers")
    assert with_value(model, layers.place, 16).blocks[0].count == 16


def test_more_batches_than_anyone_reads_are_refused(fastcalc):
    ran = fastcalc("sensitivity", "llama-3.1-8b", "--on", "h100-sxm", "--batch", "1..100+1")
    assert (ran.code, ran.out) == (2, "")
    assert "--batch names 100 batches" in ran.err


@pytest.mark.parametrize("now", [1e-6, 3.0, 1e9])
@pytest.mark.parametrize("needed", [1.5, 1e3, 1e12])
def test_a_value_is_found_in_few_steps(now, needed):
    """A time of 1 s and a work over a rate: by hand the rate is work / (time wanted - 1)."""
    asked = []

    def surplus(rate):
        asked.append(rate)
        return 1.0 - (1.0 + now * needed / rate) / 2.0  # two seconds are wanted

    assert nearest(surplus, 1e30, now) == pytest.approx(now * needed, rel=2e-6)
    assert surplus(nearest(surplus, 1e30, now)) >= 0.0
    assert len(asked) < 20


@pytest.mark.parametrize("at", [2.5, 700.0])
def test_a_step_is_found_as_well(at):
    """A whole number, or a latency: what jumps has no chord to follow."""
    assert nearest(lambda v: 1.0 if v >= at else -5.0, 1e6, 1.0) == pytest.approx(at, rel=2e-6)
    assert nearest(lambda v: 1.0 if v <= at else -5.0, 1e-6, 1e6) == pytest.approx(at, rel=2e-6)
    assert nearest(lambda v: v - at, 1e6, 1.0, is_whole=True) == ceil(at)


@pytest.mark.thorough
def test_the_least_pair_is_that_of_all_pairs(catalogue):
    """Every pair tried one by one, on a chip that misses a target of twice its speed."""
    solved = outcome("llama-3.1-8b", "h100-sxm", engine="vllm")
    target = Target("speed", 2.0 * float(solved.estimate.speed[0]))
    figures = BatchFigure(MovedFigures(solved.on_its_layout), "speed", 0)
    found = goals(solved, target)[0].pair
    ends = {
        lever: end
        for lever in levers(figures.scenario)
        if not lever.is_choice and (end := _good_end(figures, lever, target)) is not None
    }
    assert found is not None
    for pair in combinations(ends, 2):
        moved = {lever: _better(lever, ends[lever], found.factor * 0.999) for lever in pair}
        assert not target.reached(figures.at(moved))


@pytest.mark.thorough
def test_a_chip_more_in_a_full_domain_changes_nothing():
    """Eight chips in a domain of eight: 1% less is no chip less, which would leave the domain."""
    table = fc.sensitivity("kimi-k2", on="b200", batch=32, chips=8)
    (domain,) = (row for row in table if row["path"] == "links.scale_up.domain")
    assert (domain["value"], domain["chips"], domain["more_value"]) == (8, 8, 9)
    assert domain["tokens_per_s_per_user_elasticity"] == 0.0
    assert "parameter is chips per" not in words(str(table))
