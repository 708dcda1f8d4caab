"""Times of passes, put together by hand: TPOT, TTFT, TPOT in traffic, served rate, finite runs.

The machine is made up so that a pass is known without looking: `tests.made_up.clocked`. Each row
says what docs/method.md says, in numbers, and holds for what `compare` evaluates and for what a
measured point is predicted by. All times are in milliseconds.

    T(b)    = 10 + 0.01 b          ten layers of 1 ms, and b rows of 0.01 ms
    T(b, c) = 20 + 0.01 (b + c)    ten layers of 2 ms with prompts in the pass
"""

from typing import Any

import numpy as np
import pytest

from fastcalc.core.estimate import evaluate
from fastcalc.core.model.workload import workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Sharding
from fastcalc.core.step.schedule import FIRST, Schedule
from fastcalc.core.timeline import Timeline, prefill, token_in_traffic
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.evidence.deployments import Deployment
from fastcalc.evidence.kinds import Columns, saturated
from fastcalc.evidence.point import COLUMNS, Point
from fastcalc.evidence.predict import gather
from fastcalc.evidence.stacked import rows_of
from tests import made_up
from tests.helpers import outcome

TWO_OF_THREE = Speculation(2.0, 2.0)
"""Two tokens drafted and two of the three verified kept: what is taken where 2.0 is measured."""

NEARLY = 1e-5
"""Weights, caches and what the bound adds are nanoseconds."""


def evaluated(
    batch=1, prompt=1000, output=1000, *, chip=None, hit=0.0, speculation=None, engine=None, **ranks
):
    """Return the estimate of one batch, as `compare` has it."""
    return outcome(
        made_up.minimal(),
        chip or made_up.clocked(),
        engine=engine or made_up.CLOCK,
        batch=(batch,),
        prompt=prompt,
        output=output,
        prefix_hit=hit,
        speculation=speculation,
        sharding=Sharding(**ranks) if ranks else None,
    ).estimate


class _Made:
    """What points of the made-up machine were measured on."""

    def __init__(self, deployment: Deployment) -> None:
        self.of = lambda _: deployment


def predicted(
    metric: str,
    kind: str,
    batch=1,
    prompt=1000,
    output=1000,
    *,
    chip=None,
    speculation=None,
    engine=None,
    **ranks,
) -> float:
    """Return what a measured point is predicted to be, in its unit."""
    hardware, model = chip or made_up.clocked(), made_up.minimal()
    cells: dict[str, Any] = dict.fromkeys(COLUMNS)
    cells |= {"id": "made-001", "source": "made", "notes": f"kind={kind}", "metric": metric}
    cells |= {"concurrency": batch, "prompt": prompt, "output": output, "value": 1.0}
    cells["tokens_per_pass"] = speculation.tokens_per_pass if speculation else 1.0
    deployment = Deployment(
        hardware,
        model,
        engine or made_up.CLOCK,
        workload(model),
        Sharding(**(dict.fromkeys(("tp", "pp", "ep", "dp"), 1) | ranks)),
    )
    batches, skipped = gather([Point(**cells, line=1)], _Made(deployment))
    assert not skipped
    rows = rows_of(batches)
    (seconds,) = rows.seconds()
    return float(seconds if metric in ("ttft_s", "tpot_s") else rows.tokens[0] / seconds)


WAFER = {"chip": made_up.clocked_wafer()}

