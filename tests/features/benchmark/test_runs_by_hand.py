"""Benchmark runs that may be advised: their loads, lengths and durations."""

import pytest

from fastcalc.features.benchmark.runs import lone_runs, served_runs
from tests.helpers import every, outcome


@every(
    "batch,output,counts,outputs",
    [
        # Powers of two up to twice the largest batch, and the batches themselves.
        ((3, 8), 200, [1, 2, 3, 4, 8, 16], [200]),
        ((1,), 512, [1, 2], [512]),
        # Answers of more than twice 256 tokens: shorter ones are tried, too.
        ((1,), 513, [1, 2], [513, 256]),
    ],
)
def test_loads_of_a_server(batch, output, counts, outputs):
    asked = outcome(
        "llama-3.1-8b", "h100-sxm", batch=batch, prompt=1000, output=output, prefix_hit=0.5
    )
    runs = served_runs(asked)
    assert [(run.output, run.concurrency) for run in runs] == [
        (length, count) for length in outputs for count in counts
    ]
    for run in runs:
        # Four waves of requests, but eight at least; a prompt is random, so nothing of it is cached.
        assert run.requests == max(4 * run.concurrency, 8)
        assert run.prompt == 1000
        alone = outcome(
            "llama-3.1-8b", "h100-sxm", batch=(run.concurrency,), prompt=1000, output=run.output
        )
        waves = run.requests / run.concurrency
        assert run.seconds == pytest.approx(waves * float(alone.estimate.run[0]))


def test_loads_are_no_larger_than_memory_holds():
    asked = outcome(
        "llama-3.1-8b", "rtx-3060-12gb", batch=(1,), prompt=8000, output=200, weights="q4_k_m"
    )
    most = int(asked.placement.edge_max_batch)
    assert max(run.concurrency for run in served_runs(asked)) <= most


@every(
    "prompt,output,tests",
    [
        (1000, 200, [(0, 200), (1000, 200), (1000, 0), (250, 0)]),
        (1000, 300, [(0, 256), (1000, 256), (1000, 0), (250, 0)]),
        (2, 300, [(0, 256), (2, 256), (2, 0), (1, 0)]),
        (1, 300, [(0, 256), (1, 256), (1, 0)]),
    ],
)
def test_tests_of_llama_bench(prompt, output, tests):
    """Decoding after nothing and after the prompt; the prompt, and a quarter of it, alone."""
    asked = outcome("llama-3.1-8b", "rtx-4090", prompt=prompt, output=output, weights="q4_k_m")
    runs = lone_runs(asked)
    assert [(run.prompt, run.output) for run in runs] == tests
    for run in runs:
        assert (run.concurrency, run.requests) == (1, 3)
    empty, full, prefill, *_ = runs
    assert empty.seconds < full.seconds
    # Three repetitions and a warm-up, of the tokens at the speed of one user at half of the answer.
    speed = outcome(
        "llama-3.1-8b", "rtx-4090", prompt=prompt, output=output, weights="q4_k_m",
        context=prompt + full.output / 2,
    ).estimate.speed[0]  # fmt: skip
    assert full.seconds == pytest.approx(4 * full.output / float(speed))
    assert prefill.seconds > 0.0
