"""Conditions on both sides: divisions, refusals and formats of plans from made-up parts."""

from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.core.placement.layout import Layout
from fastcalc.errors import InputError
from fastcalc.features.measure.diagnosis_answer import DiagnosisAnswer
from fastcalc.features.plan import (
    candidates,
    class_groups,
    demand,
    notes,
    packing,
    phrases,
    refusal,
    regret,
)
from fastcalc.features.plan.allocation import OwnedChips
from fastcalc.features.plan.answer import PlanAnswer
from fastcalc.features.plan.class_groups import Groups
from fastcalc.features.plan.percentile_checks import _Batch, _on_fewest
from fastcalc.features.plan.servers.programs import PROGRAMS
from fastcalc.features.plan.service import Service
from tests.features.plan.test_plan_sentences import SECOND, UNPRICED, decision, deployed, plan
from tests.features.plan.test_servers import server, values
from tests.helpers import every

MONTH = 730.0
"""Hours."""


@every(
    "chips,carried,divided",
    [
        # Of whole nodes of eight, those that carry most; of as much, the fewest deployments.
        (8, {8: 1.0}, [8]),
        (16, {8: 1.0, 16: 2.0}, [16]),
        (16, {8: 1.0, 16: 1.9}, [8, 8]),
        (16, {8: 1.0, 16: 2.1}, [16]),
        # As much but for rounding.
        (16, {8: 1.0 + 1e-10, 16: 2.0}, [16]),
        (16, {8: 1.0 + 1e-7, 16: 2.0}, [8, 8]),
        (24, {8: 1.0, 16: 2.5, 24: 3.2}, [16, 8]),
        (32, {8: 1.0, 16: 2.5, 24: 3.2, 32: 4.0}, [16, 16]),
        # What is left of a node goes to the largest.
        (19, {8: 1.0, 16: 1.5, 19: 1.5}, [11, 8]),
        (19, {8: 1.0, 16: 1.5, 19: 2.5}, [19]),
        # Of one node, and of more than eight, there is nothing to divide.
        (15, {}, [15]),
        (72, {}, [72]),
    ],
)
def test_chips_are_divided_where_that_carries_more(chips, carried, divided):
    kind = SimpleNamespace(node_chips=8, requests=lambda _, size, __: carried.get(size, 0.0))
    assert OwnedChips.divided(kind, None, chips) == divided


@every(
    "owns,requests,rate,served,told",
    [
        ((True, False), (1.0, 3.0), 8.0, 4.0, ["these limits allow 4.00 of 8.00 requests/s", "why b"]),
        ((True, False), (0.0, 3.0), 8.0, 3.0, ["these limits allow 3.00 of 8.00 requests/s", "8 a: why a", "why b"]),
        ((True, False), (0.0, 0.0), 8.0, 0.0, ["8 a: why a", "why b"]),
        ((True,), (4.0,), None, 4.0, []),
    ],
)  # fmt: skip
def test_what_of_a_mix_is_refused(owns, requests, rate, served, told, monkeypatch):
    allocations = [
        SimpleNamespace(
            owned=SimpleNamespace(hardware=SimpleNamespace(id=name)) if is_owned else None,
            requests=carried, name=name, chips=8,
        )
        for name, is_owned, carried in zip("ab", owns, requests, strict=False)
    ]  # fmt: skip
    monkeypatch.setattr(refusal, "_mix_reasons", lambda _, allocation: [f"why {allocation.name}"])
    fleet = SimpleNamespace(
        is_within=True, serves_all=False, allocations=allocations, requests=served,
        service=SimpleNamespace(rate=rate),
    )  # fmt: skip
    assert refusal.mix_refusals(fleet) == told
    fleet.serves_all = True
    assert refusal.mix_refusals(fleet) == []


