"""HW04x: links between chips, one direction of one chip."""

import re
from collections.abc import Iterator

from fastcalc.catalogue.faults import Fault
from fastcalc.lint.document import Sheet
from fastcalc.lint.rule import HARDWARE, Setting, rule
from fastcalc.lint.silicon import GB, by_year, core_of, fastest_link, main_tier
from fastcalc.lint.words import amount, near, ratio


@rule(
    "HW041",
    "warning",
    "a link faster than its architecture has in one direction",
    kinds=HARDWARE,
    why="Vendors print the sum of both directions; a collective sees one.",
    seen="900 GB/s for an H100: 450 each way. H800 entries copied from it: 200.",
    mend="Write half of the printed figure, and a 'reading' that says so.",
)
def one_direction(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the fast link with the fastest of the architecture."""
    link, most = sheet.numbers.get("links.scale_up.bandwidth"), fastest_link(sheet)
    if not link or not most or link.si <= 1.06 * most * GB:
        return
    times = link.si / (most * GB)
    guess = "both directions together?" if near(times, 2, 0.1) else "bits, or a whole node's?"
    message = (
        f"{link.text} is {ratio(times)} times what this architecture has in one direction of one "
        f"chip, {most:g} GB/s: {guess}"
    )
    yield sheet.fault("HW041", link, message)


@rule(
    "HW042",
    "warning",
    "a link nearly as fast as the memory",
    kinds=HARDWARE,
    why="No chip sends what it reads: links have a thirtieth to a quarter of the memory's rate.",
    seen="A rack's 130 TB/s of NVLink as one GPU's.",
    mend="Write one chip's, one direction.",
)
def link_against_memory(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare links with the memory's bandwidth."""
    tier = main_tier(sheet)
    if not tier or not tier.bandwidth or not tier.bandwidth.si or tier.family == "sram":
        return
    for name in ("scale_up", "scale_out"):
        link = sheet.numbers.get(f"links.{name}.bandwidth")
        share = link.si / tier.bandwidth.si if link else 0.0
        most = 0.26 if name == "scale_up" else 0.13
        least = 0.004 if name == "scale_up" else 0.0005
        if link and not least <= share <= most:
            message = (
                f"{link.text} is {share:.2g} of the memory's {tier.bandwidth.text}; chips have "
                f"{least} to {most}: one direction, one chip, bits or bytes?"
            )
            yield sheet.fault("HW042", link, message)


@rule(
    "HW043",
    "warning",
    "the slow link is faster than the fast one",
    kinds=HARDWARE,
    why="scale_up is inside the domain, scale_out beyond it.",
    seen="400 GB/s of network beside 450 of NVLink: 400 Gb/s, an eighth.",
    mend="Swap them, or write Gb/s.",
)
def fast_is_faster(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the two links."""
    fast = sheet.numbers.get("links.scale_up.bandwidth")
    slow = sheet.numbers.get("links.scale_out.bandwidth")
    if fast and slow and slow.si > fast.si:
        message = f"{slow.text} beyond the domain exceeds {fast.text} inside it: swapped, or bits?"
        yield sheet.fault("HW043", slow, message)


# Gb/s of the fastest adapter of one chip, by year.
_ADAPTERS = ((2021, 200), (2024, 400), (2025, 800), (2100, 1600))


@rule(
    "HW044",
    "warning",
    "a network faster than adapters of its year",
    kinds=HARDWARE,
    why="Adapters are sold in Gb/s: written as GB/s a network is eight times too fast.",
    seen="'inter_node_bandwidth: 400 GB/s' in one planner where another has 50; wafer I/O of "
    "1.2 TB/s where the sheet prints 1.2 Tb/s.",
    mend="Write '400 Gb/s'.",
)
def adapters_of_the_year(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the slow link with the adapters of its time."""
    link, core = sheet.numbers.get("links.scale_out.bandwidth"), core_of(sheet)
    if not link:
        return
    most = by_year(_ADAPTERS, sheet.year) / 8
    kinds = {"wafer": 300.0, "tpu": 12.5, "npu": by_year(((2023, 40.0), (2100, 80.0)), sheet.year)}
    most = kinds.get(sheet.word("kind"), most)
    most = core.adapter if core and core.adapter else most
    if link.si <= 1.05 * most * GB:
        return
    bits = re.sub(r"B/s", "b/s", link.text)
    hint = f"; '{bits}' (bits) would be" if bits != link.text else "; one direction of one chip is"
    yield sheet.fault(
        "HW044",
        link,
        f"{link.text} exceeds the {8 * most:,.0f} Gb/s that adapters of such chips have{hint} "
        f"{amount(link.si / (8 if bits != link.text else 2), 'bandwidth')}",
    )


_DOMAINS = {"gpu": 576, "npu": 10_000, "wafer": 4096, "lpu": 1024, "rdu": 64, "tpu": 10_000}


@rule(
    "HW045",
    "warning",
    "a domain of an odd size",
    kinds=HARDWARE,
    why="The domain says how many chips the fast link joins; layouts are built from it.",
    seen="NVL72 counted in superchips: 36. An eight-GPU node with a domain of 900.",
    mend="Count chips: 8 for an HGX node, 72 for an NVL72.",
)
def domain_is_plausible(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find domains that no machine of that kind has."""
    domain = sheet.numbers.get("links.scale_up.domain")
    if not domain:
        return
    most = _DOMAINS.get(sheet.word("kind"), 1024)
    value = domain.si
    if value > most:
        message = f"{domain.text} chips are more than any domain of such chips has ({most:,})"
        yield sheet.fault("HW045", domain, message)
    elif not value.is_integer() or (value > 8 and value % 4 and value % 6):
        message = f"{domain.text} chips is a domain that no machine has: 2, 4, 8, 16, 72?"
        yield sheet.fault("HW045", domain, message)


@rule(
    "HW046",
    "warning",
    "a latency that no link has",
    kinds=HARDWARE,
    why="Nanoseconds for microseconds make collectives free; milliseconds make them the limit.",
    seen="10 'ms' between nodes, for 10 us.",
    mend="Write 'us': 0.3 to 30 for links between chips.",
)
def latency_is_plausible(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find latencies outside 0.1 to 60 microseconds."""
    for name in ("scale_up", "scale_out"):
        latency = sheet.numbers.get(f"links.{name}.latency")
        if latency and not 0.1e-6 <= latency.si <= 60e-6:
            message = f"{latency.text} is outside 0.1 to 60 us, which links between chips have"
            yield sheet.fault("HW046", latency, message)


_WHOLE = r"superchip|\bnode\b|server|rack|\bpod\b|(?:two|four|eight|[2-9]|\d\d+) (?:gpus|chips)"


@rule(
    "HW047",
    "warning",
    "an entry of more than one chip",
    kinds=HARDWARE,
    why="Chips are counted by fastcalc; an entry that already counts two is counted twice.",
    seen="KV-planner's GB200 with 4,500 TFLOPS and 16 TB/s, per superchip.",
    mend="Halve the numbers and write 'scope: one GPU'; state node facts in 'links' and 'notes'.",
)
def one_chip(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find a scope that is not one chip."""
    scope = sheet.word("scope") if sheet.word("kind") != "soc" else ""
    found = re.search(_WHOLE, scope)
    if found and not re.match(r"(?:one|a|1|per|single) (?:gpu|chip|die|wafer|card|socket)", scope):
        message = f"scope '{scope}' is more than one chip; write the numbers of one"
        yield sheet.fault("HW047", ("scope",), message)