DECODE = [
    # One row: 10 + 0.01.
    ({"batch": 1}, 10.01),
    # A hundred rows: 10 + 1.
    ({"batch": 100}, 11.0),
    # Two replicas of 50 rows each: 10 + 0.5.
    ({"batch": 100, "dp": 2}, 10.5),
    # Two stages: micro-batches of 50 rows take 10.5 and one hop of 0.1; the other stage's 5.25
    # are over by then.
    ({"batch": 100, "pp": 2}, 10.6),
    # Four stages of 3, 3, 3 and 1 layers: 25 rows take 10.25 and three hops 0.3, but four
    # micro-batches each take 0.3 of a pass in the slowest stage: 4 x 0.3 x 10.25.
    ({"batch": 100, "pp": 4}, 12.3),
    # One sequence in four stages waits for nobody: 10.01 and three hops.
    ({"batch": 1, "pp": 4}, 10.31),
    # Two sequences a replica: both are served in 0.6 of a pass by the slowest stage, and nobody
    # waits for those of the other replica.
    ({"batch": 4, "dp": 2, "pp": 4}, 10.31),
    # Two replicas of two stages: 25 rows and a hop.
    ({"batch": 100, "dp": 2, "pp": 2}, 10.35),
    # A pass of 300 rows takes 13, and two drafted tokens a tenth of a plain pass (11) each; two
    # tokens are kept: (13 + 2.2) / 2.
    ({"batch": 100, "speculation": TWO_OF_THREE}, 7.6),
    # The same with 50 sequences a replica: (11.5 + 2 x 1.05) / 2.
    ({"batch": 100, "dp": 2, "speculation": TWO_OF_THREE}, 6.8),
    # Ten regions of 1 ms on one wafer, which no token leaves.
    ({"batch": 4, **WAFER}, 10.0),
    # Twenty-five streams queue for ten regions.
    ({"batch": 25, **WAFER}, 25.0),
    # Two wafers to cross.
    ({"batch": 25, "pp": 2, **WAFER}, 25.2),
]


@pytest.mark.parametrize(("asked", "by_hand"), DECODE)
def test_decode(asked, by_hand):
    assert evaluated(**asked).tpot[0] * 1e3 == pytest.approx(by_hand, rel=NEARLY)
    assert predicted("tpot_s", "decode", **asked) * 1e3 == pytest.approx(by_hand, rel=NEARLY)


@pytest.mark.parametrize(("asked", "by_hand"), DECODE)
def test_tokens_of_all_users_are_the_batch_over_the_time_between_two(asked, by_hand):
    total = asked["batch"] / by_hand * 1e3
    assert evaluated(**asked).total[0] == pytest.approx(total, rel=NEARLY)
    found = predicted("tokens_per_s_total", "decode", **asked)
    assert found == pytest.approx(total, rel=NEARLY)
    chips = asked.get("dp", 1) * asked.get("pp", 1)
    found = predicted("tokens_per_s_per_chip", "decode", **asked)
    assert found == pytest.approx(total / chips, rel=NEARLY)
    found = predicted("tokens_per_s_per_user", "decode", **asked)
    assert found == pytest.approx(total / asked["batch"], rel=NEARLY)


FIRST_TOKEN = [
    # Alone: 5 of the server, and one pass of 20 + 10.
    ({}, 35.0),
    # Chunks of 1,000: 999 tokens are one pass, and 1,001 are two: 40 + 10.01.
    ({"prompt": 999}, 34.99),
    ({"prompt": 1001}, 55.01),
    # 2,500 tokens in chunks of at most 1,000 are three passes, 60 + 25.
    ({"prompt": 2500}, 90.0),
    # With 99 others: half of their step of 11; a pass of 20 + 0.99 + 10.
    ({"batch": 100}, 5 + 5.5 + 30.99),
    # Two requests: half of a step of 10.02, and one row of the other in the pass.
    ({"batch": 2}, 5 + 5.01 + 30.01),
    # With 99 others and three passes, the others' rows in each.
    ({"batch": 100, "prompt": 2500}, 5 + 5.5 + 60 + 25 + 3 * 0.99),
    # Two replicas: half of 10.5, and 49 others.
    ({"batch": 100, "dp": 2}, 5 + 5.25 + 30.49),
    # Two stages: half of 10.6, 49 others in the micro-batch, and a hop.
    ({"batch": 100, "pp": 2}, 5 + 5.3 + 30.49 + 0.1),
    # Half of a pass of 13 and its drafts of 2.2; the others' 297 rows in a pass with the prompt.
    ({"batch": 100, "speculation": TWO_OF_THREE}, 5 + 7.6 + 20 + 2.97 + 10),
    # Alone nothing is verified before the first token.
    ({"speculation": TWO_OF_THREE}, 35.0),
    # The ten regions, and the prompt's 10.
    (WAFER, 5 + 10 + 10),
    # Half of 25, and a sweep of the 24 others.
    ({"batch": 25, **WAFER}, 5 + 12.5 + 24 + 10),
    # Two wafers multiply a prompt twice as fast.
    ({"batch": 25, "pp": 2, **WAFER}, 5 + 12.6 + 24.2 + 5),
]


