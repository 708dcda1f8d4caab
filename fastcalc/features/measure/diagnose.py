"""``fastcalc diagnose``: explain why a deployment is slower than predicted."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine_class import engine_of_class
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.outcome import locate
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.start import start_location
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.point import Point
from fastcalc.evidence.start_log import RANKS, StartLog
from fastcalc.features.measure.diagnosis.diagnose import UndiagnosedError, diagnose
from fastcalc.features.measure.diagnosis.start import DIFFERS, GIB, Start, cache_format, limits_of
from fastcalc.features.measure.diagnosis_answer import DiagnosisAnswer
from fastcalc.features.measure.request import Diagnose
from fastcalc.features.measure.stopped_answer import StoppedAnswer
from fastcalc.features.measure.validate import drafted, points_of
from fastcalc.importers.any_file import is_foreign
from fastcalc.importers.instances import printed_chip
from fastcalc.importers.naming import checkpoint_format, model_id, model_names
from fastcalc.importers.setup import no_model, unclear_format
from fastcalc.importers.start_log import read_start
from fastcalc.kit.request import loading
from fastcalc.kit.request.draft_models import counted_draft, draft_model
from fastcalc.kit.request.speculate import speculation
from fastcalc.mentions import option
from fastcalc.written import listed, many


def run(request: Diagnose) -> DiagnosisAnswer | StoppedAnswer:
    """Diagnose a deployment from measurements, its start-up log, or both."""
    catalogue = loading.catalogue(request)
    if request.path is None and request.log is None:
        raise InputError(
            "give a file of measured points, such as runs.csv, or what the server printed when it "
            f"started, with {option('log', 'server.log')}"
        )
    if request.path is not None and request.path.suffix == ".log":
        raise InputError(f"{request.path}: give a start-up log as {option('log', request.path)}")
    if (named := str(request.path)) in catalogue.known("models") and not Path(named).exists():
        raise InputError(f"{named} is a model, not a file: give {option('model', named)}")
    log = read_start(request.log) if request.log else None
    if request.path is None:
        assert log is not None
        if log.stopped:
            if missing := _missing_names(request, catalogue, log):
                return StoppedAnswer(request=request, log=log, missing=missing)
            logged_start = _logged(log, _scenario_of_log(request, catalogue, log))
            expected, logged = (
                start_location(locate(scenario))
                for scenario in (logged_start.scenario_as_started, logged_start.scenario_as_logged)
            )
            return StoppedAnswer(request=request, log=log, location=expected, as_logged=logged)
        reading: list[str] = []
        scenario = _scenario_of_log(request, catalogue, log, reading)
        try:
            start = _started(log, scenario)
        except InputError as error:
            raise InputError(f"{request.log}: {error.sentence}") from None
        return DiagnosisAnswer(request=request, reading=reading, start=start)
    return _of_points(request, catalogue, request.path, log)


def _of_points(
    request: Diagnose, catalogue: Catalogue, path: Path, log: StartLog | None
) -> DiagnosisAnswer:
    file_options, ranks = request.file_options(), dict[str, str]()
    if log and (path.is_dir() or is_foreign(path)):
        if not {"chips", *RANKS} & file_options.keys():
            logged = _ranks(log).items()
            ranks = {name: str(rank) for name, rank in logged if rank > 1 or name == "tp"}
        model = model_id(log.settings.get("model", ""), catalogue)
        file_options = ranks | ({"model": model} if model else {}) | file_options
    measured = points_of(catalogue, path, file_options)
    engine = catalogue.engine(file_options["engine"]) if file_options.get("engine") else None
    points: Sequence[Point] = drafted(measured.points, speculation(request.speculate))
    start, reading = None, loading.reading_of(catalogue, request.model)
    try:
        if not points and measured.skipped:
            reasons = dict.fromkeys(skip.reason for skip in measured.skipped)
            raise UndiagnosedError("; ".join(list(reasons)[:3]), measured.skipped[0].line)
        if log and points:
            start = _start_of_points(log, points, catalogue, request)
            reading += contradictions(start, points)
            kv, by = start.scenario.kv or "", log.engine
            points = [replace(row, kv=row.kv or kv, engine=row.engine or by) for row in points]
        draft = None
        if points:
            draft = _draft(request, catalogue, log, catalogue.model(points[0].model), reading)
        limits = limits_of(start.log, start.scenario.engine) if start else None
        has_room = bool(start and start.has_room)
        result = diagnose(points, catalogue, engine, limits, draft=draft, has_room=has_room)
    except InputError as error:
        line = error.line if isinstance(error, UndiagnosedError) and not path.is_dir() else None
        at = f"{path}:{line}" if line else path
        raise InputError(f"{at}: {error.sentence}") from None
    skipped = [f"{skip.id}: {skip.reason}" for skip in measured.skipped]
    return DiagnosisAnswer(
        request=request,
        reading=reading,
        diagnosis=result,
        start=start,
        left_aside=[*skipped, *result.set_aside],
        ranks=ranks,
    )


def _start_of_points(
    log: StartLog, points: Sequence[Point], catalogue: Catalogue, request: Diagnose
) -> Start:
    """Build the start of the measured deployment. Raises InputError for the log of another."""
    model = model_id(log.settings.get("model", ""), catalogue)
    logged = [point for point in points if model in (None, catalogue.model(point.model).id)]
    if not logged:
        raise InputError(
            f"the measurements are for {points[0].model}, but {request.log} is for {model}: give "
            "the log of the server that was measured"
        )
    point = replace(logged[0], engine=logged[0].engine or log.engine)
    deployment = PointDeployments(catalogue).of(point)
    stated, tp = deployment.stated, log.number("tp") or 1.0
    if stated.tp and stated.tp != tp:
        raise InputError(
            f"the measurements are for tp {stated.tp}, but {request.log} is for tp {tp:.0f}: give "
            "the log of the server that was measured"
        )
    # Measurements name the engine, and a log also gives its release.
    engine = deployment.engine
    scenario = Scenario(
        hardware=deployment.hardware,
        model=deployment.model,
        engine=catalogue.engine(log.engine) if engine.id == log.program else engine,
        batches=(1,),
        traffic=_traffic(point.prompt, point.output),
        weights=point.weights or None,
        kv=point.kv or None,
        memory=MemoryChoice(draft=_draft(request, catalogue, log, deployment.model)),
    )
    return _started(log, scenario)


def contradictions(start: Start, points: Sequence[Point]) -> list[str]:
    """Describe where the measurements contradict the start-up log.

    The measurements are used as they are.
    """
    log, drafted = start.log, int(start.log.number("drafted") or 0)
    logged = {
        "weights": checkpoint_format(log.settings.get("model", "")) or _quantized(log),
        "kv": cache_format(log, start.scenario),
    }
    sentences = []
    for name, noun in (("weights", "weights"), ("kv", "a cache")):
        stated = {getattr(point, name) for point in points} - {"", logged[name]}
        if logged[name] and stated:
            sentences.append(
                f"the measurements state {noun} in {listed(sorted(stated))}, but the log has "
                f"{logged[name]}: give {option(name, logged[name])} if the log is right"
            )
    is_speculated = any((point.tokens_per_pass or 1.0) > 1.0 for point in points)
    if drafted and not (is_speculated or any(p.is_speculation_inferred for p in points)):
        sentences.append(
            f"the log shows {many(drafted, 'draft token')} per step, but no measurement states how "
            "many are accepted: they are treated as plain decoding"
        )
    if is_speculated and not drafted:
        sentences.append("the measurements used speculative decoding, but the log shows none")
    return sentences


def _scenario_of_log(
    request: Diagnose, catalogue: Catalogue, log: StartLog, reading: list[str] | None = None
) -> Scenario:
    """Build the deployment described by a log. Raises InputError if the log is incomplete."""
    if missing := _missing_names(request, catalogue, log):
        raise InputError(f"{request.log}: {missing}")
    called = log.settings.get("model", "")
    model, stored = _named_model(request, catalogue, log)
    assert model is not None
    started = catalogue.model(model).asked_as(model_names(called))
    named = str(request.hardware)
    chip = catalogue.hardware(printed_chip(named, catalogue) or named)
    name = request.engine or log.engine
    if chip.kind != "gpu" and request.engine is None:
        name = engine_of_class(chip)[0]
    return Scenario(
        hardware=chip,
        model=started,
        engine=catalogue.engine(name),
        batches=(1,),
        traffic=_traffic(None, None),
        weights=stored or None,
        kv=request.kv,
        sharding=Sharding(request.chips, request.tp, request.pp, request.ep, request.dp),
        memory=MemoryChoice(draft=_draft(request, catalogue, log, started, reading)),
    )


def _named_model(
    request: Diagnose, catalogue: Catalogue, log: StartLog
) -> tuple[str | None, str | None]:
    """Find the model of a log and its weight format, which is None if its name leaves it open."""
    called = log.settings.get("model", "")
    model = str(request.model) if request.model else model_id(called, catalogue)
    stored = request.weights or checkpoint_format(called)
    return model, stored or _quantized(log) or stored


def _missing_names(request: Diagnose, catalogue: Catalogue, log: StartLog) -> str:
    """List what neither the log nor the request names, with the flags to give. Empty if nothing."""
    called = log.settings.get("model", "")
    model, stored = _named_model(request, catalogue, log)
    missing = [
        None if model else no_model(called),
        None
        if request.hardware
        else f"the log does not name the chip: give {option('hardware', 'CHIP')}",
        unclear_format(called) if stored is None else None,
    ]
    return "; ".join(filter(None, missing))


def _draft(
    request: Diagnose,
    catalogue: Catalogue,
    log: StartLog | None,
    model: Model,
    reading: list[str] | None = None,
) -> Model | None:
    """Find the separate draft model: the request's, or the log's if its size is known."""
    if request.draft_model or log is None or not log.draft:
        return draft_model(catalogue, request.draft_model, model, reading)
    return counted_draft(catalogue, log.draft, model, reading)


def _quantized(log: StartLog) -> str | None:
    """Return the weight format in a server's log, in case the checkpoint does not specify one."""
    return {"fp8": "fp8"}.get(log.settings.get("quantization", ""))


