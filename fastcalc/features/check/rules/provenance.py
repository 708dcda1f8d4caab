"""PV: sources of numbers, and whether values agree with the printed text."""

import re
from collections.abc import Iterator

from fastcalc.features.check.document import Sheet, place_holders
from fastcalc.features.check.notes import accepted, prints
from fastcalc.features.check.rule import Findings, RuleContext, day, rule
from fastcalc.features.check.words import amount, near, ratio
from fastcalc.written import Json, shown

_CLOSE = 0.006  # largest relative difference explained by rounding of printed digits


def _sources(sheet: Sheet) -> dict[str, dict[str, Json]]:
    listed = sheet.document.mapping("sources").items()
    return {key: value for key, value in listed if isinstance(value, dict)}


@rule("PV001")
def numbers_cite(sheet: Sheet, setting: RuleContext) -> Findings:
    """A number without a source in a file that cites sources."""
    bare = [number for number in sheet.numbers.values() if not number.said("source")]
    cites = len(bare) < len(sheet.numbers) and 2 * len(bare) <= len(sheet.numbers)
    for number in bare if setting.strict or cites else ():
        yield number, f"{number.text} has no source"


@rule("PV002", "error")
def sources_are_listed(sheet: Sheet, _: RuleContext) -> Findings:
    """A source that is not listed."""
    listed = set(_sources(sheet))
    for path, name in sheet.document.texts:
        if path[-1] == "source" and path[0] != "sources" and name not in listed:
            where = ".".join(str(step) for step in path[:-1])
            yield path, f"{where}: source '{name}' is not listed under 'sources'"
    shape = sheet.at("shape_source")
    if isinstance(shape, str) and shape not in listed:
        yield ("shape_source",), f"shape_source '{shape}' is not listed under 'sources'"


@rule("PV003", at_key=True)
def sources_are_used(sheet: Sheet, _: RuleContext) -> Findings:
    """A listed source that no number uses."""
    cited = {number.said("source") for number in sheet.numbers.values()}
    for path, text in sheet.document.texts:
        *above, last = path
        is_listed = isinstance(last, int) and str(above.pop()).endswith("sources")
        if "sources" not in above and (is_listed or str(last).endswith("source")):
            cited.add(text)
    for name in _sources(sheet):
        if name not in cited:
            yield ("sources", name), f"source '{name}' is listed, but no number uses it"


@rule("PV004", strict=True)
def sources_have_addresses(sheet: Sheet, _: RuleContext) -> Findings:
    """A source without a URL for numbers with high confidence."""
    if sheet.kind == "engines":  # fits and assumptions have no address; their notes say why
        return
    bare = {name for name, source in _sources(sheet).items() if not source.get("url")}
    for number in sheet.numbers.values():
        if number.said("source") in bare and number.said("confidence") in (None, "high"):
            message = f"source '{number.said('source')}' has no url; lower the confidence"
            yield number, message


@rule("PV005", "error")
def dates_parse(sheet: Sheet, _: RuleContext) -> Findings:
    """An invalid date."""
    for path, text in _dates(sheet):
        if day(text) is None:
            yield path, f'\'{text}\' is not a date; write for example "2026-05" or "2026-05-13"'


@rule("PV006")
def dates_are_past(sheet: Sheet, setting: RuleContext) -> Findings:
    """A date in the future."""
    for path, text in _dates(sheet):
        dated = day(text)
        if path[-1] != "released" and dated and (dated - setting.today).days > 366:
            yield path, f"{text} is more than a year in the future"


def _dates(sheet: Sheet) -> Iterator[tuple[tuple[str | int, ...], str]]:
    paths: list[tuple[str | int, ...]] = [("released",), ("date",)]
    paths += [("sources", name, "accessed") for name in _sources(sheet)]
    paths += [(*number.path, "date") for number in sheet.numbers.values()]
    for path in paths:
        value = sheet.at(*path)
        if value is not None:
            yield path, str(value)


@rule("PV007", strict=True)
def prices_have_dates(sheet: Sheet, _: RuleContext) -> Findings:
    """An hourly price without a date."""
    for number in sheet.numbers.values():
        if number.dimension == "hourly price" and not number.said("date"):
            yield number, f"{number.text} has no date"


@rule("PV008")
def prices_are_fresh(sheet: Sheet, setting: RuleContext) -> Findings:
    """An hourly price older than a year."""
    for number in sheet.numbers.values():
        dated = day(number.said("date") or "") if number.dimension == "hourly price" else None
        if dated and (setting.today - dated).days > 366:
            yield number, f"{number.text} dates from {number.said('date')}, more than a year ago"


