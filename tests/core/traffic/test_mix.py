"""Classes of requests in one batch: means by hand on the made-up machine, and where they bind."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.features.plan.score import score
from fastcalc.features.plan.service import Service
from fastcalc.grid.request_lists import MixedRequests
from fastcalc.importers.workloads import typical_lengths
from tests.features.plan.test_plan_by_hand import NEARLY, grid, scored


def of(prompt, output, share=0.5, name="some", **limits):
    return RequestClass(name, share, Lengths.fixed(prompt, output), **limits)


def mixed(*classes, batches=(100,), **asked):
    """Return what the made-up machine does for classes that share it."""
    requests = MixedRequests.of(classes)
    service = Service(1.0, 1.0, **asked).of_classes(classes, asked.get("rate", 1.0))
    (deployments,) = score(replace(grid(batches=batches), requests=requests), service)
    return deployments


def test_what_is_decoded_is_a_sample_of_tokens_not_of_requests():
    """300 and 1,000 tokens at 1,150 and 30,500 of context: (345,000 + 30,500,000) / 1,300."""
    mix = Mix.of((of(1000, 300), of(30_000, 1000)), Speculation())
    assert (mix.prompt, mix.output) == (15_500, 650)
    assert mix.context == pytest.approx(30_845_000 / 1300)
    assert float(mix.longest_each) == pytest.approx((300 * 1300 + 1000 * 31_000) / 1300)
    assert mix.longest == 31_000


def test_prompts_and_outputs_are_counted_around_their_middles():
    """750 of 1,000 tokens end at 1,000: from 250, in the middle 625. 300 more: 1,150 +- 150.

    A prompt of 10 that yields 300 has 10 to 310, 160 +- 150; as its context is given, no less
    than none.
    """
    asked = []

    def count(middle, spread):
        asked.append((middle.tolist(), spread.tolist()))
        return middle

    mix = Mix.of((of(1000, 300, prefix_hit=0.25), of(10, 300)), Speculation())
    found = mix.mean_over_prompts(count)
    assert asked == [([625.0, 5.0], [375.0, 5.0])]
    # 750 and 10 tokens of half of the requests each.
    assert float(found) == pytest.approx((750 * 625 + 10 * 5) / 760)
    asked.clear()
    (decoding,) = mix.mean_while_decoding(lambda *known: [count(*known)])
    assert asked == [([1150.0, 160.0], [150.0, 150.0])]
    assert float(decoding) == pytest.approx((1150 + 160) / 2)


def test_a_run_of_a_mix_is_the_mean_of_the_runs_of_its_classes():
    """1,000 x 11 + 100 x 20 ms and 2,000 x 11 + 100 x 15 ms for 100 requests: 182.5 ms each."""
    mix = mixed(of(1000, 1000), of(500, 2000))
    alone = [
        scored(grid(prompt=prompt, output=output), rate=1.0)[0].seconds[0]
        for prompt, output in ((1000.0, 1000.0), (500.0, 2000.0))
    ]
    assert mix.seconds[0] == pytest.approx(0.1825, rel=NEARLY)
    assert mix.seconds[0] == pytest.approx(sum(alone) / 2, rel=1e-12)


def test_classes_that_are_alike_are_one():
    limits = {"ttft": 1.0, "tpot": 1.0}
    mix = mixed(of(1000, 1000, 0.3, **limits), of(1000, 1000, 0.7, **limits), rate=20.0)
    (single,) = [part for part in scored(grid(), rate=20.0, **limits) if not part.pools]
    for name in ("seconds", "replicas", "busy", "cost"):
        assert getattr(mix, name) == pytest.approx(getattr(single, name))
    for name, value in single.values.items():
        assert mix.values[name] == pytest.approx(value)
    assert mix.class_ttft == pytest.approx(np.repeat([single.values["ttft"]], 2, axis=0))


def test_each_class_has_a_first_token_of_its_own():
    """5 ms, half a step of 11 ms, and a pass of 20 + 0.01 x (99 + prompt) ms for each 1,000."""
    mix = mixed(of(1000, 1000, ttft=1.0), of(3000, 1000, ttft=1.0))
    first, three = 5e-3 + 5.5e-3 + 30.99e-3, 5e-3 + 5.5e-3 + 3 * 30.99e-3
    assert mix.class_ttft[:, 0] == pytest.approx([first, three], rel=NEARLY)
    assert mix.values["ttft"][0] == pytest.approx(three, rel=NEARLY)


def test_the_limit_that_is_nearest_binds():
    """A first token after 41.49 ms is over 40 ms, though 103.47 ms are within a second."""
    mix = mixed(of(1000, 1000, ttft=0.04), of(3000, 1000, ttft=1.0))
    assert mix.misses["ttft"] == pytest.approx(0.04149 / 0.04, rel=NEARLY)
    assert math.isinf(mixed(of(1, 1), of(2, 2)).misses["tpot"][0]) is False


def test_long_prompts_keep_short_ones_waiting_by_their_squares():
    """Prompts of 1 and of 3 thousand: (1 + 9) / 2 over the square of 2."""
    assert Mix.of((of(1000, 10), of(3000, 10)), Speculation()).prompt_variation == 1.25


def test_windows_are_averaged_over_the_kinds():
    """Of 100 and 10,000 tokens a window of 1,000 shows 100 and 1,000, not what 5,050 would."""
    mix = Mix.of((of(99, 2), of(9_999, 2)), Speculation())
    (shown,) = mix.mean_while_decoding(lambda context, _: [np.minimum(context, 1000.0)])
    assert float(shown) == pytest.approx(550.0)


def test_prompts_of_others_come_in_as_they_are_asked():
    """Halves of 1,000 tokens, all to be computed, and of 3,000, of which two thirds are cached."""
    mix = Mix.of((of(1000, 10), of(3000, 10, prefix_hit=2 / 3)), Speculation())
    assert float(mix.computed_prompt) == pytest.approx(1000.0)
    counted = mix.mean_over_prompts(lambda context, _: context)
    assert float(counted) == pytest.approx((500 + 2500) / 2)


def test_a_mix_is_traffic_like_any_other():
    alone, mix = Traffic(100.0, 50.0, 125.0), Mix.of((of(100, 50),), Speculation())
    for name in ("prompt", "output", "context", "computed_prompt", "longest", "reserved"):
        assert float(getattr(mix, name)) == float(getattr(alone, name))
    lump = {"batch": 8.0, "steps": 50.0, "chunk": 64.0}
    assert float(mix.prompt_lump(**lump)) == pytest.approx(float(alone.prompt_lump(**lump)))


def test_typical_lengths_keep_the_mean_and_the_tail():
    """Of a lognormal of mean 1,000 and deviation 1,000; an even one has (100^2 / 12) of variance."""
    sigma = math.sqrt(math.log(2.0))
    quantile = NormalDist(math.log(1000.0) - sigma**2 / 2, sigma).inv_cdf
    shares, lengths = typical_lengths(lambda share: np.exp(np.vectorize(quantile)(share)))
    assert shares.sum() == pytest.approx(1.0)
    assert shares @ lengths == pytest.approx(1000.0, rel=2e-3)
    assert lengths[-1] > math.exp(quantile(0.999))
    shares, lengths = typical_lengths(lambda share: 100.0 * share)
    assert shares @ (lengths - 50.0) ** 2 == pytest.approx(100**2 / 12, rel=0.02)
