"""The answer of `measure`: recommended or completed benchmark runs, and the resulting ranges."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from fastcalc.features import request_of
from fastcalc.features.benchmark.advice import Advice, widths_after
from fastcalc.features.benchmark.deployment import MeasuredDeployment
from fastcalc.features.benchmark.limits import MOST_BUSY
from fastcalc.features.benchmark.request import Measure
from fastcalc.features.benchmark.runs import BenchmarkRun, MeasuredRun
from fastcalc.features.benchmark.tools import (
    SERVER,
    TOOLS,
    ServedModel,
    command_of,
    measures,
    served_model,
)
from fastcalc.grid.column import TableColumn, key_figure, values
from fastcalc.grid.columns import columns_from, pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.next_commands import follow_up, typed_as
from fastcalc.kit.answer.numbers_as_text import (
    WORDS,
    capital,
    counted,
    number,
    seconds,
    whole_percent,
)
from fastcalc.kit.answer.outcome_lines import heading
from fastcalc.kit.answer.parts import Listing, Note, Part
from fastcalc.kit.answer.placed_batch import PlacedBatch
from fastcalc.kit.answer.point_records import Record, assumptions, plain, plainly
from fastcalc.kit.answer.record_tables import numbers
from fastcalc.kit.request.fields import phrases
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import flag, option
from fastcalc.written import listed, many


@dataclass(frozen=True)
class RunRow(PlacedBatch):
    """A benchmark run of a deployment.

    run : The run.
    width : The width of the ranges after this run and those before it, relative to now.
    command : The command that performs the run.
    measured : Its measurements, or None if the run is only recommended.
    """

    run: BenchmarkRun
    width: float | None
    command: str
    measured: MeasuredRun | None


_VALUES: dict[str, Callable[[Any], Any]] = {
    "measured_ttft_ms": lambda row: row.measured and row.measured.ttft * 1e3,
    "measured_tpot_ms": lambda row: row.measured and row.measured.tpot and row.measured.tpot * 1e3,
    "measured_tokens_per_s_total": lambda row: row.measured and row.measured.throughput,
}
"""Values that are not an attribute, by key."""

_FORMATS: dict[str, Callable[[Any], Any]] = {
    "run_seconds": lambda record: seconds(record["run_seconds"]),
    "range_width": lambda record: whole_percent(record["range_width"]),
}
"""Cells with a format of their own, by key."""

COLUMNS = columns_from(__file__, _VALUES, _FORMATS)
_RUN = "concurrency prompt_tokens output_tokens requests"
SHOWN = pick(f"hardware chips {_RUN} run_seconds range_width command", COLUMNS)
_ADVISED = pick(f"{_RUN} run_seconds range_width", COLUMNS)
_MADE = pick(f"{_RUN} measured_ttft_ms measured_tpot_ms measured_tokens_per_s_total", COLUMNS)


@dataclass(frozen=True)
class BatchRow:
    """The speed per user at a batch, before and after corrections by measurements."""

    batch: int
    before: tuple[float, float, float]
    now: tuple[float, float, float]
    after: tuple[float, float]

    def record(self, *, is_measured: bool) -> Record:
        """Return the speeds and ranges. Ranges after the runs are expected until these are made."""
        low, high = (None, None) if is_measured else map(plain, self.after)
        speeds = [("before", self.before), ("now", self.now)]
        return {
            "batch": self.batch,
            **{
                f"tokens_per_s_per_user_{name}{end}": plain(value)
                for name, ranged in speeds
                for end, value in zip(("", "_low", "_high"), ranged, strict=True)
            },
            "expected_low_after": low,
            "expected_high_after": high,
        }


def _range(ends: tuple[float, float]) -> str:
    return f"{number(ends[0])}..{number(ends[1])}"


_BATCH = numbers("|batch", lambda row: f"{row.batch:,}")
_BEFORE = (
    numbers("tok/s per|user now", lambda row: number(row.before[0])),
    numbers("80% range|now", lambda row: _range(row.before[1:])),
)
_NOW = (
    key_figure(numbers("with your runs:|tok/s per user", lambda row: number(row.now[0]))),
    numbers("80% |range", lambda row: _range(row.now[1:])),
)
_AFTER = numbers("80% range|after", lambda row: _range(row.after))


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasureAnswer(Answer):
    """The result of ``fastcalc measure``: benchmarks that would narrow the predictions most.

    deployment : The deployment with its existing measurements.
    tool : The load generator whose commands are printed.
    measured : The measurements of each run, empty if the runs are only recommended.
    """

    request: Measure
    deployment: MeasuredDeployment
    advice: Advice
    tool: str
    measured: Sequence[MeasuredRun] = ()

    @cached_property
    def _served(self) -> ServedModel:
        typed = as_text((self.request.models or [""])[0])
        return served_model(self.deployment.now, typed, self.request.url or SERVER)

    @property
    def _results(self) -> str:
        """The file to which commands append: the user's results, if the tool writes that format."""
        earlier, usual = self.request.like, TOOLS[self.tool].results
        return str(earlier) if earlier and earlier.suffix == Path(usual).suffix else usual

    @cached_property
    def rows(self) -> list[RunRow]:
        """One table row per benchmark run."""
        first = self.advice.widths[0]
        measured: Sequence[MeasuredRun | None] = self.measured or [None] * len(self.advice.runs)
        return [
            RunRow(
                location=self.deployment.now,
                run=run,
                width=None if result else after / first,
                command=command_of(self.tool, self._served, run, self._results),
                measured=result,
            )
            for run, (_, after), result in zip(
                self.advice.runs, pairwise(self.advice.widths), measured, strict=True
            )
        ]

    @cached_property
    def batches(self) -> list[BatchRow]:
        """The speed per user at each batch that fits."""
        deployment, runs = self.deployment, () if self.measured else self.advice.runs
        widths = widths_after(runs, deployment.decode_targets, deployment.rows)
        ends = zip(*deployment.ends_after(widths), strict=True)
        estimates = [deployment.before.estimate, deployment.now.estimate]
        speeds = [
            [*zip(*(each.tolist() for each in (e.speed, e.low, e.high)), strict=True)]
            for e in estimates
            if e.low is not None and e.high is not None
        ]
        batches = deployment.now.estimate.batch.astype(int).tolist()
        return [
            BatchRow(batches[place], speeds[0][place], speeds[1][place], (float(low), float(high)))
            for place, (low, high) in zip(deployment.fitting, ends, strict=True)
        ]

    def body(self, screen: Screen) -> Iterator[Part]:
        """Show the effect of the runs, expected or achieved, and the ranges before and after."""
        records = self.records()
        yield self._sentence()
        yield ""
        yield heading([self.deployment.now], phrases(self.settings))
        yield record_tables.table(_MADE if self.measured else _ADVISED, records, screen.width)
        yield ""
        columns = [_BATCH, *_BEFORE]
        columns += _NOW if self.deployment.rows else ()
        columns += () if self.measured else [_AFTER]
        yield record_tables.table(columns, self.batches, screen.width)
        yield ""
        if not self.measured:
            for row in self.rows:
                yield Listing(_continued(row.command, screen.width - 8))
                yield ""

    def _sentence(self) -> str:
        outcome, runs = self.deployment.now, self.advice.runs
        chips = counted(outcome.placement.layout.chips, outcome.scenario.hardware.id)
        what = f"{outcome.scenario.model.asked_name} on {chips}"
        if self.measured:
            widths = [row.now[2] / row.now[1] for row in self.batches]
            before = [row.before[2] / row.before[1] for row in self.batches]
            return (
                f"{capital(_count(len(runs)))} of {what} {'is' if len(runs) == 1 else 'are'} kept "
                f"in {self.request.results_file}. The 80% range of its speed now spans a factor "
                f"of at most {number(max(widths), 2)} (before: {number(max(before), 2)})."
            )
        counts = dict.fromkeys(f"{run.concurrency}" for run in runs if run.output)
        loads = [f"concurrency {listed([*counts])}"] if counts else []
        loads += [f"a prompt of {run.prompt:,} tokens" for run in runs if not run.output]
        left = whole_percent(self.advice.widths[-1] / self.advice.widths[0])
        takes = seconds(sum(run.seconds for run in runs)) + " in all" * (len(runs) > 1)
        return (
            f"{capital(_count(len(runs)))} ({listed(loads)}; {takes}) would narrow the 80% range "
            f"of {what} to {left} of its width{' on average' * (len(self.batches) > 1)}."
        )

    def key(self) -> str:
        """Explain how to read the ranges."""
        after = (
            ""
            if self.measured
            else (
                "; range width: after this run and those above it / now; 80% range after: "
                "expected range; your measurements will move its center"
            )
        )
        return f"key: 80% range: four of five measurements should fall inside{after}"

    def notes(self) -> Iterator[Note]:
        """Yield notes on other load generators, on how runs were selected, and on their limits."""
        if not self.measured:
            program = self.deployment.now.scenario.engine.program
            others = [name for name in TOOLS if name != self.tool and measures(name, program)]
            yield Note(
                f"{option('tool', '|'.join(others))} prints the commands of another benchmark tool"
            )
            yield Note(f"{option('url', SERVER)} lets fastcalc run the benchmarks on this server")
        busy = max((run.client_busy for run in self.measured), default=0.0)
        if busy > MOST_BUSY:
            yield Note(
                f"this client was computing for {whole_percent(busy)} of a run, so the server may "
                f"be faster than measured; repeat that run with the command that "
                f"{option('tool', 'vllm')} prints",
                weight=2,
            )
        if self.deployment.rows:
            rows = many(len(self.deployment.rows), "measurement")
            yield Note(f"predictions already use {rows} of this deployment")
        if len(self.advice.runs) < self.request.runs:
            yield Note(
                f"{self.request.runs} runs would narrow the ranges no further than "
                f"{_count(len(self.advice.runs))}"
            )
        if self.tool == "llama-bench":
            yield Note(
                "llama-bench measures one sequence at a time, so the ranges of large batches "
                "narrow less"
            )
        yield Note(
            "runs are chosen to make the ranges at your batches as narrow as possible (geometric "
            "mean over decode, TTFT, TPOT and throughput). If several are equally good, the "
            "shortest is chosen",
            weight=0,
        )
        yield from (Note(text, weight=0) for text in self.deployment.now.warnings)

    def next_command(self) -> str:
        """Suggest a comparison with these measurements, or this command with the results."""
        request, outcome = self.request, self.deployment.now
        chip = typed_as(request, request.on, outcome.scenario.hardware.id)
        begun = ((request.models or [""])[0], flag("on"), chip)
        if self.measured or request.like:
            results = request.results_file if self.measured else request.like
            compare = request_of("compare")
            return follow_up(request, compare, *begun, ending=[flag("like"), str(results)])
        ending = [*self._ranks(), flag("like"), self._results]
        return follow_up(request, Measure, *begun, ending=ending)

    def _ranks(self) -> list[str]:
        """Return the flags that set the layout if neither the request nor a result contains it."""
        layout = self.deployment.now.placement.layout
        request = self.request
        if request.chips or request.tp or request.pp or request.dp or self.tool == "vllm":
            return []
        ranks = {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp}
        stated = {name: count for name, count in ranks.items() if count > 1 or name == "tp"}
        return [word for name, count in stated.items() for word in (flag(name), f"{count}")]

    def records(self) -> list[Record]:
        """Build one record per run."""
        return [plainly(values(COLUMNS, row)) for row in self.rows]

    def table(self) -> tuple[Sequence[TableColumn], list[Record]]:
        """Return a table of the runs and their commands."""
        return SHOWN, self.records()

    def premises(self) -> Record:
        """Return the traffic, prices and engines that were assumed."""
        return assumptions([self.deployment.now])

    def details(self) -> Record:
        """Return the ranges at the user's batches and the commands for every load generator."""
        return {
            "batches": [row.record(is_measured=bool(self.measured)) for row in self.batches],
            "commands": {
                tool: [command_of(tool, self._served, run) for run in self.advice.runs]
                for tool in TOOLS
                if (tool == "llama-bench") == (self.tool == "llama-bench")
            },
            "results": {tool: entry.results for tool, entry in TOOLS.items()},
        }


def _count(count: int) -> str:
    return f"{WORDS[count]} {'run' if count == 1 else 'runs'}"


def _continued(command: str, width: int) -> list[str]:
    r"""Split a command into lines of limited width, with continuation marks.

    >>> _continued("serve a/b --tp 2", 12)
    ['serve a/b \\', '--tp 2']
    """
    lines: list[str] = []
    for word in command.split(" "):
        if lines and len(lines[-1]) + len(word) + 3 <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]
