"""EN: engine parameters within their allowed ranges ('band'), and names used by engines."""

from collections.abc import Iterator
from typing import get_args

from fastcalc.catalogue.reader import Path_
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.features.check.document import Sheet, WrittenNumber
from fastcalc.features.check.rule import Findings, RuleContext, day, rule
from fastcalc.features.check.words import amount
from fastcalc.written import Json, shown

_KINDS = get_args(Hardware.model_fields["kind"].annotation)


def _band(number: WrittenNumber) -> tuple[float, float] | None:
    band = number.about.get("band")
    if isinstance(band, list) and len(band) == 2:
        low, high = band
        if isinstance(low, (int, float)) and isinstance(high, (int, float)):
            return float(low), float(high)
    return None


@rule("EN001", "error")
def inside_own_band(sheet: Sheet, _: RuleContext) -> Findings:
    """A parameter outside its own 'band'."""
    for number in sheet.numbers.values():
        band = _band(number)
        if band and not band[0] * (1 - 1e-9) <= number.si <= band[1] * (1 + 1e-9):
            low, high = (amount(end, number.dimension) for end in band)
            yield number, f"{number.text} is outside its own band of {low} to {high}"


@rule("EN002", "error")
def bands_are_bands(sheet: Sheet, _: RuleContext) -> Findings:
    """An invalid 'band'."""
    for number in sheet.numbers.values():
        if "band" in number.about:
            band = _band(number)
            if band is None or band[0] > band[1]:
                sentence = f"{number.name}: a band is [lower, upper] in SI units"
                yield (*number.path, "band"), sentence


@rule("EN003", strict=True)
def fits_have_dates(sheet: Sheet, setting: RuleContext) -> Findings:
    """An engine without a valid fit date."""
    if not any(sheet.states(number.path) for number in sheet.numbers.values()):
        return
    if not sheet.states(("date",)):
        yield ("id",), "the fit has no 'date'"
        return
    fitted = day(str(sheet.at("date")))
    if not fitted or fitted.year < 2022 or fitted > setting.today:
        yield ("date",), f"'{shown(str(sheet.at('date')))}' is not a month from 2022 to now"


@rule("EN004")
def parameters_are_plausible(sheet: Sheet, _: RuleContext) -> Findings:
    """A parameter outside the range of known engines."""
    for number in sheet.numbers.values():
        plausible = PARAMETERS[str(number.path[-1])].plausible
        if plausible and number.si and not plausible[0] <= number.si <= plausible[1]:
            ends = " to ".join(amount(end, number.dimension) for end in plausible)
            yield number, f"{number.text} is outside {ends}"


@rule("EN005")
def engines_have_ranges(sheet: Sheet, _: RuleContext) -> Findings:
    """An engine without prediction ranges."""
    has_ranges = sheet.at("ranges") or sheet.at("range_widths")
    if not (sheet.at("is_bound") is True or has_ranges or sheet.at("extends")):
        yield ("id",), "no 'ranges' state the prediction error"


_WIDEST = 5.0  # as a factor; the widest range in use, for an engine without measurements, is 2.0
_HALF_WIDTHS = {"below": (0.04, 1.7), "above": (0.02, 1.2)}
_TIMES_AS_WIDE = (1.0, 5.0)
"""Half the smallest value fitted to halves of the sources, and twice the largest."""


