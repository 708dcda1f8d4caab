"""The command that prints a point again, flag by flag."""

import shlex
from collections.abc import Mapping, Sequence

from fastcalc.scenario import Outcome, Scenario


def compare_command(outcome: Outcome, *, typed: Mapping[str, str], flags: Sequence[str]) -> str:
    """Return the ``fastcalc compare`` that prints an outcome.

    Parameters
    ----------
    outcome : Outcome
        A scenario solved on a layout.
    typed : mapping of str to str
        What a person typed for an entry, by its id; entries without one go by their id.
    flags : sequence of str
        Words that hold for every command, such as prices and folders.
    """
    scenario, layout = outcome.scenario, outcome.placement.layout
    traffic = scenario.traffic
    model, chip = scenario.model.id, scenario.hardware.id
    words = ["fastcalc", "compare", typed.get(model, model), "--on", typed.get(chip, chip)]
    words += ["--batch", ",".join(map(str, scenario.batches)), "--pp", str(layout.pp)]
    if scenario.hardware.execution != "spatial":
        for name in ("tp", "ep", "dp"):
            words += [f"--{name}", str(getattr(layout, name))]
    for name in ("prompt", "output", "context"):
        words += [f"--{name}", f"{float(getattr(traffic, name)):.0f}"]
    if traffic.prefix_hit:
        words += ["--prefix-hit", f"{float(traffic.prefix_hit)!r}"]
    words += speculate_words(scenario)
    for flag, value in (("--weights", scenario.weights), ("--kv", scenario.kv)):
        words += [flag, value] if value else []
    return shlex.join([*words, *flags])


def speculate_words(scenario: Scenario) -> list[str]:
    """Return the flag that drafts ahead in the same way, as an acceptance where that is short.

    Parameters
    ----------
    scenario : Scenario
        With one number of tokens a pass.
    """
    speculation = scenario.traffic.speculation
    if not speculation.drafted:
        return []
    share, drafted = speculation.short_acceptance, f"{speculation.drafted:.0f}"
    if share is not None:
        return ["--speculate", f"{share:g}x{drafted}"]
    return ["--speculate", f"{speculation.tokens_per_pass!r}/{drafted}"]