@every(
    "allows,further,is_told",
    [(5.0, 5.0, False), (5.0, 5.004, False), (5.0, 5.006, True), (5.0, 9.0, True)],
)
def test_what_limits_allow_if_quantized_further(allows, further, is_told):
    def made(requests):
        scenario = SimpleNamespace(hardware=SimpleNamespace(id="h"))
        return SimpleNamespace(requests=requests, values={"chips": 8.0}, scenario=scenario)

    decision = SimpleNamespace(plans=[made(allows)], in_order=[made(allows), made(further)])
    said = refusal.load_within_limits(decision, Service(1.0, 1.0, rate=20.0, max_chips=8))
    assert said.startswith("within 8 chips, 8 h would sustain 5.00 of the 20.0 requests/s")
    assert ("quantized further" in said) is is_told
    said = refusal.load_within_limits(decision, Service(1.0, 1.0, rate=20.0, budget=1.0, power=9.0))
    assert said.startswith("within the budget and the power, 8 h")


@every("is_narrow,searched", [(False, ["plain"]), (True, ["plain", "narrow"])])
def test_groups_are_searched_in_formats_that_may_lead(is_narrow, searched, monkeypatch):
    """Chips that were searched before are kept with the options that were found on them."""
    tried = []

    def find(grids, _):
        tried.extend(grid.scenario for grid in grids)
        return ["option"], ["bound"]

    monkeypatch.setattr(class_groups, "find_replica_options", find)
    monkeypatch.setattr(
        class_groups, "Decision",
        lambda _: SimpleNamespace(may_lead_in=lambda scenario: scenario == "plain"),
    )  # fmt: skip
    grids = [SimpleNamespace(scenario=name) for name in ("plain", "narrow")]
    groups = SimpleNamespace(
        _classes_of=lambda _: [SimpleNamespace(share=0.25), SimpleNamespace(share=0.5)],
        _service=SimpleNamespace(of_classes=lambda _, share: f"at {share}"),
        _grids_for=lambda *_: grids, is_narrow=is_narrow, _groups={}, _searched={},
    )  # fmt: skip
    Groups._search(groups, 3, frozenset({"a"}))
    assert tried == searched
    found = groups._groups[3]
    assert (found.share, found.service, found.replica_options) == (0.75, "at 0.75", ["option"])
    Groups._search(groups, 3, frozenset({"b"}))
    assert groups._groups[3].replica_options == ["option", "option"]
    assert groups._groups[3].bounds == ["bound", "bound"]
    assert groups._searched == {3: frozenset("ab")}


@every(
    "experts,ffn,named,tried",
    [
        # Bits of experts where these have the format of the model, else those of other layers.
        ("fp8", "bf16", "fp8", ["nvfp4"]),
        ("nvfp4", "bf16", "bf16", ["fp8", "nvfp4"]),
        ("nvfp4", "bf16", "nvfp4", []),
        ("bf16", "bf16", "bf16", ["fp8", "nvfp4"]),
    ],
)
def test_narrower_weights_are_of_experts_if_the_model_is_named_after_them(
    experts, ffn, named, tried, monkeypatch
):
    formats = {"experts": experts, "ffn": ffn}
    own = SimpleNamespace(of=lambda part: candidates.number_format(formats[part]))
    model = SimpleNamespace(own_formats=own, format_name=named)
    monkeypatch.setattr(
        candidates, "formats_run", lambda *_: SimpleNamespace(weights=["bf16", "fp8", "nvfp4"])
    )
    assert candidates.weight_choices(model, None, None) == [None, *tried]


@every(
    "prefill,chips,tp,bits,refused",
    [
        (None, 8, 1, 8, ""),
        (None, 9, 1, 16, "9 chips"),
        ("tp1", 8, 1, 16, "disaggregated prefill"),
        ("tp1", 16, 1, 16, "disaggregated prefill"),
        (None, 2, 2, 8, "needs a 16-bit cache"),
        (None, 2, 2, 16, ""),
    ],
)
def test_what_llama_server_does_not_run(prefill, chips, tp, bits, refused):
    work = SimpleNamespace(kv_format="q8_0", formats=SimpleNamespace(kv=SimpleNamespace(bits=bits)))
    plan = SimpleNamespace(
        prefill_layout=prefill, layout=SimpleNamespace(chips=chips, tp=tp),
        scenario=SimpleNamespace(work=work),
    )  # fmt: skip
    if not refused:
        return PROGRAMS["llama-cpp"].refuse(plan)
    with pytest.raises(InputError, match=refused):
        PROGRAMS["llama-cpp"].refuse(plan)
    return None


