"""Write the generated pages: reference of commands, catalogue, and accuracy.

``python docs/refresh.py`` runs it with all else that is generated; a test says when it is due.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

import fastcalc
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.pricing import Pricing
from fastcalc.evidence.score import Group
from fastcalc.evidence.shipped import shipped as evidence
from fastcalc.evidence.validate import validate_shipped
from fastcalc.features import COMMANDS, request_of
from fastcalc.features.claims.claim_file import read_claims
from fastcalc.features.measure import validate as show_validate
from fastcalc.features.measure.request import Validate
from fastcalc.features.measure.validation import ValidationAnswer
from fastcalc.kit.answer.console import Screen, render
from fastcalc.kit.answer.numbers_as_text import number, parameters, prefixed, size
from fastcalc.kit.request.fields import declared
from fastcalc.mentions import as_flags
from fastcalc.written import to_markdown

DOCS = Path(__file__).resolve().parent
GAP = "-"
WEAK = 1.25
"""The median factor above which a chip or a model counts as a weak place."""

HOSTED = "part:part of the model on a host"
"""The class that is scored apart from all others."""

FEW = 30
"""Points below which a class is no example."""

KINDS = {"hardware": "chips", "models": "models", "engines": "engines"}

COMMANDS_PAGE = """# Commands

Written by `python docs/refresh.py` from the flags. `fastcalc COMMAND --help` prints the same. Exit
codes: 0 done, 1 the answer is no, 2 the request or a file is wrong.

The shell completes commands, flags, names of the catalogue and words of choices after
`fastcalc --install-completion`.
"""
CATALOGUE = f"""# Catalogue

Written by `python docs/refresh.py` from `hardware/`, `models/` and `engines/`. `{GAP}` is a gap:
nobody has published it, or nobody has entered it. Every number with its source:
`fastcalc show NAME`.
"""
CHIPS = """## {count} chips

Rates are dense, links are one direction of one chip, with the number of chips in a domain; power is
of one chip; a price is that of a chip-hour, with the date and the terms of its source: on-demand
where a cloud lists it so, and `?` where it is not or its source is of low confidence.
"""
ACCURACY = """# Accuracy

Written by `python docs/refresh.py` from what `fastcalc validate` finds. A factor is expected over
measured or the other way round, whichever is above 1; 90 % are within the second number; bias above
1 is too fast; the last column says how many measurements lie in the 80 % range.

