"""Scenarios in a line, and the command line in process."""

import ast
import gc
import inspect
import json
import os
import pickle
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial, wraps
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import yaml

from fastcalc.catalogue import names
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.kinds import SCHEMAS
from fastcalc.catalogue.reader import Document
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.schema.claims import Claim
from fastcalc.catalogue.store import Catalogue
from fastcalc.cli import lazy_commands, main
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.outcome import Outcome, solve
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, Sharding, engine_for
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.errors import InputError
from fastcalc.evidence.shipped import Evidence, shipped
from fastcalc.evidence.validate import Shipped, validate_shipped
from fastcalc.features import answer_to
from fastcalc.features.claims.judge import Judged, judge
from fastcalc.features.fastmode.solve import SpeedupOptions, fastmode
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.charts.drawing import luminance
from fastcalc.kit.request.fields import Request
from fastcalc.mentions import as_flags

ROOT = Path(__file__).resolve().parent.parent


def outcome(
    model: str | Model,
    hardware: str | Hardware,
    *,
    engine: str | Engine | None = None,
    batch: tuple[int, ...] = (1,),
    prompt: float = 1000,
    output: float = 1000,
    context: float | None = None,
    weights: str | None = None,
    kv: str | None = None,
    sharding: Sharding | None = None,
    pricing: Pricing | None = None,
    prefix_hit: float = 0.0,
    speculation: Speculation | None = None,
    memory: MemoryChoice = OWN_MEMORY,
) -> Outcome:
    """Solve a scenario given by names or entries."""
    entries = Catalogue()
    chip = entries.hardware(hardware) if isinstance(hardware, str) else hardware
    if engine is None:
        engine = engine_for(entries, chip)[0]
    return solve(
        Scenario(
            hardware=chip,
            model=entries.model(model) if isinstance(model, str) else model,
            engine=entries.engine(engine) if isinstance(engine, str) else engine,
            batches=batch,
            traffic=Traffic(
                prompt,
                output,
                context or prompt + output / 2,
                prefix_hit,
                speculation or Speculation(),
            ),
            weights=weights,
            kv=kv,
            sharding=sharding or Sharding(),
            pricing=pricing or Pricing(),
            memory=memory,
        )
    )


FILE = re.compile(r"/(?!(s|min|h)\b)|\.(yaml|csv|json)$")
"""What a word holds that names a file or a folder; 20/s is a rate, 25GB/s a bandwidth."""

runs = Path()
"""The folder in which `run_once` keeps what commands did, of this run of the tests."""

patched = ""
"""What of the program a test has replaced, so that what it does is not that of other tests."""


@dataclass
class Ran:
    code: int
    out: str
    err: str


TERMS = (
    r"80 ?% range|Apache\s2\.0|\b(?:Opus (?:4\.6|5)|GPT-5\.[34](?:-Codex)?|GLM-4\.7|"
    r"DeepSeek-R1|WSE-3|CS-3|GB200|B200|H100|CO2|vLLM V[01])\b"
)
"""Words of the prose that are no number of a computation: a column, a licence, names."""

_BY_HAND = (
    r"(?i)\d|\b(?:twice|thrice|half|halves|hardly|nearly|almost|most of|majority|(?:a|one|two) "
    r"(?:third|quarter|fifth|tenth)s?|(?:two|three|four|five|six|ten|fifteen|twenty) times)\b"
)


def by_hand(text):
    """Return lines of Markdown prose with a number or a word of comparison that nothing computed."""
    bare = re.sub(r"(?ms)^ *```.*?^ *```|`[^`]*`|\]\([^)]*\)|^ {4,}.*?$|^ *\d+\. ", "", text)
    bare = re.sub(TERMS, "", bare)
    return [line for line in bare.splitlines() if re.search(_BY_HAND, line)]