@every(
    "layout,flags,missing",
    [
        ({"tp": 4, "pp": 2}, {"--tp_size": "4", "--pp_size": "2"}, ["--ep_size", "--host"]),
        ({"tp": 4, "pp": 1}, {"--tp_size": "4"}, ["--pp_size", "--ep_size", "--host"]),
        ({"tp": 1, "dp": 4, "ep": 4}, {"--tp_size": "4", "--ep_size": "4"}, ["--pp_size"]),
    ],
)
def test_ranks_of_tensorrt_are_named_where_there_are_several(layout, flags, missing):
    words = PROGRAMS["trtllm"].start(server(layout=Layout(**layout)))
    named = values(words)
    assert flags.items() <= named.items()
    assert not set(missing) & set(named)
    assert words[0] == "trtllm-serve"
    apart = values(PROGRAMS["trtllm"].start(server(role="prefill")))
    assert apart["--host"] == "0.0.0.0"


@every("named,asked", [("typed", "typed"), (None, "of-log")])
def test_a_measurement_is_of_the_model_as_it_was_typed(named, asked, monkeypatch):
    page = "fastcalc.features.measure.diagnosis_answer"
    monkeypatch.setattr(f"{page}.stated_settings", lambda *_: {})
    monkeypatch.setattr(f"{page}.follow_up", lambda _, __, *words: words)
    model = SimpleNamespace(id="of-log", asked_name="of-log")
    scenario = SimpleNamespace(model=model, hardware=SimpleNamespace(id="h"))
    answer = SimpleNamespace(
        request=SimpleNamespace(model=named), diagnosis=None,
        start=SimpleNamespace(log=None, scenario=scenario),
    )  # fmt: skip
    assert DiagnosisAnswer.next_command(answer)[0] == asked


def test_limits_are_counted_where_they_are_limited_and_known():
    """A chip for 2,628 USD per month that draws 2,170 W, with neither limited or both."""
    both = Service(1.0, 1.0, budget=1.0, power=1.0)
    found = packing.bills(deployed(), both, 3.0)
    assert found == {"budget": pytest.approx(7884.0), "power": pytest.approx(6510.0)}
    assert packing.bills(deployed(), Service(1.0, 1.0), 3.0) == {}
    assert set(packing.bills(deployed(UNPRICED), both, 3.0)) == {"power"}
    assert packing.usd_per_month(deployed(UNPRICED)) is None


def batch(most, held):
    """A batch that sustains so much per replica, and meets the limits up to another rate."""
    limits = SimpleNamespace(at=lambda rate: SimpleNamespace(are_met=rate <= held))
    return SimpleNamespace(
        limits=limits, can_sustain=lambda rate, **_: rate <= most, is_too_small=lambda _: False
    )


@every(
    "batches,counts,found",
    [
        # 12 requests/s: on three replicas of 4, on which the second batch is the smallest.
        ([(3, 9), (4, 9), (9, 9)], range(3, 9), 1),
        ([(3, 9), (4, 9), (9, 9)], range(2, 9), 2),
        ([(3, 9), (4, 9), (9, 9)], range(4, 9), 0),
        # The limits of none are met, on so few; and on more.
        ([(3, 1), (4, 1), (9, 1)], range(3, 9), None),
        ([(3, 2), (4, 2), (9, 2)], range(3, 9), 0),
        ([(1, 9)], range(3, 9), None),
        ([(9, 9)], range(3, 3), None),
    ],
)
def test_the_smallest_batch_on_the_fewest_replicas(batches, counts, found):
    made = [batch(*each) for each in batches]
    chosen = next((each for each, _ in _on_fewest(made, 12.0, counts, is_known=True)), None)
    assert chosen is (None if found is None else made[found])


