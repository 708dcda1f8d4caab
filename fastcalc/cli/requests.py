"""Flags to scenarios: every text checked once, every file loaded once."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.cli import options, output
from fastcalc.cli.number_lists import numbers
from fastcalc.cli.speculate import speculation
from fastcalc.core.scenario import Outcome, PriceBasis, Pricing, Scenario, Sharding, engine_for
from fastcalc.core.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.written import shown

MOST_POINTS = 30_000
"""Records that are in memory together, some 11 kB each, and take 0.1 ms each to write. [1]"""

DEFAULT_MODELS = ("llama-3.1-70b",)


@dataclass(frozen=True)
class Request:
    """What a person typed."""

    models: list[str] | None
    on: str
    prompt: int
    output: int
    context: int | None
    weights: str | None
    kv: str | None
    engine: str | None
    hardware_dir: list[Path] | None
    models_dir: list[Path] | None
    engines_dir: list[Path] | None
    batch: str = "1"
    chips: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None
    prefix_hit: float = 0.0
    speculate: str | None = None
    price: list[str] | None = None
    price_basis: str = "cloud"
    utilization: float = 1.0

    @classmethod
    def of(cls, flags: dict[str, Any]) -> "Request":
        """Return the request among the arguments of a command; the others are its own affair."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in flags.items() if name in known})

    def scenarios(self) -> list[Scenario]:
        """Return one scenario for each model on each chip, in the order typed.

        Raises
        ------
        InputError
            At the first flag, name or file that is wrong.
        """
        batches = numbers(self.batch, "--batch", LIMITS["sequences"])
        traffic = self._traffic()
        entries = self.catalogue()
        models, chips = models_of(entries, self.models), chips_of(entries, self.on)
        points = len(models) * len(chips) * len(batches)
        if points > MOST_POINTS:
            raise InputError(
                f"{points:,} points (models x chips x batches) are more than {MOST_POINTS:,}; name "
                "fewer, or write them with 'fastcalc sweep', which keeps few of them in memory"
            )
        pricing = pricing_of(
            chips, self.price, basis=self.price_basis, utilization=self.utilization
        )
        engines = engines_of(entries, chips, self.engine)
        shardings = self._shardings(chips)
        return [
            Scenario(
                hardware=chip,
                model=model,
                engine=engine,
                batches=batches,
                traffic=traffic,
                weights=self.weights,
                kv=self.kv,
                sharding=sharding,
                ignores_ranks=sharding.ranks_of_layers != self._sharding().ranks_of_layers,
                pricing=pricing,
                engine_is_borrowed=is_borrowed,
            )
            for model in models
            for chip, (engine, is_borrowed), sharding in zip(chips, engines, shardings, strict=True)
        ]

    def catalogue(self) -> Catalogue:
        """Return the catalogue with this request's own folders before the shipped ones."""
        return catalogue(self.hardware_dir, self.models_dir, self.engines_dir)

    def prices(self, entries: Catalogue) -> dict[str, float]:
        """Return a person's own prices by id, of any chip that the catalogue knows. [USD/h]"""
        given = (options.price(text) for text in self.price or ())
        return {entries.hardware(name).id: value for name, value in given}

    def command(self, outcome: Outcome, today: Outcome) -> str:
        """Return the command that prints a point again; entries go by the names typed."""
        from fastcalc.report.commands import Typed, compare_command

        scenario, layout = today.scenario, outcome.placement.layout
        names = {scenario.model.id: (self.models or list(DEFAULT_MODELS))[0]}
        names[scenario.hardware.id] = options.names(self.on, "--on")[0]
        names |= {scenario.engine.id: self.engine} if self.engine else {}
        sharding = Sharding(None, layout.tp, layout.pp, layout.ep, layout.dp)
        placed = replace(outcome.scenario, sharding=sharding)
        return compare_command(placed, Typed(names, self._folders()))

    def _folders(self) -> list[str]:
        """Return the words that name a person's own folders."""
        return folders(self.hardware_dir, self.models_dir, self.engines_dir)

    def _traffic(self) -> Traffic:
        context = self.prompt + self.output / 2 if self.context is None else self.context
        hit = options.share(self.prefix_hit, "--prefix-hit", zero=True)
        drafting = speculation(self.speculate)
        return Traffic(float(self.prompt), float(self.output), float(context), hit, drafting)

    def _sharding(self) -> Sharding:
        return Sharding(
            **{
                name: options.ranks(getattr(self, name), f"--{name}")
                for name in ("chips", "tp", "pp", "ep", "dp")
            }
        )

    def _shardings(self, chips: list[Hardware]) -> list[Sharding]:
        """Return what is asked of each chip: ranks of a layer go to chips that cut layers.

        Where no chip cuts layers, the ranks stay, and the placement says why they cannot be.
        """
        asked = self._sharding()
        if all(chip.execution == "spatial" for chip in chips):
            return [asked] * len(chips)
        whole_layers = Sharding(chips=asked.chips, pp=asked.pp)
        return [whole_layers if chip.execution == "spatial" else asked for chip in chips]

    def again(self, command: str) -> str:
        """Return a command that asks about the first model and chip of this request."""
        words = ["fastcalc", command, (self.models or list(DEFAULT_MODELS))[0]]
        words += ["--on", options.names(self.on, "--on")[0]]
        named = (
            ("--weights", self.weights),
            ("--kv", self.kv),
            ("--speculate", self.speculate),
        )
        for flag, value in named:
            words += [flag, value] if value else []
        words += self._folders()
        return shlex.join(words)


