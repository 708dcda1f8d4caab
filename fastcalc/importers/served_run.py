"""One run of a benchmark of a server, whoever wrote it, and the measured points that it is.

Each writer's module makes `ServedRun` of its fields; what a run measures is decided here, once.
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

UPPER = (90, 95, 99)  # percentiles that notes keep
_ROUNDED_WELL = 10  # concurrency from which rounding moves a throughput by 5 % at most
_BITS_BESIDE = 1.0  # scales of groups, beside each weight
_SPECULATED = 1.3  # tokens per chunk from which they are not of one pass each
_DISAGREES = sqrt(2.0)  # nearer to two tokens in a chunk than to one


@dataclass(frozen=True, slots=True)
class Times:
    """How long something took over the requests of a run. [s]

    upper : by percentile, some of `UPPER`
    """

    mean: float | None = None
    median: float | None = None
    upper: Mapping[int, float] = field(default_factory=dict)

    @property
    def typical(self) -> float | None:
        """The median, else the mean. [s]"""
        return self.mean if self.median is None else self.median


def times_of(seconds: Sequence[float]) -> Times:
    """Return mean, median and upper percentiles of the requests' own times, by nearest rank."""
    if not seconds:
        return Times()
    ordered = sorted(seconds)
    upper = {percentile: ordered[-(-percentile * len(ordered) // 100) - 1] for percentile in UPPER}
    return Times(mean(ordered), median(ordered), upper)


def times_in(
    percentiles: Record,
    *,
    unit: float,
    mean: float | None,
    median: str = "p50",
    prefix: str = "",
) -> Times:
    """Return times whose percentiles stand under ``p90``, ``p95`` and ``p99``.

    unit : of all numbers of the file [s]
    mean : in that unit
    median : the key of the median
    prefix : that begins all these keys
    """

    def seconds(value: float | None) -> float | None:
        return None if value is None else value * unit

    upper = {
        percentile: seconds(percentiles.number(f"{prefix}p{percentile}")) for percentile in UPPER
    }
    stated = {percentile: time for percentile, time in upper.items() if time is not None}
    return Times(seconds(mean), seconds(percentiles.number(f"{prefix}{median}")), stated)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How requests came.

    rate : of requests, infinite where they came as fast as they were taken [1/s]
    limit : in flight at a time, None without a limit [1]
    in_flight : measured mean in flight; None where the file does not say [1]
    """

    rate: float = inf
    limit: int | None = None
    in_flight: float | None = None


@dataclass(frozen=True, slots=True)
class ServedRun:
    """What a benchmark of a server measured in one run, as its writer saw it.

    program : who wrote it
    completed, failed : requests; None where the file does not say [1]
    seconds : from the first request to the last answer; None where the file does not say
    prompt, output : mean lengths [token]
    ttft, tpot, request : to the first token, of each token after it, of requests to their end
    between_chunks : between the streamed chunks of an answer, of whatever tokens each
    rate : of output tokens [1/s]
    tokens_per_pass : 1 without speculation; None where the file does not say
    is_speculated : whether the server speculates; None where the file does not say
    is_decode_only : whether other chips computed the prompts
    weight_bits : of the weights, if the file says no more of their format [bit]
    names : of the model, the likelier first
    stated : what the file says of the machine, by the names of `setup.OPTIONS`
    remarks : what else a reader of the point should know
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
        """Leave out what is empty."""
        object.__setattr__(self, "names", tuple(filter(None, self.names)))
        object.__setattr__(self, "remarks", tuple(filter(None, self.remarks)))
        stated = {name: str(value) for name, value in self.stated.items() if value}
        object.__setattr__(self, "stated", stated)

    @property
    def called(self) -> str:
        """The likeliest name of the model; empty where the file has none."""
        return self.names[0] if self.names else ""


def clients_in(record: Record, key: str) -> int:
    """Requests that a record says were kept in flight; NoRunError if it says nothing. [1]"""
    clients = record.count(key)
    if not clients or clients < 1:
        raise NoRunError(f"the file does not say how many requests were in flight: {key}")
    return clients


@dataclass(frozen=True, slots=True)
class Load:
    """How many requests were kept in flight; None where the engine chose the batch."""

    concurrency: int | None
    is_open: bool
    words: str


def each_run(
    report: Record, read: Callable[[Record], ServedRun]
) -> Iterator[tuple[Record, ServedRun | str]]:
    """Yield each benchmark of a report with its run, or why it is none."""
    benchmarks = list(report.mappings("benchmarks"))
    if not benchmarks:
        raise NoRunError("the report holds no benchmark")
    for record in benchmarks:
        try:
            yield record, read(record)
        except NoRunError as error:
            yield record, str(error)
        except NoNumberError as error:
            line, column = replace(record, steps=()).mark(*error.path)
            yield record, f"{record.file}:{line}:{column}: {error}"


def points_of(run: ServedRun, line: int, options: Options) -> list[Point | str]:
    """Return the points of a run, or why a measurement is none; it may raise `Unsaid`."""
    if 0 in (run.completed, run.seconds) or min(run.completed or 1, run.seconds or 1.0) < 0:
        return ["no request was completed"]
    if run.prompt < 0 or run.output <= 0:
        return ["no tokens were generated, so nothing of decoding was measured"]
    run = _with_true_token_time(run)
    load = _load(run)
    if isinstance(load, str):
        return [load]
    if run.tpot.typical is run.ttft.typical is run.rate is None:
        return ["the file holds no time to a first token, none of each token and no output rate"]
    failed = f"{run.failed} failed" if run.failed > 0 else ""
    count = "" if run.completed is None else f"requests {run.completed}"
    tokens_per_pass, speculated = _speculation(run)
    words = (load.words, count, failed, speculated, *run.remarks, shown(run.called, 100))
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
    return [
        measured
        if isinstance(measured, str)
        else replace(
            point,
            metric=measured.metric,
            value=measured.value,
            notes="; ".join(filter(None, (f"kind={measured.kind}", point.notes, measured.upper))),
        )
        for measured in _measured(run, load)
    ]


@dataclass(frozen=True, slots=True)
class _Measured:
    metric: str
    value: float
    kind: str
    upper: str = ""


def _speculation(run: ServedRun) -> tuple[float | None, str]:
    """Tokens that a pass keeps, and a remark where the server speculates.

    Each chunk of an answer holds what one pass kept, unless the server sends several passes at a
    time: that is taken for speculation where the file does not deny it.
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


def _measured(run: ServedRun, load: Load) -> Iterator[_Measured | str]:
    """Yield each measurement, or why it is no point."""
    is_lone = load.concurrency == 1 and not load.is_open
    served = "e2e_saturated" if load.concurrency is None else "e2e_concurrency"
    tpot, ttft = run.tpot.typical, run.ttft.typical
    if tpot is not None and tpot > 0:
        upper = _upper_words(run.tpot)
        if run.is_decode_only:
            upper = f"inter-token: other chips compute the prompts{'; ' * bool(upper)}{upper}"
        yield _Measured("tpot_s", tpot, "decode_batch1" if is_lone else served, upper)
    elif tpot is not None:
        yield "the time per token is 0: no answer had a second token"
    if ttft is not None and load.concurrency is None:
        yield "the time to a first token with all requests sent at once is the wait in the queue"
    elif ttft is not None and ttft > 0:
        yield _Measured("ttft_s", ttft, "prefill" if is_lone else served, _upper_words(run.ttft))
    elif ttft is not None:
        yield "the time to a first token is 0: the answers were not streamed"
    if load.is_open and load.concurrency is not None and load.concurrency < _ROUNDED_WELL:
        yield "the output rate at a light request rate is what the clients asked for"
    elif run.rate is not None and run.rate > 0:
        yield _Measured("tokens_per_s_total", run.rate, served)


def _upper_words(times: Times) -> str:
    return ", ".join(
        f"p{percentile} {seconds * 1e3:.4g} ms"
        for percentile, seconds in sorted(times.upper.items())
    )


def _with_true_token_time(run: ServedRun) -> ServedRun:
    """Return a run whose time per token agrees with whole requests and first tokens.

    Clients that count chunks of text, not tokens, are off by the tokens in a chunk.
    """
    expected = _token_time(run)
    written = run.tpot.mean if run.tpot.mean is not None else run.tpot.median
    if expected is None or (
        written is not None and written / _DISAGREES <= expected <= written * _DISAGREES
    ):
        return run
    says = "none" if written is None else f"{written * 1e3:.4g} ms"
    remark = f"time per token from requests and first tokens, the file says {says}"
    return replace(run, tpot=Times(mean=expected), remarks=(*run.remarks, remark))


def _token_time(run: ServedRun) -> float | None:
    """Return (request - first token) / (output - 1) of the means, else of the medians. [s]

    Medians stand for means where requests do not queue, and where answers have one length.
    """
    pairs = [(run.request.mean, run.ttft.mean)]
    if not (isinf(run.arrivals.rate) and run.arrivals.limit is None):
        pairs.append((run.request.median, run.ttft.median))
    for request, ttft in pairs:
        if request is not None and ttft is not None and request > ttft >= 0 and run.output > 1:
            return (request - ttft) / (run.output - 1)
    return None


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
            # The first token and then the others: exact for answers of one length.
            seconds = (run.ttft.mean or 0.0) + run.tpot.mean * max(run.output - 1, 0)
        if seconds <= 0:
            return (
                f"at {arrivals.rate:g} requests/s the concurrency follows from the mean latency "
                "alone, which the file does not hold"
            )
        # Little's law, J. D. C. Little, Operations Research 9 (1961) 383: L = lambda W.
        if not run.completed or not run.seconds:
            return "the file does not say how many requests were answered in what time"
        in_flight, law = run.completed / run.seconds * seconds, " by Little's law"
    if not 0 < in_flight <= LIMITS["sequences"].maximum:
        return "duration and mean latency contradict each other"
    words = f"{arrivals.rate:g} requests/s, {in_flight:.3g} in flight{law}"
    return Load(max(1, round(in_flight)), True, words)


def _unlike(run: ServedRun, stored: str, model: str, catalogue: Catalogue) -> str | None:
    """What to ask for where the weights of a run have another width than those assumed."""
    if run.weight_bits is None or not catalogue.knows(model, "models"):
        return None
    published = catalogue.model(model)
    name = stored or published.expert_format or published.weight_format
    number_format = FORMATS.get(name)
    if number_format is None or abs(number_format.bits - run.weight_bits) <= _BITS_BESIDE:
        return None
    return (
        f"the file says weights of {run.weight_bits} bits, but {published.id} is read as {name}: "
        f"give {option('weights')}"
    )


def accepted_tokens(record: Record, key: str) -> float | None:
    """Return the mean tokens of a pass that a record states, if that is 1 or more. [1]"""
    accepted = record.number(key)
    return accepted if accepted is not None and accepted >= 1 else None


def _setup(run: ServedRun, options: Options) -> dict[str, Any]:
    """Return the columns of machine and model: what the file says, completed by the user."""
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
    unlike = _unlike(run, stored, model, names.catalogue) if model and stored is not None else None
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
        else f"the file does not say on how many chips: give {option('chips')} or {option('tp')}",
        None if model else no_model(called),
        unclear_format(called) if stored is None else unlike,
    )
    words = {"hardware": hardware, "model": model, "engine": stated.get("engine", "")}
    return columns(machine, **words, weights=stored or "", kv=stated.get("kv", ""))
