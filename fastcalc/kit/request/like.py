"""``--like``: correct predictions with measurements of the user's server."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.schema.own_rows import OwnDeployment
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.own_rows import measured_on
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.errors import InputError
from fastcalc.importers.setup import LAYOUT
from fastcalc.kit.request import readers
from fastcalc.kit.request.fields import Request
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import flag, option
from fastcalc.quoting import shell_line, shell_word

if TYPE_CHECKING:
    from fastcalc.evidence.own_rows import OwnRows
    from fastcalc.evidence.points import Points

_NAMED = 4
"""Maximum number of chips without measurements that are named. The rest are only counted."""


@dataclass(frozen=True)
class Like:
    """The rows of a measurements file for each requested engine, by engine id.

    refusals : Why an engine has no rows.
    """

    file: Path
    by_engine: "dict[str, OwnRows]"
    refusals: tuple[InputError, ...]

    def engine(self, engine: Engine) -> Engine:
        """Add the deployments measured with an engine to that engine."""
        rows = self.by_engine.get(engine.id)
        return rows.engine if rows else engine

    def applied(self, scenarios: Sequence[Scenario], notes: list[str]) -> list[Scenario]:
        """Correct scenarios with these rows, adding notes on what the rows do not cover."""
        compared = [
            self.scenario(replace(scenario, engine=self.engine(scenario.engine)))
            for scenario in scenarios
        ]
        notes += self.notes(compared)
        return compared

    def scenario(self, scenario: Scenario) -> Scenario:
        """Use the only measured layout for a scenario, unless the request sets a layout."""
        deployments = _of(scenario)
        if len(deployments) != 1 or scenario.sharding != Sharding():
            return scenario
        ranks = {name: getattr(deployments[0], name) for name in LAYOUT}
        if scenario.hardware.execution == "spatial":
            ranks = {"pp": ranks["chips"]}
        return replace(scenario, sharding=Sharding(**ranks))

    def notes(self, scenarios: Iterable[Scenario]) -> list[str]:
        """Return notes on ignored rows, and on chips predicted without any measurements."""
        compared = list(scenarios)
        applied = {id(item): item for scenario in compared for item in _of(scenario)}
        if not applied:
            raise InputError(self._refusal(compared))
        notes: list[str] = []
        for rows in self.by_engine.values():
            counts = rows.left_aside | {
                _differs(item, compared): len(item.rows)
                for item in rows.engine.own_deployments
                if id(item) not in applied
            }
            for reason, count in counts.items():
                noun = "rows are" if count > 1 else "row is"
                notes.append(f"{self.file.name}: {count} {noun} skipped: {reason}")
            for name, count in rows.inherited.items():
                noun = "rows were" if count > 1 else "row was"
                notes.append(
                    f"{self.file.name}: {count} {noun} measured with {name}, which "
                    f"{rows.engine.id} extends, so they may deviate from {rows.engine.id}"
                )
        chips = {item.hardware for item in applied.values()}
        unmeasured = {scenario.hardware.id for scenario in compared} - chips
        if unmeasured:
            is_short = len(unmeasured) <= _NAMED
            names = ", ".join(sorted(unmeasured)) if is_short else f"{len(unmeasured)} chips"
            why = f"{self.file.name} has no measurement of these, so they are unchanged"
            notes.append(f"{names}: {why}")
        return list(dict.fromkeys(notes))

    def _refusal(self, compared: Sequence[Scenario]) -> str:
        measured = [
            item for rows in self.by_engine.values() for item in rows.engine.own_deployments
        ]
        if not measured:
            return str(self.refusals[0])
        return f"{option('like')} {self.file}: no measurement matches the request: " + "; ".join(
            dict.fromkeys(_differs(item, compared) for item in measured)
        )


def like(
    request: Request, path: Path, entries: Catalogue, engines: Iterable[tuple[Engine, bool]]
) -> Like:
    """Read the rows of a file for the engines of a request, each with whether it is borrowed."""
    from fastcalc.evidence.own_rows import own_rows  # most commands read no rows

    measured = _measured(request, path, entries)
    by_engine: dict[str, OwnRows] = {}
    refusals: list[InputError] = []
    for engine in {engine.id: engine for engine, _ in engines}.values():
        try:
            by_engine[engine.id] = own_rows(measured, entries, engine, path, any_engine=False)
        except InputError as error:
            refusals.append(error)
    return Like(path, by_engine, tuple(refusals))


def _measured(request: Request, path: Path, entries: Catalogue) -> "Points":
    """Read a file of rows. The request supplies settings that other tools' results omit."""
    from fastcalc.importers.any_file import is_foreign, read

    measured = read(path, catalogue=entries)
    if path.is_dir() or (measured.faults and is_foreign(path)):
        names = ("weights", "kv", *LAYOUT)
        texts = {name: as_text(request.values.get(name) or "") for name in names}
        chips = readers.names(request.values.get("on", ""), option("on"))
        models = request.values.get("models") or [request.values.get("model", "")]
        models = [] if path.is_dir() else models  # the files of a folder may be for several models
        for name, entry_names in (("hardware", chips), ("model", models)):
            texts[name] = as_text(entry_names[0]) if len(entry_names) == 1 else ""
        measured = read(path, catalogue=entries, options=texts, fills_gaps=True)
        if measured.faults:
            raise InputError(*(_for(request, text, path) for text in measured.sentences()))
    measured.demand()
    return measured


def _for(request: Request, sentence: str, path: Path) -> str:
    """Rewrite the message on a missing setting of a file in terms of the request."""
    words = {option("hardware"): option("on"), option("model"): "MODEL"}
    for word, replacement in words.items():
        sentence = sentence.replace(word, replacement)
    return sentence if "chips" in request.values else without_ranks(sentence, path)


def without_ranks(sentence: str, path: Path) -> str:
    """Rewrite the message on a missing layout, advising to keep the rows in an engine file."""
    calibrating = shell_line(["fastcalc", "calibrate", str(path), flag("hardware"), "CHIP"])
    calibrating += f" {flag('tp')} N {flag('out')}"
    return sentence.replace(
        f"give {option('chips')} or {option('tp')}",
        f"keep it in an engine, {calibrating} our-engine.yaml, and give "
        f"{option('engine', 'our-engine.yaml')} in place of {option('like')}",
    )


def _of(scenario: Scenario) -> list[OwnDeployment]:
    return measured_on(scenario.engine, scenario.hardware.id, scenario.work)


def _differs(measured: OwnDeployment, compared: Sequence[Scenario]) -> str:
    """Say how a measured deployment differs from the requested ones."""
    chips = {scenario.hardware.id for scenario in compared}
    if measured.hardware not in chips:
        return f"of another chip ({measured.hardware})"
    if measured.model not in {scenario.model.id for scenario in compared}:
        return f"of another model ({measured.model})"
    weights = {scenario.work.weight_format for scenario in compared}
    if measured.weights not in weights:
        return (
            f"of {measured.weights} weights: add {option('weights', shell_word(measured.weights))}"
        )
    return f"of a {measured.kv} cache: add {option('kv', shell_word(measured.kv))}"