@every(
    "rate,known,tpot,met,is_too_small",
    [
        (5.0, True, True, True, False),
        # Above its highest rate, whatever is met; as high as it, but for rounding, not.
        (10.0, True, True, True, False),
        (10.1, True, True, True, True),
        # Without exact percentiles larger batches may have them.
        (5.0, False, True, True, True),
        # Requests wait too long, but not between tokens: a larger batch may do.
        (5.0, True, True, False, True),
        (5.0, True, False, False, False),
    ],
)
def test_a_batch_is_too_small_where_larger_ones_may_do(rate, known, tpot, met, is_too_small):
    at_rate = SimpleNamespace(load=SimpleNamespace(is_known=known), is_tpot_met=tpot, are_met=met)
    one = SimpleNamespace(limits=SimpleNamespace(at=lambda _: at_rate), max_rate=10.0)
    is_able = _Batch.can_sustain(one, rate, is_known=True)
    assert (not is_able or _Batch.is_too_small(one, rate)) is is_too_small
    if rate == 5.0 and not known:
        assert _Batch.can_sustain(one, rate, is_known=False)


@every("prompts,longest", [([10.0, 900.0], 1000.0), ([900.0, 10.0], 1000.0), ([5.0], 105.0)])
def test_the_longest_request_of_a_model_is_checked(prompts, longest, monkeypatch):
    checked = []
    monkeypatch.setattr(
        demand, "check_context", lambda _, tokens, text: checked.append((tokens, text))
    )
    monkeypatch.setattr(demand, "check_longest", lambda _, tokens: checked.append(tokens))
    kinds = [
        SimpleNamespace(
            name=name,
            lengths=SimpleNamespace(prompt=np.array(prompts), output=np.full(len(prompts), 100.0)),
        )
        for name in ("", "other")
    ]
    asked = SimpleNamespace(
        traffic=SimpleNamespace(classes=kinds), request=None,
        _model_name=lambda kind: "m" if kind.name == "" else "n",
    )  # fmt: skip
    demand.Deployments._check(asked, None, "m")
    assert checked == [(longest, f"prompt + output = {longest:,.0f} tokens"), longest]
    checked.clear()
    demand.Deployments._check(asked, None, "n")
    assert checked[0][1] == f"prompt + output of 'other' = {longest:,.0f} tokens"


def test_notes_of_a_decision_have_the_weights_of_what_they_say():
    """Two of eight chips run, for the one plan at 95% utilization, on the cheaper of two chips."""
    best = plan(values={"chips": 8.0}, node_chips=8, busy=0.95)
    second = plan(SECOND, cost=20.0)
    found = decision(best, second, service=Service(1000.0, 1000.0, rate=2.0))
    weights = {note.text: note.weight for note in notes.decision_notes(found, [best], [best])}
    told = {
        "Second-best chip: second-chip, 2.00 times the cost": phrases.Weight.NEXT_CHIP,
        "Best of ": 0,
    }
    for start, weight in told.items():
        assert [value for text, value in weights.items() if text.startswith(start)] == [weight]


@every("has_servers,wide", [(False, False), (False, True), (True, False)])
def test_the_page_of_a_plan_fills_one_screen(has_servers, wide, monkeypatch):
    page = "fastcalc.features.plan.answer"
    for name, value in {
        "rows_of": ["row"], "tables_of": ["first", "second"], "legend": "key", "notes_of": ["note"],
        "compare_command": "command",
    }.items():  # fmt: skip
        monkeypatch.setattr(f"{page}.{name}", lambda *_, value=value, **__: value)
    kept = []
    screen = SimpleNamespace(
        wide=wide,
        with_notes=lambda *parts, fills_one_screen: kept.append((parts, fills_one_screen)),
    )
    made = SimpleNamespace(
        servers="script" if has_servers else None, unrounded=[], scenarios=["scenario"], typed=None,
        _above_tables=lambda: iter(["headline"]),
    )  # fmt: skip
    found = PlanAnswer.page(made, screen)
    body = ["headline", "", "first", "", "second"]
    assert kept == ([] if has_servers else [((body, "key", ["note"], "command"), True)])
    assert found == (() if has_servers else None)