@rule("EN009")
def ranges_are_plausible(sheet: Sheet, _: RuleContext) -> Findings:
    """A range wider or narrower than that of any engine."""
    learned = sheet.at("range_widths")
    names = [*learned] if isinstance(learned, dict) else []
    plausible: dict[tuple[str, ...], tuple[float, float]] = {("unseen",): _TIMES_AS_WIDE}
    plausible |= {(name, side): ends for name in names for side, ends in _HALF_WIDTHS.items()}
    for path, (low, high) in plausible.items():
        width = sheet.at("range_widths", *path)
        if isinstance(width, (int, float)) and not low <= width <= high:
            yield ("range_widths", *path), f"{width:g} is outside {low:g} to {high:g}"
    ranges = sheet.at("ranges")
    for name, factors in ranges.items() if isinstance(ranges, dict) else ():
        for side in ("below", "above"):
            factor = factors.get(side) if isinstance(factors, dict) else None
            if isinstance(factor, (int, float)) and factor > _WIDEST:
                too_wide = f"{factor:g} times {side}; engines have up to {_WIDEST:g}"
                yield ("ranges", name, side), too_wide


def _lists(sheet: Sheet) -> Iterator[tuple[Path_, list[Json]]]:
    """Yield every list of names with its path."""
    yield ("fitted_architectures",), sheet.items("fitted_architectures")
    for key, fields in (
        ("formats", ("architectures", "weights", "caches")),
        ("refused", ("architectures", "weights", "caches")),
        ("cache_formats", ("models", "architectures", "weights", "replaces")),
        ("widening", ("architectures", "weights", "experts", "caches")),
        ("instead", ("kinds", "architectures")),
    ):
        for index in range(len(sheet.items(key))):
            for field in fields:
                yield (key, index, field), sheet.items(key, index, field)


@rule("EN010")
def names_stand_once(sheet: Sheet, _: RuleContext) -> Findings:
    """A name that occurs twice in a list."""
    for path, names in _lists(sheet):
        for index, name in enumerate(names):
            if name in names[:index]:
                yield (*path, index), f"'{shown(str(name))}' occurs twice in this list"


_ROOM = 1.25  # tolerance on the parent's band: a fit of other software may be slightly outside


@rule("EN006")
def inside_parents_band(sheet: Sheet, _: RuleContext) -> Findings:
    """A parameter outside the 'band' of the engine that this one extends."""
    for number in sheet.numbers.values():
        child, band = sheet, None
        is_own = sheet.states(number.path) and "band" not in number.about
        while is_own and child.parent and not band:  # the nearest ancestor that has one
            name, child = child.at("extends"), child.parent
            above = child.numbers.get(number.name)
            band = _band(above) if above else None
        if band and number.si and not band[0] / _ROOM <= number.si <= band[1] * _ROOM:
            low, high = (amount(end, number.dimension) for end in band)
            yield number, f"{number.text} is outside {low} to {high}, the band of {name}"


@rule("EN007", "error")
def names_exist(sheet: Sheet, setting: RuleContext) -> Findings:
    """The name of an engine or chip type that does not exist."""
    catalogue = setting.catalogue(sheet.document.file, "engines")
    for index in range(len(sheet.items("instead"))):
        name = sheet.at("instead", index, "engine")
        if isinstance(name, str) and not catalogue.knows(name, "engines"):
            yield ("instead", index, "engine"), f"no engine is called '{shown(name)}'"
    for path, chip_types in _lists(sheet):
        for item_index, chip_type in enumerate(chip_types if path[-1] == "kinds" else ()):
            if chip_type not in _KINDS:
                kinds_known = ", ".join(_KINDS)
                message = f"no chip has kind '{shown(chip_type)}'; known are {kinds_known}"
                yield (*path, item_index), message


@rule("EN008")
def architectures_exist(sheet: Sheet, setting: RuleContext) -> Findings:
    """An architecture that no chip has."""
    groups = sheet.at("architectures")
    paths: list[tuple[Path_, object]] = [
        (("architectures", name), name) for name in (groups if isinstance(groups, dict) else ())
    ]
    for list_path, names in _lists(sheet):
        if str(list_path[-1]).endswith("architectures"):
            paths += [((*list_path, index), name) for index, name in enumerate(names)]
    for path, name in paths:
        if sheet.states(path) and str(name).encode() not in setting.architectures:
            yield path, f"no chip of the catalogue has architecture or kind '{shown(name)}'"
