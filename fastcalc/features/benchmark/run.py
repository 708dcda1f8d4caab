"""``fastcalc measure``: recommend the most informative benchmark runs, or perform them."""

from collections.abc import Sequence
from dataclasses import replace

from fastcalc.errors import InputError
from fastcalc.features.benchmark.advice import Advice, advise
from fastcalc.features.benchmark.answer import COLUMNS, SHOWN, MeasureAnswer
from fastcalc.features.benchmark.deployment import MeasuredDeployment, measured_deployment
from fastcalc.features.benchmark.limits import FEWEST_RUNS, LONGEST, MOST_RUNS
from fastcalc.features.benchmark.request import Measure
from fastcalc.features.benchmark.runs import lone_runs, served_runs
from fastcalc.features.benchmark.tools import TOOLS, measures, served_model, tool_of
from fastcalc.kit.answer.answer import Answer, NoAnswer
from fastcalc.kit.answer.why_so_many import why
from fastcalc.kit.request import readers
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import option


def run(request: Measure) -> Answer:
    """Recommend benchmark runs or perform them. The answer is "no" if nothing fits."""
    if request.models is None:
        raise InputError(f"name the model that your server serves: {option('models')}")
    if not FEWEST_RUNS <= request.runs <= MOST_RUNS:
        raise InputError(f"{option('runs')} {request.runs} is not {FEWEST_RUNS} to {MOST_RUNS}")
    if not 0.0 < request.minutes <= LONGEST:
        raise InputError(
            f"{option('minutes')} {request.minutes:g} is not above 0 and up to {LONGEST:g}"
        )
    if request.tool is not None:
        readers.choice(request.tool, option("tool"), tuple(TOOLS))
    notes: list[str] = []
    deployment = measured_deployment(request, notes)
    engine = deployment.now.scenario.engine
    tool = request.tool or tool_of(engine.program)
    is_lone = tool == "llama-bench" and request.url is None
    if is_lone and not measures(tool, engine.program):
        raise InputError(
            f"llama-bench measures llama.cpp, but this prediction is for {engine.id}: add "
            f"{option('engine', 'llama-cpp')}, or leave out {option('tool')}"
        )
    if is_lone and request.batch == Measure.batch:
        notes.clear()
        deployment = measured_deployment(replace(request, batch="1"), notes)
    outcome = deployment.now
    if not deployment.fitting:
        reason = f"{outcome.scenario.hardware.id}: nothing to measure: {why(outcome)}"
        keys = [column.key for column in COLUMNS]
        return NoAnswer(
            request=request, reading=notes, reasons=[reason], asked_keys=keys, columns=SHOWN
        )
    candidates = (lone_runs if is_lone else served_runs)(outcome)
    advice = advise(candidates, deployment.targets, request.runs, deployment.rows)
    if request.url is None:
        return MeasureAnswer(
            request=request, reading=notes, deployment=deployment, advice=advice, tool=tool
        )
    return _made(request, request.url, deployment, advice, notes)


def _made(
    request: Measure, url: str, deployment: MeasuredDeployment, advice: Advice, notes: Sequence[str]
) -> MeasureAnswer:
    """Perform the runs against a server, and predict again with their measurements."""
    from fastcalc.features.benchmark.server_runs import make_runs  # advice needs no client

    typed = as_text((request.models or [""])[0])
    served = served_model(deployment.now, typed, url)
    measured = make_runs(request, deployment.now, advice.runs, served)
    again: list[str] = []
    after = measured_deployment(replace(request, like=request.results_file), again)
    return MeasureAnswer(
        request=request,
        reading=[*dict.fromkeys([*notes, *again])],
        deployment=after,
        advice=advice,
        tool="vllm",
        measured=measured,
    )