def _traffic(prompt: float | None, output: float | None) -> Traffic:
    prompt, output = prompt or 1000.0, output or 1000.0
    return Traffic(prompt, output, prompt + output / 2.0)


def _logged(log: StartLog, scenario: Scenario) -> Start:
    """Build a start with the ranks, maximum length and caches in its log."""
    chip, sharding = scenario.hardware, scenario.sharding
    if chip.kind == "host" or chip.execution == "spatial":
        raise InputError(f"{log.program} does not run on {chip.id}")
    if not sharding.names_ranks:
        sharding = replace(sharding, **_ranks(log))
    longest = float(log.length or log.number("max_model_len") or 0.0)
    memory = replace(
        scenario.memory,
        longest=longest,
        language_model_only=log.is_on("language_model_only"),
        drafted=log.number("drafted") or 0.0,
    )
    placed = replace(scenario, sharding=sharding, memory=memory)
    return Start(log, replace(placed, kv=scenario.kv or cache_format(log, placed)))


def _started(log: StartLog, scenario: Scenario) -> Start:
    """Build the start as logged. Raises InputError if it is impossible."""
    start = _logged(log, scenario)
    chip = scenario.hardware
    if float(start.placement.available + start.placement.reserved) <= 0.0:
        chips = f"{start.placement.layout.chips} {chip.id}"
        raise InputError(
            f"the {scenario.work.short_format} weights of {scenario.model.id} do not fit on "
            f"{chips}, so this is not what was started: check {option('hardware')}, "
            f"{option('model')}, {option('weights')} and {option('tp')}"
        )
    capacity = start.placement.machine.tier.capacity
    used = max(log.total or 0.0, (log.available or 0.0) + (log.weights or 0.0))
    if used > DIFFERS * capacity:
        raise InputError(
            f"the log has {used / GIB:.1f} GiB of memory on a chip, more than the "
            f"{capacity / GIB:.1f} GiB of {chip.id}: check {option('hardware')}"
        )
    return start


def _ranks(log: StartLog) -> dict[str, int]:
    """Read the ranks of a start.

    Ranks not in the log are 1, and SGLang's tp includes attention replicas.
    """
    ranks = {name: int(log.number(name) or 1) for name in RANKS}
    if log.is_on("dp_attention"):
        ranks["tp"] = max(ranks["tp"] // ranks["dp"], 1)
    return ranks