def models_of(entries: Catalogue, names: list[str] | None) -> list[Model]:
    """Return the models that a person names, or the one taken where none is named."""
    return _each_once(_model(entries, name) for name in names or DEFAULT_MODELS)


def chips_of(entries: Catalogue, on: str) -> list[Hardware]:
    """Return the chips that a person names; ``all`` for the whole catalogue."""
    names = entries.names("hardware") if is_all(on) else options.names(on, "--on")
    return _each_once(entries.hardware(name) for name in names)


def is_all(on: str) -> bool:
    """Return whether every chip is meant.

    Raises
    ------
    InputError
        If chips are named beside ``all``.
    """
    names = options.names(on, "--on")
    has_all = "all" in [name.lower() for name in names]
    if has_all and len(names) > 1:
        raise InputError(
            f"--on {shown(on)}: 'all' is the whole catalogue and stands alone; write --on all, or "
            "name the chips without it"
        )
    return has_all


def engines_of(
    entries: Catalogue, chips: list[Hardware], name: str | None
) -> list[tuple[Engine, bool]]:
    """Return the engine of each chip and whether it is borrowed; each file is read once."""
    if name is not None:
        return [(entries.engine(name), False)] * len(chips)
    found: dict[tuple[str, str, str], tuple[Engine, bool]] = {}
    for chip in chips:
        if _class(chip) not in found:
            found[_class(chip)] = engine_for(entries, chip)
    return [found[_class(chip)] for chip in chips]


def _class(chip: Hardware) -> tuple[str, str, str]:
    """Return what the engine taken by default hangs on."""
    return chip.kind, chip.execution, chip.market


def pricing_of(
    chips: list[Hardware], prices: list[str] | None, *, basis: str, utilization: float
) -> Pricing:
    """Return how an hour of each chip is priced."""
    basis = options.choice(basis, "--price-basis", ("cloud", "tco"))
    share = options.share(utilization, "--utilization")
    given: dict[str, float] = {}
    for text in prices or ():
        name, value = options.price(text)
        found = [chip.id for chip in chips if name in (chip.id, *chip.aliases)]
        if not found:
            known = ", ".join(chip.id for chip in chips)
            raise InputError(
                f"--price names '{shown(name)}', which is not compared here; --on has {known}"
            )
        given[found[0]] = value
    return Pricing(cast(PriceBasis, basis), share, given)


_Entry = TypeVar("_Entry", Hardware, Model)


def _each_once(entries: Iterable[_Entry]) -> list[_Entry]:
    """Return entries in order, an alias beside its own name left out."""
    kept: list[_Entry] = []
    for entry in entries:
        if entry not in kept:
            kept.append(entry)
    return kept


def _model(entries: Catalogue, name: str) -> Model:
    """Return a model; how a configuration was read is said on standard error."""
    model = entries.model(name)
    if entries.is_configuration(name):
        output.warn([f"{model.id}: {note}" for note in model.notes])
    return model


def catalogue(
    hardware: list[Path] | None, models: list[Path] | None, engines: list[Path] | None
) -> Catalogue:
    """Return the catalogue with a person's own folders before the shipped ones."""
    return Catalogue(
        {
            "hardware": tuple(hardware or ()),
            "models": tuple(models or ()),
            "engines": tuple(engines or ()),
        }
    )


def folders(
    hardware: list[Path] | None, models: list[Path] | None, engines: list[Path] | None
) -> list[str]:
    """Return the words that name a person's own folders."""
    named = (("--hardware-dir", hardware), ("--models-dir", models), ("--engines-dir", engines))
    return [word for flag, paths in named for path in paths or () for word in (flag, str(path))]