@every("name,in_all", [("chips", 0.0), ("budget", 70.0), ("power", 70.0)])
def test_what_else_a_fleet_takes_of_a_limit(name, in_all):
    """Of 100, the rented chips take 30; of chips only rented ones are limited."""
    fleet = SimpleNamespace(used=lambda _: 100.0)
    assert refusal._in_all(fleet, SimpleNamespace(used=lambda _: 30.0), name) == in_all
    pool = SimpleNamespace(classes=[SimpleNamespace(name="chat")], decision="decision")
    rented = SimpleNamespace(
        owned=None, used=lambda _: 30.0, sharing=SimpleNamespace(unserved=(), needed={name: 50.0})
    )
    fleet.service = Service(1.0, 1.0)
    (said,) = refusal._mix_reasons(fleet, rented)
    limit = refusal.limit_as_option(name, in_all + 50.0, fleet.service)
    assert said == f"all classes together would with {limit}"
    rented.sharing.needed = {}
    assert refusal._mix_reasons(fleet, rented) == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refusal, "refusal", lambda decision: f"why: {decision}")
        rented.sharing.unserved = (pool,)
        assert refusal._mix_reasons(fleet, rented) == ["'chat': why: decision"]


@every(
    "run,weights,slowness,minutes",
    [
        # 160 s to start, a second for 0.75 GB, four batches: 300 s are five minutes, 301 s ten.
        (30.0, 15e9, 1.0, 5),
        (30.0, 15.75e9, 1.0, 10),
        (15.0, 15e9, 2.0, 5),
        (105.0, 15e9, 1.0, 10),
        (1.0, 1e3, 1.0, 5),
    ],
)
def test_what_a_measurement_takes(run, weights, slowness, minutes, monkeypatch):
    """Two chips at 3.60 USD/h; a range of one deviation, of which half is left."""
    monkeypatch.setattr(regret, "after_one_row", lambda spread: 0.5 * spread)
    monkeypatch.setattr(regret, "TO_LOW_END", 2.0)
    scenario = SimpleNamespace(
        work=SimpleNamespace(weight_bytes=weights), hardware="h",
        pricing=SimpleNamespace(per_chip_hour=lambda _: 3.6),
    )  # fmt: skip
    estimate = SimpleNamespace(
        run=np.array([run]), speed=np.array([np.exp(2.0)]), low=np.array([1.0])
    )
    made = SimpleNamespace(
        replica=SimpleNamespace(estimate=estimate), scenario=scenario, slowness=slowness,
        layout=SimpleNamespace(chips=2), node_chips=1,
    )  # fmt: skip
    found = regret._measured(made, lambda error: 10.0 * error)
    assert (found.minutes, found.regret) == (minutes, 5.0)
    assert found.usd == pytest.approx(7.2 * minutes / 60)
    assert found.error == pytest.approx(np.exp(0.5))
    made.node_chips = 8  # rented whole
    found = regret._measured(made, lambda error: 10.0 * error)
    assert (found.chips, found.usd) == (8, pytest.approx(8 * 3.6 * minutes / 60))


@every(
    "limits,pricing,rate,users,is_fleet,may",
    [
        # Without means chips that have no price cannot win; within some they are used.
        ({}, None, 2.0, None, False, False), ({}, None, None, None, False, False),
        ({"max_chips": 8}, None, 2.0, None, False, True), ({"budget": 9.0}, None, 2.0, None, False, True),
        ({"power": 9.0}, None, 2.0, None, False, True), ({}, "owned", 2.0, None, False, True),
        # A fleet of which no rate is asked is as large as its means.
        ({}, None, None, None, True, True), ({}, None, 2.0, None, True, False), ({}, None, None, 9.0, True, False),
    ],
)  # fmt: skip
def test_chips_without_a_price_are_used_within_means(limits, pricing, rate, users, is_fleet, may):
    asked = SimpleNamespace(
        service=Service(1000.0, 500.0, **limits), traffic=SimpleNamespace(rate=rate),
        request=SimpleNamespace(users=users), pricing=pricing,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demand, "is_of_fleet", lambda _: is_fleet)
        assert demand.Deployments._may_fill_means.fget(asked) is may
