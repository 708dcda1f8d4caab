"""Flags to scenarios: every text checked once, every file loaded once."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from fastcalc.catalogue import Catalogue, Hardware, Model
from fastcalc.cli import options, output
from fastcalc.errors import InputError
from fastcalc.evaluate import Traffic
from fastcalc.scenario import PriceBasis, Pricing, Scenario, Sharding, engine_for

DEFAULT_MODELS = ("llama-3.1-70b",)


@dataclass(frozen=True)
class Request:
    """What a person typed."""

    models: list[str] | None
    on: str
    batch: str
    prompt: int
    output: int
    context: int | None
    weights: str | None
    kv: str | None
    engine: str | None
    chips: int | None
    tp: int | None
    pp: int | None
    ep: int | None
    dp: int | None
    hardware_dir: list[Path] | None
    models_dir: list[Path] | None
    engines_dir: list[Path] | None
    prefix_hit: float = 0.0
    price: list[str] | None = None
    price_basis: str = "cloud"
    utilization: float = 1.0

    def scenarios(self) -> list[Scenario]:
        """Return one scenario for each model on each chip, in the order typed.

        Raises
        ------
        InputError
            At the first flag, name or file that is wrong.
        """
        batches, traffic, sharding = options.batches(self.batch), self._traffic(), self._sharding()
        entries = catalogue(self.hardware_dir, self.models_dir, self.engines_dir)
        names = [*(self.models or DEFAULT_MODELS)]
        models = [_model(entries, name) for name in names]
        places = options.names(self.on, "--on")
        chips = [entries.hardware(name) for name in places]
        pricing = self._pricing(chips)
        named = entries.engine(self.engine) if self.engine is not None else None
        engines = [(named, False) if named else engine_for(entries, chip) for chip in chips]
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
                pricing=pricing,
                engine_is_borrowed=is_borrowed,
                typed=(name, place),
            )
            for name, model in zip(names, models, strict=True)
            for place, chip, (engine, is_borrowed) in zip(places, chips, engines, strict=True)
        ]

    def _traffic(self) -> Traffic:
        prompt = options.at_least_one(self.prompt, "--prompt")
        output = options.at_least_one(self.output, "--output")
        context = prompt + output / 2
        if self.context is not None:
            context = options.at_least_one(self.context, "--context")
        hit = options.share(self.prefix_hit, "--prefix-hit", zero=True)
        return Traffic(float(prompt), float(output), float(context), hit)

    def _sharding(self) -> Sharding:
        return Sharding(
            **{
                name: options.ranks(getattr(self, name), f"--{name}")
                for name in ("chips", "tp", "pp", "ep", "dp")
            }
        )

    def _pricing(self, chips: list[Hardware]) -> Pricing:
        basis = options.choice(self.price_basis, "--price-basis", ("cloud", "tco"))
        share = options.share(self.utilization, "--utilization")
        given: dict[str, float] = {}
        for text in self.price or ():
            name, value = options.price(text)
            found = [chip.id for chip in chips if name in (chip.id, *chip.aliases)]
            if not found:
                known = ", ".join(chip.id for chip in chips)
                raise InputError(
                    f"--price names '{name}', which is not compared here; --on has {known}"
                )
            given[found[0]] = value
        return Pricing(cast(PriceBasis, basis), share, given)


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
