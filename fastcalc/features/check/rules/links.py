"""HW04x: links between chips, one direction of one chip."""

import re

from fastcalc.features.check.document import Sheet
from fastcalc.features.check.rule import Findings, RuleContext, rule
from fastcalc.features.check.silicon import (
    GB,
    band,
    by_year,
    core_of,
    fastest_link,
    main_tier,
    row,
    tables,
)
from fastcalc.features.check.words import amount, near, ratio


@rule("HW041")
def one_direction(sheet: Sheet, _: RuleContext) -> Findings:
    """A link faster than its architecture allows in one direction."""
    link, limit = sheet.numbers.get("links.scale_up.bandwidth"), fastest_link(sheet)
    if not link or not limit or link.si <= 1.06 * limit * GB:
        return
    times = link.si / (limit * GB)
    guess = (
        "is it the sum of both directions?"
        if near(times, 2, 0.1)
        else "is it in bits, or for a whole node?"
    )
    has = f"{link.text} is {ratio(times)} times the {limit:g} GB/s that this architecture has"
    yield link, f"{has} per chip and direction; {guess}"


@rule("HW042")
def link_against_memory(sheet: Sheet, _: RuleContext) -> Findings:
    """A link nearly as fast as the memory."""
    tier = main_tier(sheet)
    if not tier or not tier.bandwidth or not tier.bandwidth.si or tier.family == "sram":
        return
    for name in ("scale_up", "scale_out"):
        link = sheet.numbers.get(f"links.{name}.bandwidth")
        fraction = link.si / tier.bandwidth.si if link else 0.0
        low, high = band("link_share", name)
        if link and not low <= fraction <= high:
            has = (
                f"{link.text} is {fraction:.2g} times the memory bandwidth ({tier.bandwidth.text})"
            )
            known = f"on known chips this ratio is {low} to {high}"
            yield link, f"{has}; {known}; is it per chip and direction, and in bytes?"


@rule("HW043")
def fast_is_faster(sheet: Sheet, _: RuleContext) -> Findings:
    """The slow link is faster than the fast one."""
    fast = sheet.numbers.get("links.scale_up.bandwidth")
    slow = sheet.numbers.get("links.scale_out.bandwidth")
    if fast and slow and slow.si > fast.si:
        words = f"{slow.text} beyond the domain exceeds {fast.text} inside it"
        yield slow, f"{words}; are they swapped, or in bits?"


@rule("HW044")
def adapters_of_the_year(sheet: Sheet, _: RuleContext) -> Findings:
    """A network faster than the adapters of its year."""
    link, core = sheet.numbers.get("links.scale_out.bandwidth"), core_of(sheet)
    if not link or sheet.at("links", "scale_out", "kind") == "pcie":  # the bus of the host
        return
    of_kind = f"adapters_{sheet.word('kind')}"
    limit = by_year(of_kind if of_kind in tables() else "adapters", sheet.year) / 8
    limit = core.adapter if core and core.adapter else limit
    if link.si <= 1.05 * limit * GB:
        return
    bits = re.sub(r"B/s", "b/s", link.text)
    hint = f"; '{bits}' (bits) would be" if bits != link.text else "; one direction of one chip is"
    has = f"{link.text} exceeds the {8 * limit:,.0f} Gb/s that adapters of such chips have"
    right = link.si / (8 if bits != link.text else 2)
    yield link, f"{has}{hint} {amount(right, 'bandwidth')}"


@rule("HW045")
def domain_is_plausible(sheet: Sheet, _: RuleContext) -> Findings:
    """A link domain of an unusual size."""
    domain = sheet.numbers.get("links.scale_up.domain")
    if not domain:
        return
    limit, value = row("domains", sheet.word("kind"))["most"], domain.si
    if value > limit:
        yield domain, f"{domain.text} chips are more than any domain of such chips has ({limit:,})"
    elif value > 8 and value % 4 and value % 6:
        yield (
            domain,
            f"{domain.text} chips is a domain that no machine has; usual sizes are 2, 4, 8, 16, 72",
        )


@rule("HW046")
def latency_is_plausible(sheet: Sheet, _: RuleContext) -> Findings:
    """A latency outside the range for links."""
    for name in ("scale_up", "scale_out"):
        latency = sheet.numbers.get(f"links.{name}.latency")
        if latency and not 0.1e-6 <= latency.si <= 60e-6:
            yield latency, f"{latency.text} is outside 0.1 to 60 us, which links between chips have"


_WHOLE = r"superchip|\bnode\b|server|rack|\bpod\b|(?:two|four|eight|[2-9]|\d\d+) (?:gpus|chips)"


@rule("HW047")
def one_chip(sheet: Sheet, _: RuleContext) -> Findings:
    """An entry for more than one chip."""
    scope = sheet.word("scope") if sheet.word("kind") != "soc" else ""
    match = re.search(_WHOLE, scope)
    if match and not re.match(r"(?:one|a|1|per|single) (?:gpu|chip|die|wafer|card|socket)", scope):
        yield ("scope",), f"scope '{scope}' is more than one chip; write the numbers of one"
