"""A run of any program's server benchmark, and the measurements derived from it.

The module for each program converts its fields to a `ServedRun`; this module derives the
measurements.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isinf, sqrt
from statistics import mean, median
from typing import Any

from fastcalc.catalogue.formats import FORMATS
from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.names import nearest
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence.point import INFERRED, Point
from fastcalc.importers.json_records import NoNumberError, NoRunError, Record, Stated
from fastcalc.importers.naming import Options, checkpoint_format
from fastcalc.importers.setup import asked, columns, layout, no_model, unclear_format
from fastcalc.mentions import option
from fastcalc.written import instead_of, shown

UPPER = (90, 95, 99)  # percentiles kept in notes
_ROUNDED_WELL = 10  # concurrency above which rounding changes throughput by at most 5%
_BITS_BESIDE = 1.0  # bits per weight for the scales of groups
_SPECULATED = 1.3  # tokens per chunk above which chunks contain several tokens per step
_DISAGREES = sqrt(2.0)  # ratio that is closer to two tokens per chunk than to one


@dataclass(frozen=True, slots=True)
class Times:
    """Statistics of a time over the requests in a run, in seconds.

    upper : The available percentiles among `UPPER`.
    """

    mean: float | None = None
    median: float | None = None
    upper: Mapping[int, float] = field(default_factory=dict)

    @property
    def typical(self) -> float | None:
        """The median, or the mean if the median is missing, in seconds."""
        return self.mean if self.median is None else self.median


def times_of(seconds: Sequence[float]) -> Times:
    """Compute the mean, median and upper percentiles of per-request times, by nearest rank."""
    if not seconds:
        return Times()
    ordered = sorted(seconds)
    upper = {percentile: ordered[-(-percentile * len(ordered) // 100) - 1] for percentile in UPPER}
    return Times(mean(ordered), median(ordered), upper)


def times_in(
    percentiles: Record,
    *,
    unit: float,
    mean: float | None = None,
    median: str = "p50",
    prefix: str = "",
) -> Times:
    """Read times whose percentiles have the keys ``p90``, ``p95`` and ``p99``.

    unit : The unit of all numbers in the file, in seconds.
    mean : The mean in that unit; by default, the value of the key ``mean``.
    median : The key of the median.
    prefix : The prefix of all these keys.
    """

    def seconds(value: float | None) -> float | None:
        return None if value is None else value * unit

    upper = {
        percentile: seconds(percentiles.number(f"{prefix}p{percentile}")) for percentile in UPPER
    }
    stated = {percentile: time for percentile, time in upper.items() if time is not None}
    mean = percentiles.number("mean") if mean is None else mean
    return Times(seconds(mean), seconds(percentiles.number(f"{prefix}{median}")), stated)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Describes how requests arrive.

    rate : The request rate, or infinity if requests were sent without delay. [1/s]
    limit : The maximum number of concurrent requests, or None without a limit.
    in_flight : The measured mean number of concurrent requests, or None if unknown.
    """

    rate: float = inf
    limit: int | None = None
    in_flight: float | None = None