@pytest.mark.parametrize(("asked", "by_hand"), FIRST_TOKEN)
def test_time_to_the_first_token(asked, by_hand):
    assert evaluated(**asked).ttft[0] * 1e3 == pytest.approx(by_hand, rel=NEARLY)
    found = predicted("ttft_s", "e2e_concurrency", **asked)
    assert found * 1e3 == pytest.approx(by_hand, rel=NEARLY)


@pytest.mark.parametrize(
    ("prompt", "hit", "by_hand"),
    [
        # 1,500 of 2,500 tokens are cached: one pass of 1,000.
        (2500, 0.6, 35.0),
        # Of 4,000 a quarter is: three passes of 1,000.
        (4000, 0.25, 5 + 3 * 30),
        # All are, and the last token is computed all the same.
        (4000, 1.0, 5 + 20.01),
    ],
)
def test_what_is_cached_of_a_prompt_takes_no_time(prompt, hit, by_hand):
    found = evaluated(prompt=prompt, hit=hit).ttft[0]
    assert found * 1e3 == pytest.approx(by_hand, rel=NEARLY)


@pytest.mark.parametrize(
    ("asked", "by_hand"),
    [
        # 999 more tokens of 11 after the first.
        ({"batch": 100}, 41.49 + 999 * 11),
        # One token is the first.
        ({"batch": 100, "output": 1}, 41.49),
        ({"batch": 100, "dp": 2, "output": 101}, 40.74 + 100 * 10.5),
    ],
)
def test_a_request_is_its_first_token_and_the_others(asked, by_hand):
    assert evaluated(**asked).request[0] * 1e3 == pytest.approx(by_hand, rel=NEARLY)


SERVED = [
    # O steps of T(B), and B P / s passes with prompts, each longer by T(B, s) - T(B).
    # Alone: 1,000 x 10.01, and one pass that is 20 longer.
    ({}, 10_010 + 20),
    # 1,000 x 11, and 100 prompts of 1,000: 100 x (31 - 11).
    ({"batch": 100}, 11_000 + 100 * 20),
    # A prompt of 2,500 is 2.5 chunks of 1,000: 250 passes.
    ({"batch": 100, "prompt": 2500}, 11_000 + 250 * 20),
    # A prompt of 500 is a lump of 500: 100 passes of 26 for 11.
    ({"batch": 100, "prompt": 500}, 11_000 + 100 * 15),
    # 50 steps for 100 prompts: two prompts in each, 20 + 1 + 20.
    ({"batch": 100, "output": 50}, 50 * 41),
    # 50 sequences a replica: 1,000 x 10.5 and 50 x 20.
    ({"batch": 100, "dp": 2}, 10_500 + 50 * 20),
    # 50 steps for 50 prompts on each replica: one in each, 20 + 0.5 + 10.
    ({"batch": 100, "dp": 2, "output": 50}, 50 * 30.5),
    # Two stages, micro-batches of 50: a hop in every pass, with prompts or without.
    ({"batch": 100, "pp": 2}, 10_600 + 50 * 20),
    # 500 passes of 13 with drafts of 2.2, and 100 prompts.
    ({"batch": 100, "speculation": TWO_OF_THREE}, 500 * 15.2 + 100 * 20),
    # Twenty-five streams; a lump of 1,000 adds 10 to a sweep.
    ({"batch": 25, **WAFER}, 25_000 + 25 * 10),
]