def run(*args: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Run the command line in this process and return what it did."""
    monkeypatch.setattr(sys, "argv", ["fastcalc", *map(str, args)])
    capsys.readouterr()
    monkeypatch.setattr(
        gc, "freeze", lambda: None
    )  # a command ends its process: here others follow
    with pytest.raises(SystemExit) as stopped:
        main()
    gc.enable()
    text = capsys.readouterr()
    return Ran(int(stopped.value.code or 0), text.out, text.err)


PRESENTATION = ("format", "out", "wide", "notes")
"""Fields of a request that change how its answer is written, and no number of it."""

MOST_KEPT = 40
"""Answers that a process keeps: each holds megabytes of arrays."""

answers: dict[str, Answer] = {}
"""The last answers to requests that name shipped entries alone, of this process."""


def remember(kept: dict[str, Any], key: str, value: Any) -> None:
    """Keep a value, and let go of the oldest of too many."""
    kept[key] = value
    if len(kept) > MOST_KEPT:
        del kept[next(iter(kept))]


def form(command: str, request: Request) -> str:
    """Return what of its format a command looks at before it answers; of most nothing."""
    written = getattr(request, "written_as", "")
    if command == "fastmode":
        return written if written == "markdown" else ""
    if command in ("check", "compare", "show"):
        return written if written in ("table", "markdown") else "records"
    return ""


def answer_once(
    command: str, request: Request, notes: Sequence[str] = (), *, files_are_kept: bool = False
) -> Any:
    """Answer a request, or give the answer again where only its presentation differs.

    Files that a request names may change between two tests, unless they are kept.
    """
    fields = {name: repr(value) for name, value in request.values.items()}
    words = [command, *(f"{name}={fields[name]}" for name in fields if name not in PRESENTATION)]
    key = " ".join([*words, form(command, request)])
    names_files = any(FILE.search(word.strip("'\"")) or "Path(" in word for word in words)
    if notes or (names_files and not files_are_kept):
        return answer_to(command, request, notes)
    if key not in answers:
        answer = answer_to(command, request)
        if not isinstance(answer, Answer) or (command == "fastmode" and answer.code):
            return answer  # a no of fastmode is a page, or a reason
        remember(answers, key, answer)
    return answers[key]


SHIPPED_FOLDERS = frozenset(shipped_folder(entry_type) for entry_type in SCHEMAS)

_listed, _listed_before = names._listed, dict[Path, Any]()


def listed_once(folder: Path) -> Any:
    """List the entries of a folder, those of a shipped one once: no test writes there."""
    if folder not in SHIPPED_FOLDERS:
        return _listed(folder)
    if folder not in _listed_before:
        _listed_before[folder] = _listed(folder)
    return _listed_before[folder]


def is_plain(catalogue: Catalogue) -> bool:
    """Return whether a catalogue is that which is shipped."""
    return not any((*catalogue.user_folders.values(), catalogue.changes, catalogue.limits))


def score_once(evidence: Evidence, catalogue: Catalogue) -> Shipped:
    """Score the shipped evidence, once in a process by the shipped catalogue."""
    is_shipped = evidence is shipped() and is_plain(catalogue)
    return _scored() if is_shipped else validate_shipped(evidence, catalogue)


@cache
def _scored() -> Shipped:
    """Score it, or read the scores that another process of this run has kept."""
    kept = runs / "scores.pickle"
    if not kept.exists():
        keep(kept, pickle.dumps(validate_shipped(shipped(), Catalogue())))
    scored: Shipped = pickle.loads(kept.read_bytes())
    return scored


def keep(file: Path, content: bytes) -> None:
    """Write a file of `runs` whole, whatever other processes write at the same time."""
    part = file.with_suffix(f".{os.getpid()}")
    part.write_bytes(content)
    part.rename(file)


judged: dict[str, Judged] = {}
"""Verdicts on the claims shipped, by their ids, of this process or kept by another."""


def judge_once(
    catalogue: Catalogue, claims: Iterable[Claim], document: Document | None
) -> list[Judged]:
    """Judge claims, those shipped once."""
    is_shipped = document is not None and Path(document.file) == ROOT / "evidence" / "claims.yaml"
    if not (is_shipped and is_plain(catalogue)):
        return judge(catalogue, claims, document)
    claims = list(claims)
    kept = runs / "verdicts.pickle"
    if any(claim.id not in judged for claim in claims) and kept.exists():
        judged.update(pickle.loads(kept.read_bytes()))
    if new := [claim for claim in claims if claim.id not in judged]:
        judged.update((one.claim.id, one) for one in judge(catalogue, new, document))
        keep(kept, pickle.dumps(judged))
    return [judged[claim.id] for claim in claims]


searches: dict[str, SpeedupOptions] = {}
"""Ways to a faster speed, of this process, by where they start from."""


def fastmode_once(
    today: Scenario, speed: float, catalogue: Catalogue, smaller: Any
) -> SpeedupOptions:
    """Search the shipped entries for ways to a speed once, however they are asked for and shown."""
    if not is_plain(catalogue):
        return fastmode(today, speed, catalogue, smaller)
    key = repr((today, speed, smaller))
    if key not in searches:
        remember(searches, key, fastmode(today, speed, catalogue, smaller))
    return searches[key]


def run_once(*args: Any, **fixtures: Any) -> Ran:
    """Run a command, or say again what it did where it names shipped entries alone.

    What one process of a test run did, others read; what it answered, it writes in each format.
    """
    fixtures["monkeypatch"].setattr(lazy_commands, "answer_to", answer_once)
    shown = (os.environ.get(name, "") for name in ("COLUMNS", "FORCE_COLOR"))
    asked = (patched, *shown, *map(str, args))
    if "-o" in asked or any(FILE.search(word) for word in asked):
        return run(*args, **fixtures)
    kept = runs / f"{sha256(repr(asked).encode()).hexdigest()}.json"
    if not kept.exists():
        ran = run(*args, **fixtures)
        keep(kept, json.dumps(asdict(ran)).encode())
    return Ran(**json.loads(kept.read_text()))


def read_or_refusal(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What is read, or the sentence that refuses it as the command line says it."""
    try:
        return function(*given, **named)
    except InputError as error:
        return as_flags(error.args[0])


def every(names: str, cases: Collection[Any]) -> Callable[[Callable[..., None]], Any]:
    """Run a test on many small cases as one test, which names each case that fails.

    As ``pytest.mark.parametrize``, which takes longer over a test than such a case does.
    """
    assert cases

    def of(test: Callable[..., None]) -> Any:
        @wraps(test)
        def on_every(**fixtures: Any) -> None:
            failed = []
            for case in cases:
                values = case if "," in names else (case,)
                try:
                    test(**dict(zip(names.split(","), values, strict=True)), **fixtures)
                except Exception as error:  # kept, so that later cases run; all are raised below
                    error.add_note(f"The case: {case!r}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)

        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in names.split(",")]
        made: Any = on_every
        made.__signature__ = signature.replace(parameters=others)  # pytest fills in fixtures by it
        return made

    return of


SLOW_COMMANDS = ("plan", "fastmode", "frontier", "infer", "sensitivity")
"""Commands that search: an answer of most takes seconds."""


def is_slow(command: str, *others: object) -> bool:
    """Return whether a command that the documentation shows takes seconds."""
    return command.split()[1] in SLOW_COMMANDS and "--emit" not in command


thorough = partial(pytest.param, marks=pytest.mark.thorough)
"""A case of a test that is left to a thorough run."""


def sweep(cases: Iterable[Any], is_slow: Callable[..., bool], ids: Iterable[str] = ()) -> list[Any]:
    """Return cases of a test, of which the slow ones are left to a thorough run."""
    marked = []
    for case, name in zip_longest(cases, ids):
        values = case if isinstance(case, tuple) else (case,)
        marked.append((thorough if is_slow(*values) else pytest.param)(*values, id=name))
    return marked


def loaded(text: str) -> Any:
    """Return what YAML holds, read by libyaml where there is one: ten times as fast."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return the nodes of a file of Python."""
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


def words(text: str) -> str:
    """Return text with runs of white space made one blank, so that wrapping does not matter."""
    return re.sub(r"\s+", " ", text)


def contrast(one, other):
    """Contrast of two colours, from 1 to 21: W3C, Web Content Accessibility Guidelines 2.2."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
