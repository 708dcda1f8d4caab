"""Benchmark a server with closed-loop requests, and store the measurements."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from time import perf_counter, process_time

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import Outcome
from fastcalc.errors import InputError
from fastcalc.evidence.point import COLUMNS, Point
from fastcalc.features.benchmark.endpoint import Endpoint, Reply, connected
from fastcalc.features.benchmark.limits import MOST_BUSY
from fastcalc.features.benchmark.request import Measure
from fastcalc.features.benchmark.runs import BenchmarkRun, MeasuredRun
from fastcalc.features.benchmark.tools import ServedModel
from fastcalc.importers.any_file import read
from fastcalc.importers.naming import NameLookup, Options, model_id
from fastcalc.importers.served_run import Arrivals, ServedRun, Times, points_of, times_of
from fastcalc.importers.setup import Unsaid
from fastcalc.kit.answer import output, progress
from fastcalc.kit.answer.envelope import today
from fastcalc.kit.answer.next_commands import typed_as
from fastcalc.kit.request.loading import catalogue
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import option
from fastcalc.written import csv_line, listed, many, shown

_SAMPLE = 256
"""Maximum number of words sent before a run to determine the tokens per word."""


@dataclass(frozen=True)
class BenchmarkedServer:
    """The server to benchmark, as specified by the user.

    served : The settings for a load generator.
    model, engine : Ids of the model and the engine.
    typed : The chip and model as the user typed them, possibly files.
    """

    served: ServedModel
    model: str
    engine: str
    typed: Mapping[str, str]
    entries: Catalogue

    def name_among(self, names: Sequence[str]) -> str:
        """Return the served name of the model. Raises InputError if it is not served."""
        model_ids = {name: model_id(name, self.entries) for name in names}
        for name in names:
            if name == self.served.name or model_ids[name] == self.model:
                return name
        url = self.served.url
        if len(names) > 1:
            raise InputError(
                f"{url} serves {listed([*map(shown, names)])}, none of it {self.model}"
            )
        if model_ids[names[0]] is not None:
            raise InputError(
                f"{url} serves {model_ids[names[0]]} ('{shown(names[0])}'), not {self.model}"
            )
        return names[0]


def make_runs(
    request: Measure, outcome: Outcome, runs: Sequence[BenchmarkRun], served: ServedModel
) -> list[MeasuredRun]:
    """Perform runs against a server, appending each to the results file as soon as it ends.

    Raises InputError with the reason if a run fails, and the number of runs that were saved.
    """
    entries, scenario = catalogue(request), outcome.scenario
    typed = {
        "hardware": typed_as(request, request.on, scenario.hardware.id),
        "model": as_text((request.models or [""])[0]),
    }
    server = BenchmarkedServer(served, scenario.model.id, scenario.engine.id, typed, entries)
    _rows_before(request.results_file, entries)
    measured_runs: list[MeasuredRun] = []

    def keep(run: ServedRun, client_busy: float) -> None:
        busy = (f"client busy {client_busy:.0%} of the run",) * (client_busy > MOST_BUSY)
        points = _points(replace(run, remarks=busy), server)
        _add(request.results_file, points, entries)
        assert run.ttft.median is not None
        assert run.rate is not None
        measured_runs.append(MeasuredRun(run.ttft.median, run.tpot.median, run.rate, client_busy))

    try:
        asyncio.run(_measured(request, server, runs, keep))
    except InputError as error:
        raise InputError(
            f"{error.sentence}{_so_far(measured_runs, runs, request.results_file)}"
        ) from error
    except KeyboardInterrupt:
        output.notify(
            f"\nfastcalc: interrupted{_so_far(measured_runs, runs, request.results_file)}\n"
        )
        raise
    return measured_runs


def _so_far(measured_runs: Sequence[MeasuredRun], runs: Sequence[BenchmarkRun], file: Path) -> str:
    remark = f"; {len(measured_runs)} of {many(len(runs), 'run')} kept in {file}"
    return remark if measured_runs else "; nothing was measured"


async def _measured(
    request: Measure,
    server: BenchmarkedServer,
    runs: Sequence[BenchmarkRun],
    keep: Callable[[ServedRun, float], None],
) -> None:
    """Perform the runs in sequence within the time limit."""
    end = perf_counter() + 60.0 * request.minutes
    endpoint = connected(server.served.url, max(run.concurrency for run in runs))
    async with endpoint.client:
        endpoint = replace(endpoint, model=server.name_among(await endpoint.models()))
        for number, run in enumerate(runs, 1):
            words = f"run {number} of {len(runs)} (concurrency {run.concurrency})"
            try:
                async with asyncio.timeout(max(end - perf_counter(), 0.0)):
                    keep(*await _run(endpoint, run, words))
            except TimeoutError:
                raise InputError(
                    f"{words} did not end within {option('minutes', f'{request.minutes:g}')}: give "
                    f"more, a smaller {option('batch')} or a shorter {option('output')}"
                ) from None


async def _run(endpoint: Endpoint, run: BenchmarkRun, words: str) -> tuple[ServedRun, float]:
    """Send the requests of a run, each as soon as another one ends, and time them.

    Also returns the fraction of the time in which the client was computing. [1]
    """
    chance = random.Random()  # noqa: S311  (prompts that are in no prefix cache)
    count = min(run.prompt, _SAMPLE)
    per_word = await endpoint.prompt_tokens(_prompt(chance, count)) / count
    length = max(round(run.prompt / per_word), 1)
    await endpoint.reply(_prompt(chance, length), min(run.output, 2))  # warm-up
    waiting = iter([_prompt(chance, length) for _ in range(run.requests)])
    replies: list[Reply] = []

    async def user() -> None:
        for prompt in waiting:
            replies.append(await endpoint.reply(prompt, run.output))
            progress.say(f"{words}: {len(replies)} of {run.requests} requests")

    start, computed = perf_counter(), process_time()
    users = [asyncio.ensure_future(user()) for _ in range(run.concurrency)]
    try:
        await asyncio.gather(*users)
    finally:
        for task in users:
            task.cancel()
        await asyncio.gather(*users, return_exceptions=True)
    seconds = perf_counter() - start
    served = _served_run(endpoint, run, replies, seconds, per_word * length)
    return served, (process_time() - computed) / seconds


def _prompt(chance: random.Random, words: int) -> str:
    """Generate a prompt of random numbers, each of them a few tokens in any tokenizer."""
    return " ".join(f"{chance.randrange(1000, 10_000)}" for _ in range(words))


def _served_run(
    endpoint: Endpoint,
    run: BenchmarkRun,
    replies: Sequence[Reply],
    seconds: float,
    prompt_tokens: float,
) -> ServedRun:
    """Convert a run to the form used by the importers of benchmark results.

    prompt_tokens : Tokens per prompt, for servers that do not report them.
    """
    tokens = sum(reply.output for reply in replies)
    later = [reply for reply in replies if reply.output > 1]
    prompts = [prompt_tokens if reply.prompt is None else reply.prompt for reply in replies]
    gaps = [
        (reply.last - reply.first) / (reply.chunks - 1) for reply in replies if reply.chunks > 1
    ]
    return ServedRun(
        program="fastcalc measure",
        completed=len(replies),
        seconds=seconds,
        prompt=sum(prompts) / len(replies),
        output=tokens / len(replies),
        arrivals=Arrivals(limit=run.concurrency),
        ttft=times_of([reply.first for reply in replies]),
        tpot=times_of([(reply.last - reply.first) / (reply.output - 1) for reply in later]),
        request=times_of([reply.last for reply in replies]),
        between_chunks=Times(mean=fmean(gaps)) if gaps else Times(),
        rate=tokens / seconds,
        date=today().isoformat(),
        names=(endpoint.model,),
    )


def _points(run: ServedRun, server: BenchmarkedServer) -> list[Point]:
    """Convert a run to measurements. Raises InputError if it has none."""
    options = Options(server.typed, NameLookup(server.entries))
    stated = {**server.served.stated, "engine": server.engine}
    stated = {name: text for name, text in stated.items() if name not in server.typed}
    try:
        points = points_of(replace(run, stated=stated), 1, options)
    except Unsaid as unsaid:
        raise InputError(f"the run is not a measurement: {unsaid}") from unsaid
    measured = [replace(point, measured_by="self") for point in points if isinstance(point, Point)]
    if not measured:
        raise InputError(f"the run measured nothing: {'; '.join(map(str, points))}")
    return measured


def _rows_before(file: Path, entries: Catalogue) -> str:
    """Read an existing measurements file as text. Raises InputError for any other file."""
    if not file.parent.is_dir():
        raise InputError(f"{option('results')} {file}: there is no folder {file.parent}")
    if not file.exists():
        return csv_line(COLUMNS)
    read(file, catalogue=entries).demand()
    text = file.read_text(encoding="utf-8-sig")
    if text.splitlines()[:1] != csv_line(COLUMNS).splitlines():
        raise InputError(
            f"{file} is not a CSV of measurements with the columns of this version; name another "
            f"file with {option('results')}"
        )
    return text if text.endswith("\n") else f"{text}\n"


def _add(file: Path, points: Sequence[Point], entries: Catalogue) -> None:
    """Append points to a file, continuing its numbering."""
    text = _rows_before(file, entries)
    count = text.count("\n")
    for number, point in enumerate(points, count):
        named = replace(point, id=f"{file.stem}-{number:03d}")
        text += csv_line([getattr(named, column) for column in COLUMNS])
    output.write_data(text.encode(), file, rewrite=True)
