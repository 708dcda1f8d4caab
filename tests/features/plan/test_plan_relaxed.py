"""What a refused plan suggests, typed as it is printed, gives a plan."""

import re
from dataclasses import replace
from functools import partial

import pytest

from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.plan import relax
from fastcalc.features.plan.candidates import candidates
from fastcalc.features.plan.score import score
from fastcalc.features.plan.service import Service
from tests import made_up
from tests.helpers import run_once, sweep

ASKED = {
    "DeepSeek-R1 at a rate": "deepseek-r1 --on h100-sxm --tpot 20ms --max-chips 4 --rate 5/s",
    "one replica": "deepseek-r1 --on h100-sxm --min-speed 200 --max-chips 64",
    "TTFT": "deepseek-r1 --on h100-sxm --ttft 20ms",
    "price of two chips of a node": "glm-4.7 --on mi325x --budget 3290/month",
    "a bit more": "glm-4.7 --on mi325x,h200-sxm --budget 3600/month",
    "chips of a node": "glm-4.7 --on mi325x,h200-sxm --budget 13500/month --max-chips 4",
    "budget, TTFT": "deepseek-r1 --on h200-sxm,b200 --budget 30k/month --prompt 8000 --ttft 200ms",
    "power": "llama-3.1-70b --on mi325x,h100-sxm --power 10kW --tpot 12ms",
    "TPOT": "llama-3.1-70b --on mi325x,h100-sxm --budget 14k/month --tpot 8ms",
    "slow chips": "llama-3.1-70b --on mi325x --budget 14k/month --tpot 8ms --confidence 90",
    "budget at a rate": "llama-3.1-70b --on l40s,h100-sxm --budget 20k/month --rate 50/s",
    "chips at a rate": "llama-3.1-70b --on l40s,h100-sxm --max-chips 6 --rate 50/s",
    "owned": "llama-3.1-70b --on h100-sxm --own l40s=8 --max-chips 3 --rate 2/s",
    "idle for want of power": "llama-3.1-70b --on h100-sxm --own mi325x=8 --power 10kW --rate 90/s",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", sweep(ASKED, lambda name: name not in ("one replica", "TTFT")))
def test_what_it_says_to_relax_helps(name, capsys, monkeypatch):
    """Each option alone."""
    plan = partial(run_once, "plan", capsys=capsys, monkeypatch=monkeypatch)
    model, *words = ASKED[name].split()
    asked = dict(zip(words[::2], words[1::2], strict=True))
    refused = plan(model, *words)
    assert refused.code == 1
    assert refused.out == ""
    sentences = re.findall(
        r"would(?: be enough| sustain all of it| meet them)? with (.*?)(?:;|$)",
        refused.err,
        re.MULTILINE,
    )
    suggested = [option for sentence in sentences for option in sentence.split(", or ")]
    assert suggested, refused.err
    for option in suggested:
        relaxed = asked | dict(re.findall(r"(--\S+) (\S+)", option))
        ran = plan(model, *(word for pair in relaxed.items() for word in pair))
        assert ran.code == 0, (option, ran.err)


@pytest.mark.thorough
def test_a_budget_is_relaxed_to_the_price_of_a_node(capsys, monkeypatch):
    """Eight mi325x at 1.95 USD are 11,388 a month, and two, which hold the model, 2,847."""
    plan = partial(run_once, "plan", "glm-4.7", "--on", "mi325x", "--budget", "3290/month")
    refused = plan(capsys=capsys, monkeypatch=monkeypatch)
    assert refused.err.strip() == (
        "fastcalc: note: no deployment meets these limits; one would meet them with "
        "--budget 11400/month, or --by chip"
    )
    singly = plan("--by", "chip", capsys=capsys, monkeypatch=monkeypatch)
    assert singly.code == 0


@pytest.mark.thorough
def test_single_chips_are_offered_with_the_budget_that_they_need(capsys, monkeypatch):
    """One h100-sxm at 2.95 USD is 2,153.5 a month, and a node of eight 17,228."""
    asked = ("llama-3.1-8b", "--on", "h100-sxm", "--rate", "1/s", "--budget", "50/month")
    plan = partial(run_once, "plan", *asked, "--price", "h100-sxm=2.95")
    refused = plan(capsys=capsys, monkeypatch=monkeypatch)
    assert refused.err.strip().endswith(
        "--budget 17300/month, or --by chip with --budget 2160/month"
    )


def test_a_chip_is_not_searched_that_can_relax_nothing(monkeypatch):
    """One chip at 1 USD is 730 a month; at 3 USD it is more than both the budget and that."""
    service = Service(1000.0, 100.0, ttft=10.0, tpot=1.0, budget=700.0)
    scored = []

    def grid(usd):
        hardware = made_up.chip(price={"cloud": usd})
        traffic = Traffic(1.0, 1.0, 1.0)
        asked = Scenario(hardware, made_up.minimal(), made_up.engine(), (1,), traffic)
        return candidates(asked, prompt=1000.0, output=100.0)

    def counted(grid, *args):
        scored.append(grid)
        return score(grid, *args)

    monkeypatch.setattr(relax, "score", counted)
    cheap, dear = grid("1 USD/h"), grid("3 USD/h")
    assert relax.least_relaxed([cheap, dear], service) == {"budget": 730.0}
    assert scored
    assert all(grid.scenario is cheap.scenario for grid in scored)
    for budget, dear_may_meet in ((2190.0, True), (2189.0, False)):
        enough = replace(service, budget=budget)
        assert relax.may_meet(cheap, enough)
        assert relax.may_meet(dear, enough) is dear_may_meet