@pytest.mark.parametrize(("asked", "run"), SERVED)
def test_served_rate_in_a_closed_loop(asked, run):
    """Each replica and stage serves its requests in that time, and all of them answer."""
    rate = asked.get("batch", 1) * asked.get("output", 1000) / run * 1e3
    assert evaluated(**asked).served[0] == pytest.approx(rate, rel=NEARLY)
    found = predicted("tokens_per_s_total", "e2e_concurrency", **asked)
    assert found == pytest.approx(rate, rel=NEARLY)


@pytest.mark.parametrize(("asked", "run"), SERVED)
def test_prompts_and_output_share_the_time_of_a_run(asked, run):
    """What decoding alone takes is charged to output, the rest to input: 3.60 USD are an hour."""
    estimate, batch = evaluated(**asked), asked.get("batch", 1)
    output = asked.get("output", 1000) * estimate.tpot[0]
    assert estimate.output_seconds[0] == pytest.approx(output / batch, rel=NEARLY)
    whole = (estimate.prompt_seconds[0] + estimate.output_seconds[0]) * batch
    assert whole * 1e3 == pytest.approx(run, rel=NEARLY)
    usd_in, usd_out, both = (float(usd[0]) for usd in estimate.usd(3.6))
    prompt, answer = asked.get("prompt", 1000), asked.get("output", 1000)
    request = run / 1e3 / batch * 0.001
    assert (usd_in * prompt + usd_out * answer) / 1e6 == pytest.approx(request, rel=NEARLY)
    assert both * (prompt + answer) / 1e6 == pytest.approx(request, rel=NEARLY)


def test_a_served_token_takes_the_power_of_all_chips_and_their_site():
    """Two chips of 1,000 W x 2.17, as GPUs that state both, 100 x 1,000 tokens in 11.5 s."""
    found = evaluated(100, dp=2).joules[0]
    assert found == pytest.approx(2 * 1000 * 2.17 / (100_000 / 11.5), rel=NEARLY)


def test_joules_take_the_power_with_host_and_site_where_it_is_stated():
    """Two chips of 2,000 W, all in: the site factor is inside."""
    power = {"chip": "1000 W", "all_in": "2000 W"}
    found = evaluated(100, chip=made_up.clocked(power=power), dp=2).joules[0]
    assert found == pytest.approx(2 * 2000 / (100_000 / 11.5), rel=NEARLY)


def test_prompts_never_shorten_a_pass():
    """Decoding alone takes 30 + 1; with a prompt in the pass 10 + 1 + 10 would be less."""
    odd = made_up.engine(decode_layer_floor="3 ms", prefill_layer_floor="1 ms", prompt_chunk=1000)
    assert evaluated(100, engine=odd).served[0] == pytest.approx(100_000 / 31.0, rel=NEARLY)


def test_the_bound_waits_for_nobody():
    """The prompt's 10 ms and nothing else; 100 rows and two kept tokens each are 2 ms a pass."""
    bound = made_up.engine().model_copy(update={"is_bound": True})
    found = evaluated(100, engine=bound, speculation=TWO_OF_THREE)
    assert found.ttft[0] * 1e3 == pytest.approx(10.0, rel=NEARLY)
    assert found.tpot[0] * 1e3 == pytest.approx(2.0 / 2.0, rel=NEARLY)
    assert found.bound[0] == pytest.approx(1000.0, rel=NEARLY)


def test_rounding_makes_no_step_faster_than_its_bound():
    """A machine that only reads is as fast as its bound, whichever way its parts are summed."""
    on = made_up.chip(peak={"bf16": "1e9 TFLOP/s"})
    place = made_up.placed(made_up.blocks(layers=3), on=on, reserved=2000.0)
    traffic = Traffic(1000.0, 1000.0, 1500.0)
    found = evaluate(place, batch=np.arange(1.0, 500.0), traffic=traffic)
    assert np.all(found.speed <= found.bound)
    assert found.speed == pytest.approx(found.bound)


