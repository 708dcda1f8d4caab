"""EN: parameters of engines inside their own bands."""

from collections.abc import Iterator

from fastcalc.catalogue.faults import Fault
from fastcalc.lint.document import Sheet, WrittenNumber
from fastcalc.lint.rule import ENGINES, Setting, rule
from fastcalc.lint.words import amount


def _band(number: WrittenNumber) -> tuple[float, float] | None:
    band = number.about.get("band")
    if isinstance(band, list) and len(band) == 2:
        low, high = band
        if isinstance(low, (int, float)) and isinstance(high, (int, float)):
            return float(low), float(high)
    return None


@rule(
    "EN001",
    "error",
    "a parameter outside its own band",
    kinds=ENGINES,
    why="The band is what the fit says is possible; a value outside was edited without it.",
    seen="A floor raised by hand after a fit, the band left behind.",
    mend="Fit again, or widen the band and say why in the note.",
)
def inside_own_band(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find parameters outside the band that they carry."""
    for number in sheet.numbers.values():
        band = _band(number)
        if band and not band[0] * (1 - 1e-9) <= number.si <= band[1] * (1 + 1e-9):
            low, high = (amount(end, number.dimension) for end in band)
            message = f"{number.text} is outside its own band of {low} to {high}"
            yield sheet.fault("EN001", number, message)


@rule(
    "EN002",
    "error",
    "a band that is none",
    kinds=ENGINES,
    why="A band is two numbers in SI, the lower first.",
    seen="[26, 17] in microseconds beside a value in seconds.",
    mend="Write [lower, upper] in SI units: seconds, bytes a second, FLOP a second.",
)
def bands_are_bands(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find bands of the wrong length or order."""
    for number in sheet.numbers.values():
        if "band" in number.about:
            band = _band(number)
            if band is None or band[0] > band[1]:
                message = "a band is [lower, upper] in SI units"
                yield sheet.fault("EN002", (*number.path, "band"), f"{number.name}: {message}")


@rule(
    "EN003",
    "warning",
    "an engine that does not say when it was fitted",
    kinds=ENGINES,
    scope="strict",
    why="Engines change every month; a profile two years old predicts another program.",
    seen="vidur's profiles against vLLM 0.9.1: 700 % off (issue 60).",
    mend="Write 'date:'.",
)
def fits_have_dates(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find fitted engines without a date."""
    if sheet.numbers and not sheet.at("date"):
        yield sheet.fault("EN003", ("id",), "no 'date' says when this was fitted")


@rule(
    "EN004",
    "warning",
    "floors out of proportion",
    kinds=ENGINES,
    why="A layer costs micro- to milliseconds; seconds or nanoseconds are a slip of the unit.",
    seen="'decode_layer_floor: 41 ms' for 41 us.",
    mend="Check the unit.",
)
def floors_are_plausible(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find times outside 0.05 microseconds to 5 seconds (layers: to 2 milliseconds)."""
    for number in sheet.numbers.values():
        most = 2e-3 if "layer" in number.name or "collective" in number.name else 5.0
        if number.dimension == "time" and number.si and not 5e-8 <= number.si <= most:
            message = f"{number.text} is outside {amount(5e-8, 'time')} to {amount(most, 'time')}"
            yield sheet.fault("EN004", number, message)


@rule(
    "EN005",
    "warning",
    "an engine without ranges",
    kinds=ENGINES,
    why="A prediction without a range claims more than anyone knows.",
    seen="Planners that print four digits and no error.",
    mend="Write 'ranges:' with 'unseen' at least, from left-out measurements.",
)
def engines_have_ranges(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find engines that are no bound, have no range and inherit none."""
    has_one = sheet.at("is_bound") is True or sheet.at("ranges") or sheet.at("extends")
    if not has_one:
        yield sheet.fault("EN005", ("id",), "no 'ranges': how far off may it be?")