@dataclass(frozen=True, slots=True)
class ServedRun:
    """The results of one server benchmark run, as reported by its program.

    program : The benchmark program.
    completed, failed : The number of requests, or None if unknown.
    seconds : The time from the first request to the last answer, or None if unknown.
    prompt, output : The mean lengths, in tokens.
    ttft, tpot, request : TTFT, time per output token after the first, and end-to-end latency.
    between_chunks : The time between streamed chunks of an answer, with any number of tokens.
    rate : The output throughput, in tokens per second.
    tokens_per_pass : Tokens per step: 1 without speculation, None if unknown.
    is_speculated : Whether the server uses speculative decoding, or None if unknown.
    is_decode_only : Whether other chips computed the prompts.
    weight_bits : The bits per weight, if this is all that the file says about their format, in
        bits.
    names : The possible names of the model, most likely first.
    stated : The settings of the machine given in the file, by the names in `setup.OPTIONS`.
    remarks : Additional remarks for readers of the measurement.
    """

    program: str
    completed: int | None
    seconds: float | None
    prompt: float
    output: float
    arrivals: Arrivals
    ttft: Times
    tpot: Times
    request: Times
    between_chunks: Times = Times()
    rate: float | None = None
    failed: int = 0
    tokens_per_pass: float | None = None
    is_speculated: bool | None = None
    is_decode_only: bool = False
    weight_bits: int | None = None
    date: str = ""
    names: tuple[str, ...] = ()
    stated: Stated = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Remove empty values."""
        object.__setattr__(self, "names", tuple(filter(None, self.names)))
        object.__setattr__(self, "remarks", tuple(filter(None, self.remarks)))
        stated = {name: str(value) for name, value in self.stated.items() if value}
        object.__setattr__(self, "stated", stated)

    @property
    def called(self) -> str:
        """The most likely name of the model, empty if the file has none."""
        return self.names[0] if self.names else ""


def clients_in(record: Record, key: str) -> int:
    """Read the number of concurrent requests. Raises NoRunError if it is missing."""
    clients = record.count(key)
    if not clients or clients < 1:
        raise NoRunError(f"the file does not state the number of concurrent requests: {key}")
    return clients


@dataclass(frozen=True, slots=True)
class Load:
    """The number of concurrent requests, or None if the engine chose the batch."""

    concurrency: int | None
    is_open: bool
    words: str


def each_run(report: Record, read: Callable[[Record], ServedRun]) -> Iterator[ServedRun | str]:
    """Yield a run for each benchmark in a report, or the reason why there is none."""
    benchmarks = list(report.mappings("benchmarks"))
    if not benchmarks:
        raise NoRunError("the report contains no benchmark")
    for record in benchmarks:
        try:
            yield read(record)
        except NoRunError as error:
            yield str(error)
        except NoNumberError as error:
            line, column = replace(record, steps=()).mark(*error.path)
            yield f"{record.file}:{line}:{column}: {error}"


def points_of(run: ServedRun, line: int, options: Options) -> list[Point | str]:
    """Derive the measurements of a run, or the reasons why there are none. May raise `Unsaid`."""
    if 0 in (run.completed, run.seconds) or min(run.completed or 1, run.seconds or 1.0) < 0:
        return ["no request was completed"]
    if run.prompt < 0 or run.output <= 0:
        return ["no tokens were generated, so decode was not measured"]
    run = _with_true_token_time(run)
    load = _load(run)
    if isinstance(load, str):
        return [load]
    if run.tpot.typical is run.ttft.typical is run.rate is None:
        return ["the file states no TTFT, no time per output token and no output throughput"]
    failed = f"{run.failed} failed" if run.failed > 0 else ""
    count = "" if run.completed is None else f"requests {run.completed}"
    tokens_per_pass, speculated = _speculation(run)
    words = (load.words, count, failed, speculated, *run.remarks, shown(run.called))
    point = Point(
        **_setup(run, options),
        source=run.program,
        date=run.date,
        concurrency=load.concurrency,
        prompt=run.prompt,
        output=run.output,
        metric="",
        value=0.0,
        tokens_per_pass=tokens_per_pass,
        notes="; ".join(filter(None, words)),
        line=line,
    )
    return list(_measured(run, load, point))


def _speculation(run: ServedRun) -> tuple[float | None, str]:
    """Derive the tokens per step, with a remark if the server uses speculative decoding.

    Each chunk of an answer contains the tokens of one step, unless the server sends several steps
    at a time. More tokens are attributed to speculative decoding unless the file rules it out.
    """
    stated = run.tokens_per_pass
    if stated is not None:
        return stated, f"speculated, {stated:.3g} tokens per pass" if stated > 1 else ""
    if run.is_speculated is False:
        return 1.0, ""
    chunk, token = run.between_chunks.mean, run.tpot.mean
    ratio = chunk / token if chunk and token and token > 0 else 0.0
    if ratio > _SPECULATED:
        return round(
            ratio, 2
        ), f"{INFERRED}, {ratio:.3g} tokens per chunk (inter-chunk over per-token time)"
    return None, f"{INFERRED}, tokens per pass not stated" if run.is_speculated else ""


def _measured(run: ServedRun, load: Load, point: Point) -> Iterator[Point | str]:
    """Yield each measurement, or the reason why it cannot be used."""

    def measured(metric: str, value: float, kind: str, upper: str = "") -> Point:
        notes = "; ".join(filter(None, (f"kind={kind}", point.notes, upper)))
        return replace(point, metric=metric, value=value, notes=notes)

    is_lone = load.concurrency == 1 and not load.is_open
    served = "e2e_saturated" if load.concurrency is None else "e2e_concurrency"
    tpot, ttft = run.tpot.typical, run.ttft.typical
    if tpot is not None and tpot > 0:
        upper = _upper_words(run.tpot)
        if run.is_decode_only:
            upper = f"inter-token: other chips compute the prompts{'; ' * bool(upper)}{upper}"
        yield measured("tpot_s", tpot, "decode_batch1" if is_lone else served, upper)
    elif tpot is not None:
        yield "the time per token is 0: no answer had a second token"
    if ttft is not None and load.concurrency is None:
        yield "TTFT with all requests sent at once is mostly queueing time"
    elif ttft is not None and ttft > 0:
        yield measured("ttft_s", ttft, "prefill" if is_lone else served, _upper_words(run.ttft))
    elif ttft is not None:
        yield "TTFT is 0: the answers were not streamed"
    if load.is_open and load.concurrency is not None and load.concurrency < _ROUNDED_WELL:
        yield "the output rate at a low request rate is set by the clients"
    elif run.rate is not None and run.rate > 0:
        yield measured("tokens_per_s_total", run.rate, served)


def _upper_words(times: Times) -> str:
    return ", ".join(
        f"p{percentile} {seconds * 1e3:.4g} ms"
        for percentile, seconds in sorted(times.upper.items())
    )


def _with_true_token_time(run: ServedRun) -> ServedRun:
    """Correct the time per output token so that it agrees with end-to-end latency and TTFT.

    The correct time is (end-to-end latency - TTFT) / (output - 1), from means or else medians.
    Clients that count chunks of text instead of tokens are off by the number of tokens per chunk.
    """
    pairs = [(run.request.mean, run.ttft.mean)]
    # Medians can replace means if requests do not queue and all answers have the same length.
    if not (isinf(run.arrivals.rate) and run.arrivals.limit is None):
        pairs.append((run.request.median, run.ttft.median))
    of_statistics = (
        (request - ttft) / (run.output - 1)
        for request, ttft in pairs
        if request is not None and ttft is not None and request > ttft >= 0 and run.output > 1
    )
    expected = next(of_statistics, None)
    written = run.tpot.mean if run.tpot.mean is not None else run.tpot.median
    if expected is None or (
        written is not None and written / _DISAGREES <= expected <= written * _DISAGREES
    ):
        return run
    says = "none" if written is None else f"{written * 1e3:.4g} ms"
    remark = f"time per token from end-to-end latency and TTFT, the file states {says}"
    return replace(run, tpot=Times(mean=expected), remarks=(*run.remarks, remark))


def _load(run: ServedRun) -> Load | str:
    arrivals, limit = run.arrivals, run.arrivals.limit
    if isinf(arrivals.rate):
        if limit is None:
            return Load(None, False, "all requests at once")
        return Load(limit, False, f"max_concurrency {limit}")
    in_flight, law = arrivals.in_flight, ""
    if in_flight is None:
        seconds = run.request.mean or 0.0
        if seconds <= 0 and (run.ttft.mean or 0.0) > 0 and run.tpot.mean is not None:
            # The first token and then the others; exact if all answers have the same length.
            seconds = (run.ttft.mean or 0.0) + run.tpot.mean * max(run.output - 1, 0)
        if seconds <= 0:
            return (
                f"at {arrivals.rate:g} requests/s the concurrency follows only from the mean "
                "latency, which the file does not state"
            )
        # Little's law, J. D. C. Little, Operations Research 9 (1961) 383: L = lambda W.
        if not run.completed or not run.seconds:
            return "the file does not state the number of answered requests and the duration"
        in_flight, law = run.completed / run.seconds * seconds, " by Little's law"
    if not 0 < in_flight <= LIMITS["sequences"].maximum:
        return "duration and mean latency contradict each other"
    words = f"{arrivals.rate:g} requests/s, {in_flight:.3g} in flight{law}"
    return Load(max(1, round(in_flight)), True, words)


def _unlike(run: ServedRun, stored: str, model: str, catalogue: Catalogue) -> str | None:
    """Ask for the weight format if the reported bits per weight contradict the assumed format."""
    if run.weight_bits is None or not catalogue.knows(model, "models"):
        return None
    published = catalogue.model(model)
    name = stored or published.expert_format or published.weight_format
    number_format = FORMATS.get(name)
    if number_format is None or abs(number_format.bits - run.weight_bits) <= _BITS_BESIDE:
        return None
    return (
        f"the file states weights of {run.weight_bits} bits, but {published.id} is read as {name}: "
        f"give {option('weights')}"
    )


def accepted_tokens(record: Record, key: str) -> float | None:
    """Return the mean tokens per step given by a record, if at least 1."""
    accepted = record.number(key)
    return accepted if accepted is not None and accepted >= 1 else None


def _setup(run: ServedRun, options: Options) -> dict[str, Any]:
    """Return the columns for machine and model: from the file, completed by the user."""
    names, called = options.names, run.called
    texts = {name: str(value) for name, value in run.stated.items()}
    chip, known_as = texts.get("hardware", ""), (texts.get("model", ""), *run.names)
    from_record = {
        **texts,
        "hardware": names.chip(chip),
        "model": next(filter(None, map(names.model, known_as)), None),
        "weights": texts.get("weights") or checkpoint_format(called),
    }
    stated = {name: text for name, text in from_record.items() if text} | options.left_by(
        from_record
    )
    hardware, model = stated.get("hardware", ""), stated.get("model", "")
    stored = stated.get("weights", from_record["weights"])
    unlike = _unlike(run, stored or "", model, names.catalogue)
    machine = layout(stated, names.ranks(hardware) or 1)
    near = nearest(chip, names.catalogue.names("hardware")) if chip else []
    no_chip = (
        f"no chip of the catalogue is '{shown(chip)}'{'; ' * bool(near)}{instead_of(near, '')}"
        if chip
        else "the file does not name the hardware"
    )
    asked(
        None if hardware else f"{no_chip}: give {option('hardware')}",
        None
        if machine
        else f"the file states no number of chips: give {option('chips')} or {option('tp')}",
        None if model else no_model(called),
        unclear_format(called) if stored is None else unlike,
    )
    words = {"hardware": hardware, "model": model, "engine": stated.get("engine", "")}
    return columns(machine, **words, weights=stored or "", kv=stated.get("kv", ""))