@rule("PV009")
def value_is_printed(sheet: Sheet, _: RuleContext) -> Findings:
    """The value differs from the text that the source prints."""
    for number in sheet.numbers.values():
        printed = prints(number)
        if not printed or number.said("reading"):
            continue
        if any(near(number.si, figure, _CLOSE) for figure in printed):
            continue
        closest = min(printed, key=lambda figure: abs(figure - number.si))
        factor = number.si / closest if closest else 0.0
        times = f"{ratio(factor)} times" if closest else "not"
        hint = "correct it, or let 'reading' say how it follows"
        if near(factor, 0.5, 0.01):
            hint = "if sparsity or both directions are printed, let 'reading' say so"
        elif near(factor, 2.0, 0.01):
            hint = "is it doubled?"
        elif any(near(factor, 1.024**power, 0.004) for power in (1, 2, 3, 4)):
            hint = "if GB means 2^30 bytes there, let 'reading' say so"
        elif near(factor, 1000.0, 0.05) or near(factor, 1e-3, 0.05):
            hint = "a prefix is wrong"
        has = f"{number.text} is {times} the {amount(closest, number.dimension)}"
        yield number, f'{has} that the source prints ("{number.said("printed")}"); {hint}'


@rule("PV010")
def reading_comes_out(sheet: Sheet, _: RuleContext) -> Findings:
    """The reading does not lead from the printed text to the value."""
    for number in sheet.numbers.values():
        if not number.said("reading"):
            continue
        allowed = accepted(sheet, number)
        if allowed and not any(near(number.si, figure, 0.012) for figure in allowed):
            closest = min(allowed, key=lambda figure: abs(figure - number.si))
            has = f'{number.text} does not follow from "{number.said("printed") or ""}" by'
            gives = amount(closest, number.dimension)
            yield number, f"{has} '{number.said('reading')}': that gives {gives}"


@rule("PV011", "note", strict=True)
def numbers_from_memory(sheet: Sheet, _: RuleContext) -> Findings:
    """A number from memory."""
    for number in sheet.numbers.values():
        if number.said("confidence") == "memory":
            yield number, f"{number.text} is from memory"
    if sheet.at("confidence") == "memory":
        yield ("confidence",), "the shape is from memory"


@rule("PV012", "error")
def addresses_are_addresses(sheet: Sheet, _: RuleContext) -> Findings:
    """An invalid URL."""
    for name, source in _sources(sheet).items():
        url = source.get("url")
        if url is not None and not re.fullmatch(r"(?:https?|ftp)://[^\s/]+\.[^\s]+", str(url)):
            words = f"'{str(url)[:80]}' is not an address"
            yield ("sources", name, "url"), f"{words}; write one that begins with https://"


_WHOLE = (
    (r"spars", "printed with sparsity"),
    (r"bidirectional|bi-directional|both directions|aggregate bidi", "of both directions"),
)


@rule("PV013")
def printed_is_halved(sheet: Sheet, _: RuleContext) -> Findings:
    """The printed text says 'sparse' or 'both directions', but the value was not halved."""
    for number in sheet.numbers.values():
        if number.dimension not in ("compute rate", "bandwidth") or number.said("reading"):
            continue
        text, printed = (number.said("printed") or "").lower(), prints(number)
        for words, meaning in _WHOLE:
            if re.search(words, text) and len(printed) == 1 and near(number.si, printed[0], 0.01):
                message = f"{number.text} is {meaning}: write half, and a 'reading' that says so"
                yield number, message


@rule("PV014", "error")
def nothing_left_to_fill_in(sheet: Sheet, _: RuleContext) -> Findings:
    """A placeholder that was not filled in."""
    for path in place_holders(sheet.document):
        yield path, f"'{shown(sheet.at(*path))}' must still be filled in"


@rule("PV015", strict=True, at_key=True)
def sources_say_when(sheet: Sheet, _: RuleContext) -> Findings:
    """A source without the date on which it was read."""
    for name, source in _sources(sheet).items():
        if source.get("url") and not source.get("accessed"):
            words = f"source '{name}' does not say when it was read"
            yield ("sources", name), f"{words}: write 'accessed:'"


@rule("PV016", strict=True)
def memory_is_no_source(sheet: Sheet, _: RuleContext) -> Findings:
    """A number from memory that cites a document, or a cited number marked as from memory."""
    for number in sheet.numbers.values():
        source, confidence = number.said("source"), number.said("confidence")
        if source and (source == "memory") != (confidence == "memory"):
            says = f"has source '{shown(source)}' and confidence '{shown(confidence or 'high')}'"
            yield number, f"{number.text} {says}; is it from memory or from a document?"
