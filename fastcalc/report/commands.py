"""The command that prints a point again, flag by flag."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic import Speculation, Traffic


@dataclass(frozen=True)
class Typed:
    """What a command must repeat to be understood again.

    Attributes
    ----------
    names : mapping of str to str
        What the user typed for a model, a chip or an engine, by its id. Other models and chips go
        by their ids; other engines are those that a chip is given anyway.
    folders : sequence of str
        Words that name the user's own folders.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    folders: Sequence[str] = ()


def compare_command(scenario: Scenario, typed: Typed) -> str:
    """Return the ``fastcalc compare`` that prints a scenario.

    Parameters
    ----------
    scenario : Scenario
        Its traffic one kind of request, its sharding with all ranks.
    typed : Typed
        What must be repeated as it was typed.
    """
    names = typed.names
    model, chip, engine = scenario.model.id, scenario.hardware.id, scenario.engine.id
    words = ["fastcalc", "compare", names.get(model, model), "--on", names.get(chip, chip)]
    is_named = engine in names and not scenario.engine_is_borrowed
    words += ["--engine", names[engine]] if is_named else []
    words += _traffic_words(scenario.traffic)
    words += ["--batch", ",".join(map(str, scenario.batches))]
    for flag, value in (("--weights", scenario.weights), ("--kv", scenario.kv)):
        words += [flag, value] if value else []
    words += _speculate_words(scenario.traffic.speculation)
    ranks = ("pp",) if scenario.hardware.execution == "spatial" else ("tp", "pp", "ep", "dp")
    for name in ranks:
        words += [f"--{name}", str(getattr(scenario.sharding, name))]
    return shlex.join([*words, *_price_words(scenario), *typed.folders])


def _traffic_words(traffic: Traffic) -> list[str]:
    """Return the flags of one kind of request; a mean context that follows from it is left out."""
    prompt, output, context = (
        float(one) for one in (traffic.prompt, traffic.output, traffic.context)
    )
    words = ["--prompt", f"{prompt:.0f}", "--output", f"{output:.0f}"]
    words += ["--context", f"{context:.0f}"] if context != prompt + output / 2 else []
    hit = float(traffic.prefix_hit)
    return [*words, "--prefix-hit", repr(hit)] if hit else words


def _speculate_words(speculation: Speculation) -> list[str]:
    """Return the flag that drafts ahead in the same way, as an acceptance where that is short."""
    if not speculation.drafted:
        return []
    share, drafted = speculation.short_acceptance, f"{speculation.drafted:.0f}"
    if share is not None:
        return ["--speculate", f"{share:g}x{drafted}"]
    return ["--speculate", f"{speculation.tokens_per_pass!r}/{drafted}"]


def _price_words(scenario: Scenario) -> list[str]:
    """Return the flags that price the chip in the same way."""
    pricing, chip = scenario.pricing, scenario.hardware.id
    words = ["--price-basis", pricing.basis] if pricing.basis != "cloud" else []
    words += ["--utilization", repr(pricing.utilization)] if pricing.utilization != 1.0 else []
    words += ["--price", f"{chip}={pricing.given[chip]!r}"] if chip in pricing.given else []
    return words
