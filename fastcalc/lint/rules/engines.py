"""EN: parameters of engines inside their own bands."""

from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.lint.document import Sheet, WrittenNumber
from fastcalc.lint.rule import Findings, Setting, rule
from fastcalc.lint.words import amount


def _band(number: WrittenNumber) -> tuple[float, float] | None:
    band = number.about.get("band")
    if isinstance(band, list) and len(band) == 2:
        low, high = band
        if isinstance(low, (int, float)) and isinstance(high, (int, float)):
            return float(low), float(high)
    return None


@rule("EN001", "error")
def inside_own_band(sheet: Sheet, _: Setting) -> Findings:
    """A parameter outside its own band.

    The band is what the fit says is possible; a value outside was edited without it.
    Seen: A floor raised by hand after a fit, the band left behind.
    Instead: Fit again, or widen the band and say why in the note.
    """
    for number in sheet.numbers.values():
        band = _band(number)
        if band and not band[0] * (1 - 1e-9) <= number.si <= band[1] * (1 + 1e-9):
            low, high = (amount(end, number.dimension) for end in band)
            yield number, f"{number.text} is outside its own band of {low} to {high}"


@rule("EN002", "error")
def bands_are_bands(sheet: Sheet, _: Setting) -> Findings:
    """A band that is none.

    A band is two numbers in SI, the lower first.
    Seen: [26, 17] in microseconds next to a value in seconds.
    Instead: Write [lower, upper] in SI units: seconds, bytes a second, FLOP a second.
    """
    for number in sheet.numbers.values():
        if "band" in number.about:
            band = _band(number)
            if band is None or band[0] > band[1]:
                sentence = f"{number.name}: a band is [lower, upper] in SI units"
                yield (*number.path, "band"), sentence


@rule("EN003", strict=True)
def fits_have_dates(sheet: Sheet, _: Setting) -> Findings:
    """An engine that does not say when it was fitted.

    Engines change every month; a profile two years old predicts another program.
    Seen: vidur's profiles against vLLM 0.9.1: 700 % off (issue 60).
    Instead: Write 'date:'.
    """
    if sheet.numbers and not sheet.at("date"):
        yield ("id",), "no 'date' says when this was fitted"


@rule("EN004")
def floors_are_plausible(sheet: Sheet, _: Setting) -> Findings:
    """Floors out of proportion.

    A layer costs micro- to milliseconds; seconds or nanoseconds are a slip of the unit.
    Seen: 'decode_layer_floor: 41 ms' for 41 us.
    Instead: Check the unit.
    """
    for number in sheet.numbers.values():
        plausible = PARAMETERS[str(number.path[-1])].plausible
        if plausible and number.si and not plausible[0] <= number.si <= plausible[1]:
            ends = " to ".join(amount(end, number.dimension) for end in plausible)
            yield number, f"{number.text} is outside {ends}"


@rule("EN005")
def engines_have_ranges(sheet: Sheet, _: Setting) -> Findings:
    """An engine without ranges.

    A prediction without a range claims more than anyone knows.
    Seen: Planners that print four digits and no error.
    Instead: Write 'ranges:' with 'unseen' at least, from left-out measurements.
    """
    if not (sheet.at("is_bound") is True or sheet.at("ranges") or sheet.at("extends")):
        yield ("id",), "no 'ranges': how far off may it be?"