def test_a_time_is_passes_and_overheads_among_what_shares_them():
    """Two requests of 5 and three passes of 20 + 0.99 + 10 among four tokens."""
    passes = evaluated(100).passes
    found = Timeline(passes, ((FIRST, 3.0),), requests=2.0, per=4.0).seconds[0]
    assert found * 1e3 == pytest.approx((2 * 5 + 3 * 30.99) / 4, rel=NEARLY)


IN_TRAFFIC = [
    # Nobody else's prompt comes between one's own tokens.
    ({}, 10.01),
    # Of 100 lumps in 1,000 steps 99 are the others': 11 + 0.099 x 20.
    ({"batch": 100}, 11 + 1.98),
    # One of two: 10.02 + 0.001 x 20.
    ({"batch": 2}, 10.02 + 0.02),
    # Prompts of 2,500 are 250 lumps of 1,000, and 99 of 100 are the others': 247.5.
    ({"batch": 100, "prompt": 2500}, 11 + 0.2475 * 20),
    # 500 passes of 15.2 for 1,000 tokens, and 99 lumps.
    ({"batch": 100, "speculation": TWO_OF_THREE}, 7.6 + 1.98),
    ({"batch": 25, **WAFER}, 25.0 + 0.024 * 10),
    # Only prompts of the same pass come between: a replica of 50 has 49 others in 1,000 steps.
    ({"batch": 100, "dp": 2}, 10.5 + 0.049 * 20),
    # A micro-batch of 50.
    ({"batch": 100, "pp": 2}, 10.6 + 0.049 * 20),
    # One token is the first: nothing comes between it and another.
    ({"batch": 100, "output": 1}, 11.0),
]


@pytest.mark.parametrize(("asked", "by_hand"), IN_TRAFFIC)
def test_time_between_tokens_with_the_prompts_of_others_between(asked, by_hand):
    found = predicted("tpot_s", "e2e_concurrency", **asked)
    assert found * 1e3 == pytest.approx(by_hand, rel=NEARLY)
    (planned,) = token_in_traffic(evaluated(**asked).passes).seconds
    assert planned * 1e3 == pytest.approx(by_hand, rel=NEARLY)


@pytest.mark.parametrize(
    ("asked", "by_hand"),
    [
        # One prompt of 2,500 is three passes, 60 + 25.
        ({"prompt": 2500}, 85.0),
        # Four prompts of 500 are two passes of 1,000.
        ({"batch": 4, "prompt": 500}, 2 * 30.0),
        # Two for each replica: one pass.
        ({"batch": 4, "prompt": 500, "dp": 2}, 30.0),
    ],
)
def test_prompts_taken_in_at_once(asked, by_hand):
    """No decode rows are in the passes, and the server's own time is not in a prefill rate."""
    tokens = asked.get("batch", 1) * asked["prompt"]
    found = predicted("prefill_tokens_per_s", "prefill", **asked)
    assert found == pytest.approx(tokens / by_hand * 1e3, rel=NEARLY)


def test_prompts_that_come_at_once_wait_for_each_other():
    """64 prompts of 500 tokens are 32 passes of 30 ms, of which they wait for 16.5, and 5 ms."""
    prediction = predicted("ttft_s", "burst", 64, prompt=500)
    assert prediction * 1e3 == pytest.approx(5 + 16.5 * 30, rel=NEARLY)
    assert predicted("ttft_s", "burst", 1, prompt=500) * 1e3 == pytest.approx(5 + 25, rel=NEARLY)


