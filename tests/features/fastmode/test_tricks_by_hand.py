"""Tricks and searches on a made-up chip whose passes a head can add up."""

from types import SimpleNamespace

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Scenario, engine_for
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.fastmode import start
from fastcalc.features.fastmode.smaller_batches import engines_of
from fastcalc.features.fastmode.smaller_models import fewer_layers, smaller_models
from fastcalc.features.fastmode.start import Base, family_of
from fastcalc.features.plan.candidates import cache_choices, weight_choices
from fastcalc.grid.largest_batch import cheapest
from fastcalc.grid.space import Space
from tests import made_up
from tests.helpers import outcome

ENTRIES = Catalogue()


def clocked():
    return outcome(made_up.minimal(), made_up.clocked(), engine=made_up.CLOCK, prompt=1, output=1)


def test_a_model_of_totals_alone_loses_layers_and_as_much_of_its_weights():
    """Ten layers take 10.01 ms, six take 6.006 and seven 7.007: six give 150 tokens/s."""
    shrunk = fewer_layers(Base(clocked(), 150.0, ENTRIES))
    assert (shrunk.layers, shrunk.total_parameters) == (6, 300_000)
    assert fewer_layers(Base(clocked(), 1100.0, ENTRIES)) is None


@pytest.mark.parametrize(
    ("models", "reason", "is_ruled_out"),
    [
        (None, "the catalogue has no smaller made", False),
        ([], "none is given", True),
        (["llama-3.1-8b"], "none is given", False),
    ],
)
def test_why_no_smaller_model_takes_its_place(models, reason, is_ruled_out):
    """Of 500,000 parameters: no family, none allowed, and one that is larger."""
    (option,) = smaller_models(Base(clocked(), 150.0, ENTRIES, models))
    assert (option.why_not, option.is_ruled_out) == (reason, is_ruled_out)


@pytest.mark.parametrize(("utilization", "usd"), [(1.0, 0.02), (0.5, 0.04)])
def test_a_search_takes_nothing_that_costs_as_much_as_what_there_is(utilization, usd):
    """A pass of 1,000 sequences takes 20 ms: 50,000 tokens/s for 3.6 USD/h are 2 cents a million."""
    pricing = outcome(made_up.minimal(), made_up.clocked(), engine=made_up.CLOCK).scenario.pricing
    pricing = type(pricing)(basis=pricing.basis, utilization=utilization)
    scenario = Scenario(
        made_up.clocked(), made_up.minimal(), made_up.CLOCK, (1,), Traffic(1.0, 1.0, 1.0),
        pricing=pricing,
    )  # fmt: skip
    space = Space(scenario)
    dearer = cheapest(space, [Layout()], 49.99, below=usd * 1.0001)
    assert dearer.outcome.scenario.batches == (1000,)
    assert float(dearer.outcome.usd[1][0]) == pytest.approx(usd, rel=1e-6)
    cheaper = cheapest(space, [Layout()], 49.99, below=usd * 0.9999)
    assert cheaper.outcome is None


@pytest.mark.parametrize(
    ("chip", "engine", "weights", "caches"),
    [
        ("h100-sxm", "vllm", {None, "fp8"}, [None, "fp8"]),
        # Ampere has no units for 8-bit floats.
        ("a100-sxm-80gb", "vllm", {None}, [None]),
        # llama.cpp reads files of its own formats, whatever units there are.
        ("h100-sxm", "llama-cpp", {None, "q8_0", "q4_k_m"}, [None, "q8_0", "q4_0"]),
    ],
)
def test_formats_that_a_plan_tries_are_those_of_chip_and_engine(chip, engine, weights, caches):
    entries = ENTRIES.model("llama-3.1-8b"), ENTRIES.hardware(chip), ENTRIES.engine(engine)
    assert weights <= set(weight_choices(*entries))
    assert ("fp8" in weight_choices(*entries)) == ("fp8" in weights)
    assert cache_choices(*entries, None) == caches


@pytest.mark.parametrize(
    ("name", "family"), [("glm-4.7", "glm"), ("GLM-5", "glm"), ("4o-mini", "4o-mini")]
)
def test_a_name_without_letters_in_front_is_a_family_of_its_own(name, family):
    assert family_of(name) == family


def test_engines_that_are_compared_on_a_chip_were_fitted_on_it():
    """Those without a floor for each layer, and those fitted elsewhere, say nothing of it."""
    for name in ("h100-sxm", "mi300x"):
        chip = ENTRIES.hardware(name)
        first, *others = engines_of(ENTRIES, chip)
        assert first.id == engine_for(ENTRIES, chip)[0].id
        for engine in others:
            assert chip.architecture in engine.fitted_architectures
            assert not engine.is_bound


def test_other_machines_are_newer_by_their_year(monkeypatch):
    monkeypatch.setattr(start, "in_order", list)

    def chip(name, released):
        return SimpleNamespace(id=name, released=released)

    base = SimpleNamespace(
        scenario=SimpleNamespace(hardware=chip("today", "2023-05")), sram_machines=[chip("s", None)],
        rivals=[chip("n", "2024"), chip("o", "2023-11"), chip("u", None)],
        on=lambda one: f"on {one.id}", options=lambda listed: listed,
    )  # fmt: skip
    assert Base.on_other_machines(base) == [
        ("sram-machine", "s", "on s"), ("newer-hardware", "n", "on n"),
        ("other-hardware", "o", "on o"), ("other-hardware", "u", "on u"),
    ]  # fmt: skip