On {points:,} points of {sources} sources the median factor is {median:.2f}, 90 % are
within {most:.2f}, and {share:.0f} % lie in their range. {unseen:,} of them are each predicted by
a fit that has not seen its source; the other {seen}, of SRAM machines, are what their engines
were set from. Set aside are {aside:,} points of {aside_sources} sources, as no engine was fitted
on them: median {aside_median:.2f}, 90 % within {aside_most:.2f}, {aside_share:.0f} % in range.
[Ranges](method.md#ranges) are learned from the latter, so they are wider than most points of the
former need. What a point is, and how it is predicted: [measured points](evidence.md). Your own:
`fastcalc validate my-runs.csv`.
"""
TRUST = """Speeds are held against published measurements, where there are any: of {measured} of
{entries} chips.

- **Left out**: {points:,} points of {sources} sources, each but {seen} predicted by a fit that
has not seen its source: off by a factor of {median:.2f} in the median, 90 % within {most:.2f},
{share:.0f} % inside their range, {above} above the bound. Those {seen} are of SRAM machines, wafers
among them: their engines are set from these few speeds, none left out, so the factor flatters.
- **Set aside**, as no engine was fitted on them: {aside:,} points of {aside_sources} sources, off
by {aside_median:.2f} in the median, 90 % within {aside_most:.2f}, {aside_share:.0f} % inside the
ranges that are [learned from them](docs/method.md#ranges); and {host} with part of the model on a
host, off by {host_median:.2f}.

Closest is "{closest}" (90 % within {best:.2f}), furthest "{furthest}" ({worst:.2f}); of the {chips}
chips, {alone} rest on one source. [By class, chip and model](docs/accuracy.md).
"""
WEAK_PLACES = """## Where it is weak

Chips and models whose median is off by more than {weak}, or of which there are fewer than three
points. Of these {of}, {few} rest on a single source, whose way of measuring nobody can tell from
the chip. Known causes: routed experts in the first months of a chip or an architecture;
public speeds of SRAM machines, which hide speculation; software of another year than an engine's,
which moves a floor by 1.5 to 2. [What was scored once,
unseen](evidence.md#what-is-shipped) stands apart.
"""


def commands() -> str:
    """Return the page on all commands and flags."""
    parts = [COMMANDS_PAGE]
    for name in COMMANDS:
        flags = request_of(name)
        sections: dict[str, list[list[str]]] = {}
        for field, (annotation, heading) in declared(flags).items():
            shown = annotation.__metadata__[0]
            heading = "Arguments" if shown.is_argument else heading
            if not shown.is_hidden:
                default = getattr(flags, field, None)
                stands = (
                    ""
                    if default in (None, False)
                    else f"{default:g}"
                    if isinstance(default, float)
                    else str(default)
                )
                row = [
                    f"`{_names(field, shown)}`",
                    as_flags(shown.help),
                    f"`{stands}`" if stands else "",
                ]
                sections.setdefault(heading, []).append(row)
        summary = "\n\n".join(" ".join(one.split()) for one in (flags.__doc__ or "").split("\n\n"))
        examples = "\n".join(f"    {one}" for one in flags.examples)
        tables = [
            f"**{heading}**\n\n" + to_markdown(["flag", "meaning", "default"], rows)
            for heading, rows in _in_order(sections)
        ]
        parts += [f"## fastcalc {name}\n\n{summary}\n\n{examples}\n", *tables]
    return "\n".join(parts)


def _in_order(sections: dict[str, list[list[str]]]) -> Iterable[tuple[str, list[list[str]]]]:
    """Return sections with the arguments first and the command's own options last."""
    places = {"Arguments": -1, "Options": 1}
    return sorted(sections.items(), key=lambda one: places.get(one[0], 0))


def _names(field: str, shown: Any) -> str:
    *words, last = (shown.metavar or "").split("|")
    metavar = f"{', '.join(words)} or {last}" if words else last
    if shown.is_argument:
        return metavar
    return f"{', '.join(shown.names) or '--' + field.replace('_', '-')} {metavar}".strip()


def catalogue() -> str:
    """Return the page on every chip, model and engine that is shipped."""
    chips, models, engines = (fastcalc.list(kind) for kind in ("hardware", "models", "engines"))
    return "\n".join(
        [
            CATALOGUE,
            CHIPS.format(count=len(chips)),
            to_markdown(
                ["chip", "memory", "bandwidth", "16 bit", "8 bit", "4 bit", "link", "domain",
                 "power", "$/h", "of", "terms"],
                map(_unbroken, map(_chip, chips)),
            ),
            _gaps(chips.records),
            f"## {len(models)} models\n",
            to_markdown(
                ["model", "parameters", "active", "weights", "KV/token", "context", "released"],
                map(_model, models),
            ),
            f"## {len(engines)} engines\n",
            to_markdown(
                ["engine", "name", "default for", "fitted on"],
                (
                    [f"`{one['id']}`", one["name"], ", ".join(one["default_for"]) or GAP,
                     one["fitted_on"] or GAP]
                    for one in engines
                ),
            ),
        ]
    )  # fmt: skip


def _chip(one: Any) -> list[str]:
    peaks = [
        max((one[f"peak_{name}_flop_per_s"] or 0.0 for name in names), default=0.0)
        for names in (("bf16", "fp16"), ("fp8", "int8"), ("fp4",))
    ]
    price = one["price_cloud_usd_per_h"]
    domain = one["scale_up_domain_chips"]
    return [
        f"`{one['id']}`",
        " + ".join(f"{tier['name']} {size(tier['capacity_bytes'])}" for tier in one["memory"]),
        prefixed(one["memory_bandwidth_bytes_per_s"], "B/s", 4),
        *(prefixed(peak, "FLOP/s", 4) if peak else GAP for peak in peaks),
        _or_gap(one["scale_up_bandwidth_bytes_per_s"], "B/s"),
        GAP if domain is None else f"{domain:,}",
        _or_gap(one["power_chip_w"], "W"),
        GAP if price is None else f"{price:.2f}{'?' * one['price_is_uncertain']}",
        one["price_cloud_date"] or GAP,
        one["price_terms"] or GAP,
    ]


def _unbroken(cells: list[str]) -> list[str]:
    """Return cells whose numbers stay with their units."""
    return [
        cell.replace(" ", "\N{NO-BREAK SPACE}").replace("\N{NO-BREAK SPACE}+", " +")
        for cell in cells
    ]


def _or_gap(value: float | None, unit: str) -> str:
    return GAP if value is None else prefixed(value, unit, 4)


def _gaps(chips: Sequence[Any]) -> str:
    keys = {
        "a cloud price": "price_cloud_usd_per_h",
        "a link between chips": "scale_up_bandwidth_bytes_per_s",
        "the power of the chip": "power_chip_w",
        "a purchase price": "price_purchase_usd",
    }
    missing = (f"{what} ({sum(one[key] is None for one in chips)})" for what, key in keys.items())
    return f"Not known of how many of the {len(chips)}: {', '.join(missing)}.\n"


def _model(one: Any) -> list[str]:
    return [
        f"`{one['id']}`",
        parameters(one["total_parameters"]),
        parameters(one["active_parameters"]),
        f"{one['weight_format']} {one['weights_gb']:,.1f} GB",
        size(one["kv_bytes_per_token"]),
        GAP if one["max_context_tokens"] is None else f"{one['max_context_tokens']:,}",
        one["released"] or GAP,
    ]


@cache
def validated() -> ValidationAnswer:
    """Return every prediction of a shipped measurement, and the scores by group."""
    return show_validate.run(Validate(wide=True))


def trust() -> str:
    """Return the README's few lines on how far to trust a number."""
    groups = validated().details()["groups"]
    classes = [one for one in _of(groups, "part") if one["n"] >= FEW]
    closest = min(classes, key=lambda one: one["p90_factor"])
    furthest = max(classes, key=lambda one: one["p90_factor"])
    chips = _of(groups, "hardware")
    text = TRUST.format(
        **_scores(groups),
        closest=closest["group"].partition(":")[2],
        best=closest["p90_factor"],
        furthest=furthest["group"].partition(":")[2],
        worst=furthest["p90_factor"],
        alone=sum(one["sources"] == 1 for one in chips),
        chips=len(chips),
        measured=len({point.hardware for point in evidence().points}),
        entries=len(fastcalc.list("hardware")),
    )
    return wrapped(text)


def wrapped(text: str) -> str:
    """Return paragraphs and list items in lines of at most 100 characters."""
    blocks = re.split(r"(\n\n|\n(?=- ))", text.rstrip("\n"))
    lines = (
        block
        if not block.strip()
        else fill(
            " ".join(block.split()),
            100,
            subsequent_indent="  " if block.startswith("- ") else "",
            break_on_hyphens=False,
        )
        for block in blocks
    )
    return "".join(lines) + "\n"


def shipped() -> str:
    """Return how many entries of each kind there are."""
    counts = (f"{len(fastcalc.list(kind))} {name}" for kind, name in KINDS.items())
    chips, models, engines = counts
    return f"Shipped are {chips}, {models} and {engines}: [the catalogue](docs/catalogue.md).\n"


@cache
def apart() -> dict[str, Group]:
    """Return the scores of what no engine was fitted on, by class."""
    found = validate_shipped(evidence(), Catalogue())
    return {one.name: one for one in found.set_aside.groups}


def hosts() -> str:
    """Return how far off speeds are where part of a model lives on a host."""
    group = apart()[HOSTED]
    side = "too high" if group.bias > 1.0 else "too low"
    return (
        f"On {group.count} published speeds of {group.sources} sources, none of which set a number "
        f"of it, the expected speed is within a factor of {group.median_factor:.2f} (median), and "
        f"{max(group.bias, 1.0 / group.bias):.2f} times {side} in the median"
    )


def newer_rent() -> str:
    """Return the chip-hour of GB200 over that of H100 by both price bases."""
    chips = [Catalogue().hardware(name) for name in ("gb200", "h100-sxm")]
    cloud, tco = (
        new / old
        for basis in ("cloud", "tco")
        for new, old in [[Pricing(basis).per_chip_hour(chip) for chip in chips]]
    )
    return f"{number(cloud, 2)}x by cloud price and {number(tco, 2)}x by ownership"


def claims() -> str:
    """Return how many claims are tested, and of how many articles."""
    found, _ = read_claims()
    return f"{len(found.claims)} claims"


def python() -> str:
    """Return the oldest Python that will do."""
    text = (DOCS.parent / "pyproject.toml").read_text(encoding="utf-8")
    return re.search(r'requires-python = ">=([\d.]+)"', text)[1]


def _scores(groups: Sequence[Any]) -> dict[str, float]:
    total = groups[0]
    aside, on_host = (apart()[name] for name in ("all", HOSTED))
    (seen,) = (one["n"] for one in groups if one["group"] == "part:SRAM machines")
    return {
        "seen": seen,
        "unseen": total["n"] - seen,
        "host": on_host.count,
        "host_median": on_host.median_factor,
        "aside": aside.count,
        "aside_sources": aside.sources,
        "aside_median": aside.median_factor,
        "aside_most": aside.p90_factor,
        "aside_share": 100 * aside.coverage,
        "points": total["n"],
        "sources": total["sources"],
        "median": total["median_factor"],
        "most": total["p90_factor"],
        "share": 100 * total["coverage"],
        "above": total["bound_beaten"],
    }


def accuracy() -> str:
    """Return the page on how far predictions are from measurements."""
    answer = validated()
    groups = answer.details()["groups"]
    weak = [
        one
        for one in _of(groups, "hardware", "model")
        if one["median_factor"] > WEAK or one["n"] < 3
    ]
    few = sum(one["sources"] == 1 for one in weak)
    lines = render(answer.page(Screen(100, wide=True)), 100).splitlines()
    page = "\n".join(map(str.rstrip, lines))
    return "\n".join(
        [
            wrapped(ACCURACY.format(**_scores(groups))),
            f"## By class\n\n```text\n{page}\n```\n",
            WEAK_PLACES.format(weak=WEAK, few=few, of=len(weak)),
            _groups(sorted(weak, key=lambda one: -one["median_factor"])),
            *(
                f"## By {word}\n\n" + _groups(_of(groups, kind))
                for word, kind in (("engine", "engine"), ("chip", "hardware"), ("model", "model"),
                                   ("source", "source"))
            ),
        ]
    )  # fmt: skip


def _of(groups: Iterable[Any], *kinds: str) -> list[Any]:
    return [one for one in groups if one["group"].partition(":")[0] in kinds]


def _groups(groups: Iterable[Any]) -> str:
    rows = (
        [
            f"`{one['group'].partition(':')[2]}`",
            *(f"{one[key]:,}" for key in ("n", "sources")),
            *(number(one[key]) for key in ("median_factor", "p90_factor", "bias")),
            f"{100 * one['coverage']:.0f} %",
        ]
        for one in groups
    )
    heads = ["of", "points", "sources", "median factor", "90 % within", "bias", "in 80 % range"]
    return to_markdown(heads, rows)


PAGES = {"commands.md": commands, "catalogue.md": catalogue, "accuracy.md": accuracy}


MARKED = {
    "trust": trust,
    "shipped": shipped,
    "hosts": hosts,
    "newer-rent": newer_rent,
    "claims": claims,
    "python": python,
}
"""What the README and the guides hold between marks of these names."""

MARKED_PAGES = [DOCS.parent / "README.md", *sorted((DOCS / "guide").glob("*.md"))]


def marked(text: str) -> str:
    """Return a page's text with what is between its marks written again."""
    return re.sub(
        r"(?s)(<!-- (\S+) -->\n?).*?(\n?<!-- /\2 -->)",
        lambda m: f"{m[1]}{MARKED[m[2]]().rstrip()}{m[3]}",
        text,
    )


def main(names: list[str]) -> None:
    """Write pages of these names, and the marked numbers of those; all without a name."""
    for name, page in PAGES.items():
        if name in names or not names:
            (DOCS / name).write_text(page(), encoding="utf-8")
    for page in MARKED_PAGES:
        if page.name in names or not names:
            page.write_text(marked(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
