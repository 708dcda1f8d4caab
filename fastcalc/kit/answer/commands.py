"""Build the command that reproduces a point, flag by flag."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastcalc.core.chip.machine_class import engine_of_class
from fastcalc.core.pricing import USD_PER_KWH, YEARS
from fastcalc.core.scenario import Scenario
from fastcalc.mentions import command
from fastcalc.quoting import shell_line

OF_A_POINT = (
    *("on", "engine", "prompt", "output", "context", "prefix_hit", "batch", "weights", "kv"),
    *("speculate", "chips", "tp", "pp", "ep", "dp"),
    *("price_basis", "offer", "years", "electricity", "utilization", "price", "set"),
)
"""Request fields that may differ between the points of a search."""


@dataclass(frozen=True)
class Typed:
    """Stores what a command repeats as typed: names by id, and the flags of all other settings."""

    names: Mapping[str, str] = field(default_factory=dict)
    words: Sequence[str] = ()


def compare_command(scenario: Scenario, as_given: Typed) -> str:
    """Build the ``fastcalc compare`` command for a scenario with one request class."""
    names, traffic, pricing = as_given.names, scenario.traffic, scenario.pricing
    model, chip, engine = scenario.model.id, scenario.hardware.id, scenario.engine.id
    words = ["fastcalc", "compare", names.get(model, model), "--on", names.get(chip, chip)]
    is_usual = engine not in names and engine == engine_of_class(scenario.hardware)[0]
    is_left_out = scenario.engine_is_borrowed or is_usual
    words += [] if is_left_out else ["--engine", names.get(engine, engine)]
    prompt, output, context, hit = (
        float(length)
        for length in (traffic.prompt, traffic.output, traffic.context, traffic.prefix_hit)
    )
    words += ["--prompt", f"{prompt:.0f}", "--output", f"{output:.0f}"]
    words += ["--context", f"{context:.0f}"] if context != prompt + output / 2 else []
    words += ["--prefix-hit", repr(hit)] if hit else []
    words += ["--batch", ",".join(map(str, scenario.batches))]
    for flag, value in (("--weights", scenario.weights), ("--kv", scenario.kv)):
        words += [flag, value] if value else []
    drafts = traffic.speculation
    if drafts.drafted:
        share, drafted = drafts.acceptance_as_typed, f"{drafts.drafted:.0f}"
        acceptance = f"{drafts.tokens_per_pass!r}/{drafted}"
        words += ["--speculate", acceptance if share is None else f"{share:g}x{drafted}"]
    ranks = ("pp",) if scenario.hardware.execution == "spatial" else ("tp", "pp", "ep", "dp")
    for name in ranks:
        words += [f"--{name}", str(getattr(scenario.sharding, name))]
    words += ["--price-basis", pricing.basis] if pricing.basis != "cloud" else []
    words += ["--offer", pricing.offer] if pricing.offer else []
    if pricing.basis == "tco":
        words += ["--years", f"{pricing.years!r}"] if pricing.years != YEARS else []
        is_usual = pricing.usd_per_kwh == USD_PER_KWH
        words += [] if is_usual else ["--electricity", f"{pricing.usd_per_kwh!r}"]
    words += ["--utilization", repr(pricing.utilization)] if pricing.utilization != 1.0 else []
    words += (
        ["--price", f"{chip}={pricing.user_prices[chip]!r}"] if chip in pricing.user_prices else []
    )
    entries = (scenario.hardware, scenario.memory.host, scenario.model, scenario.engine)
    for written in dict.fromkeys(change for entry in entries if entry for change in entry.what_if):
        words += ["--set", written]
    return command(shell_line([*words, *as_given.words]))