@pytest.mark.parametrize(
    ("asked", "run"),
    [
        # A hundred prompts one pass each, then the 99 tokens that follow the first.
        ({"batch": 100, "output": 100}, 100 * 30 + 99 * 11),
        ({"batch": 100, "output": 100, "dp": 2}, 50 * 30 + 99 * 10.5),
        # 100 more tokens are 50 passes that keep two.
        ({"batch": 100, "output": 101, "speculation": TWO_OF_THREE}, 100 * 30 + 50 * 15.2),
    ],
)
def test_a_finite_run_is_all_prompts_and_then_the_steps(asked, run):
    kind = "e2e_concurrency; static batch"
    found = predicted("tokens_per_s_total", kind, **asked)
    assert found == pytest.approx(asked["batch"] * asked["output"] / run * 1e3, rel=NEARLY)


def test_prompts_of_all_replicas_are_taken_in_at_once():
    """Four replicas, one prompt each: 20 + 10 of dense matrices + 4 x 10 of shared experts."""
    mixture = made_up.minimal(
        total_parameters=10_500_000, active_parameters=2_500_000, experts=10, active_experts=2
    )
    links = {"scale_up": {"bandwidth": "10 GB/s", "domain": 8}}
    place = made_up.placed(
        mixture, Layout(ep=4, dp=4), on=made_up.clocked(links=links), under=made_up.CLOCK
    )
    passes = Schedule(place, Traffic(1000.0, 1000.0, 1500.0), np.array([4.0]))
    assert prefill(passes).seconds[0] * 1e3 == pytest.approx(70.0, rel=1e-4)


FEW = made_up.CLOCK.model_copy(
    update={
        "parameters": made_up.CLOCK.parameters.model_copy(
            update={"max_sequences": made_up.engine(max_sequences=50).parameters.max_sequences}
        )
    }
)
"""The same engine, which holds 50 sequences a replica."""


def test_requests_beyond_what_the_engine_holds_wait_for_a_run():
    """100 clients of 50 slots: 1,000 x 10.5 + 50 x 20 before a slot is free, and then as with 50."""
    run = 10_500 + 50 * 20
    found = predicted("ttft_s", "e2e_concurrency", 100, engine=FEW)
    assert found * 1e3 == pytest.approx(run + 5 + 5.25 + 30.49, rel=NEARLY)
    found = predicted("tokens_per_s_total", "e2e_concurrency", 100, engine=FEW)
    assert found == pytest.approx(50 * 1000 / run * 1e3, rel=NEARLY)
    found = predicted("tpot_s", "e2e_concurrency", 100, engine=FEW)
    assert found * 1e3 == pytest.approx(10.5 + 0.049 * 20, rel=NEARLY)


def test_a_replica_more_has_its_own_slots():
    """100 clients of two replicas with 50 slots: nobody waits."""
    found = predicted("ttft_s", "e2e_concurrency", 100, engine=FEW, dp=2)
    assert found * 1e3 == pytest.approx(5 + 5.25 + 30.49, rel=NEARLY)


def test_a_saturated_engine_serves_what_it_holds():
    run = 10_500 + 50 * 20
    found = predicted("tokens_per_s_total", "e2e_saturated", 5000, engine=FEW)
    assert found == pytest.approx(50 * 1000 / run * 1e3, rel=NEARLY)
    # Under limits on the 99th percentile 0.93 of it (MLPerf Inference v4.1, 24 pairs).
    found = predicted("tokens_per_s_total", "e2e_slo", 5000, engine=FEW)
    assert found == pytest.approx(0.93 * 50 * 1000 / run * 1e3, rel=NEARLY)


def test_the_bound_of_a_saturated_machine_fills_its_memory():
    """A request is 2,000 tokens of 0.01 ms, however many share the weights: 1,000 in 20 ms."""
    columns = Columns(*np.array([[5000.0], [1000.0], [1000.0], [1500.0], [1.0], [0.0], [np.inf]]))
    made = saturated(made_up.placed(made_up.minimal(), on=made_up.clocked(), under=FEW), columns)
    assert made.batch.tolist() == [50.0]
    assert made.tokens / made.bound == pytest.approx(1000 / 0.020, rel=NEARLY)
