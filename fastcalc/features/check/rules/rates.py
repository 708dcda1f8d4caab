"""HW00x and HW01x: consistency of peak rates with each other, the cores and the memory."""

from fastcalc.features.check.document import Sheet, WrittenNumber
from fastcalc.features.check.rule import Findings, RuleContext, rule
from fastcalc.features.check.silicon import (
    GB,
    Core,
    band,
    by_year,
    core_of,
    host_key,
    is_geforce,
    is_uniform,
    main_tier,
    row,
    sixteen_bit,
)
from fastcalc.features.check.words import amount, near, ratio

_SPARSE = "is one of them printed with sparsity (twice the dense rate)?"
_DROPPED = 0.1  # of another rate: upper limit for a format that a chip barely supports


def _against(
    sheet: Sheet, name: str, below: WrittenNumber | None, *allowed: float, minimum: float = 0.0
) -> Findings:
    """Yield a problem if the ratio of two peaks is at least the minimum but not allowed."""
    upper = sheet.numbers.get(f"peak.{name}")
    if not upper or not below or not below.si or not upper.si:
        return
    times = upper.si / below.si
    if times >= minimum and not any(near(times, factor, 0.06) for factor in allowed):
        reference = below.name.removeprefix("peak.")
        listed = " or ".join(ratio(factor) for factor in allowed)
        message = (
            f"{upper.text} is {ratio(times)} times the {reference} rate {below.text}; on known "
        )
        yield upper, f"{message}chips this ratio is {listed}; {_SPARSE}"


@rule("HW001")
def fp8_against_16_bit(sheet: Sheet, _: RuleContext) -> Findings:
    """The fp8 rate is neither one nor two times the 16-bit rate."""
    allowed = (2.0,) if sheet.word("vendor").startswith(("nvidia", "amd")) else (1.0, 2.0)
    yield from _against(sheet, "fp8", sixteen_bit(sheet), *allowed)


@rule("HW002")
def fp4_against_fp8(sheet: Sheet, _: RuleContext) -> Findings:
    """The fp4 rate is neither two nor about three times the fp8 rate."""
    # GeForce cards run fp4 at the full rate, but fp8 with 32-bit accumulation at half rate.
    allowed = (2.0, 4.0) if is_geforce(sheet) else (2.0, 3.0, 3.11)
    yield from _against(sheet, "fp4", sheet.numbers.get("peak.fp8"), *allowed)


@rule("HW003")
def int8_against_16_bit(sheet: Sheet, _: RuleContext) -> Findings:
    """The int8 rate is not one, two or four times the 16-bit rate."""
    allowed: tuple[float, ...] = (1.0, 2.0) if is_uniform(sheet) else (1.0, 2.0, 4.0)
    allowed = (2.0,) if sheet.word("kind") == "tpu" else allowed
    yield from _against(sheet, "int8", sixteen_bit(sheet), *allowed, minimum=_DROPPED)


@rule("HW004")
def int8_against_fp8(sheet: Sheet, _: RuleContext) -> Findings:
    """The int8 rate is neither one nor two times the fp8 rate."""
    allowed = (1.0,) if is_uniform(sheet) else (1.0, 2.0)
    yield from _against(sheet, "int8", sheet.numbers.get("peak.fp8"), *allowed, minimum=_DROPPED)


@rule("HW005")
def tf32_against_16_bit(sheet: Sheet, _: RuleContext) -> Findings:
    """The tf32 rate is neither equal to the 16-bit rate nor half of it."""
    allowed = (0.5,) if sheet.word("vendor").startswith(("nvidia", "amd")) else (0.25, 0.5, 1.0)
    yield from _against(sheet, "tf32", sixteen_bit(sheet), *allowed)


@rule("HW006")
def bf16_against_fp16(sheet: Sheet, _: RuleContext) -> Findings:
    """The bf16 and fp16 rates differ."""
    is_halved = is_geforce(sheet) or sheet.word("architecture") == "cdna"
    allowed = (0.5, 1.0) if is_halved else (1.0,)
    yield from _against(sheet, "bf16", sheet.numbers.get("peak.fp16"), *allowed)


@rule("HW007")
def narrow_against_wide(sheet: Sheet, _: RuleContext) -> Findings:
    """Implausible rates of narrow formats compared with wider ones."""
    yield from _against(sheet, "fp6", sheet.numbers.get("peak.fp8"), 1.0, 2.0)
    yield from _against(sheet, "fp6", sixteen_bit(sheet), 2.0, 4.0)
    yield from _against(sheet, "int4", sheet.numbers.get("peak.int8"), 1.0, 2.0, 4.0)
    single, half = sheet.numbers.get("peak.fp32"), sixteen_bit(sheet)
    if single and half and single.si > 1.05 * half.si:
        message = f"{single.text} exceeds the 16-bit rate {half.text}; is that one cut short?"
        yield single, message


@rule("HW008")
def implied_clock(sheet: Sheet, _: RuleContext) -> Findings:
    """The 16-bit rate requires a clock that the cores do not reach."""
    core, rate = core_of(sheet), sixteen_bit(sheet)
    if not core or not rate or not rate.si:
        return
    if sheet.si("cores"):
        ask = ": dense, of one chip, and with the right number of cores?"
        yield from _off_clock(sheet, rate, core, core.matrix, ask=ask)
    elif core.most and rate.si > core.most * core.matrix * core.fastest * GB:
        dense = core.most * core.matrix * core.fastest / 1000
        yield (
            rate,
            f"{rate.text} exceeds the {dense:,.0f} TFLOP/s of {core.most:,} cores, the most that a "
            f"{sheet.word('architecture')} has, at {core.fastest} GHz: is this the figure with "
            "sparsity, or for two chips?",
        )


def _off_clock(
    sheet: Sheet, rate: WrittenNumber, core: Core, cycle: float, *, room: float = 0.0, ask: str = ""
) -> Findings:
    cores = sheet.si("cores") or 0.0
    clock = rate.si / (cores * cycle) / GB if cores else core.slowest
    if not (1 - room) * core.slowest <= clock <= (1 + room) * core.fastest:
        has = f"{rate.text} over {cores:,.0f} cores at {cycle:,.0f} FLOP per cycle"
        runs = f"this architecture runs at {core.slowest} to {core.fastest}"
        yield rate, f"{has} is a clock of {ratio(clock)} GHz; {runs}{ask}"


@rule("HW009")
def implied_vector_clock(sheet: Sheet, _: RuleContext) -> Findings:
    """The vector rate requires a clock that the cores do not reach."""
    core, rate = core_of(sheet), sheet.numbers.get("vector")
    if core and core.vector and rate:
        yield from _off_clock(sheet, rate, core, core.vector, room=0.1)


@rule("HW010")
def vector_against_matrix(sheet: Sheet, _: RuleContext) -> Findings:
    """The vector rate is implausible compared with the 16-bit rate."""
    rate, vector, core = sixteen_bit(sheet), sheet.numbers.get("vector"), core_of(sheet)
    if not rate or not vector or not vector.si:
        return
    times = rate.si / vector.si
    low, high = 0.95, 40.0
    if core and core.vector:
        low, high = 0.7 * core.matrix / core.vector, 1.3 * core.matrix / core.vector
    if not low <= times <= high:
        has = f"the 16-bit rate {rate.text} is {ratio(times)} times the vector rate {vector.text}"
        chips = f"chips of this kind have {ratio(low)} to {ratio(high)}"
        yield vector, f"{has}; {chips}; is one of them sparse, or of another chip?"


@rule("HW011")
def ridge_point(sheet: Sheet, _: RuleContext) -> Findings:
    """An implausible ridge point (FLOP per byte) for the type of memory."""
    tier, rate = main_tier(sheet), sixteen_bit(sheet)
    if not tier or not rate or not tier.bandwidth or not tier.bandwidth.si:
        return
    low, high = band("ridge", host_key(sheet), sheet.word("kind"), tier.family)
    ridge = rate.si / tier.bandwidth.si
    if not low <= ridge <= high:
        has = f"{rate.text} over {tier.bandwidth.text} is {ratio(ridge)} FLOP per byte"
        chips = f"chips with such memory have {ratio(low)} to {ratio(high)}"
        ask = "check prefixes, bits and bytes, sparsity, and that both numbers describe one chip"
        yield tier.bandwidth, f"{has}; {chips}; {ask}"


@rule("HW012")
def cores_are_processors(sheet: Sheet, _: RuleContext) -> Findings:
    """Cores counted in the wrong unit."""
    cores = sheet.numbers.get("cores")
    limit = row("core_counts", host_key(sheet), sheet.word("kind")).get("most")
    if cores and limit and cores.si > limit:
        message = f"{cores.text} is more than any such chip has ({limit:,})"
        yield cores, f"{message}; does it count lanes or CUDA cores?"


@rule("HW073")
def ranks_are_of_one_chip(sheet: Sheet, _: RuleContext) -> Findings:
    """More ranks per chip than any chip has."""
    ranks, limit = sheet.numbers.get("ranks"), row("ranks")["most"]
    if ranks and ranks.si > limit:
        yield ranks, f"{ranks.text} is more than any chip has ({limit}); is it for one chip?"


@rule("HW013")
def flops_per_watt(sheet: Sheet, _: RuleContext) -> Findings:
    """More FLOP/s per watt than any chip of its year."""
    rate, power = sixteen_bit(sheet), sheet.numbers.get("power.chip")
    if not rate or not power or not power.si:
        return
    limit, per_watt = by_year("rate_per_watt", sheet.year), rate.si / power.si
    if not 0.01e12 <= per_watt <= limit:
        has = f"{rate.text} at {power.text} is {per_watt / 1e12:.3g} TFLOP/s per watt"
        chips = f"chips released up to then reach {limit / 1e12:.3g} and none is below 0.01"
        yield rate, f"{has}; {chips}; is it sparse, or for two chips?"


@rule("HW014", "note", strict=True)
def architecture_is_known(sheet: Sheet, _: RuleContext) -> Findings:
    """An architecture unknown to the rules."""
    name = sheet.word("architecture")
    if name and sheet.si("cores") and core_of(sheet) is None:
        message = f"FLOP per cycle of '{name}' are unknown, so its clock goes unchecked"
        yield ("architecture",), message


@rule("HW015")
def rates_are_of_chips(sheet: Sheet, _: RuleContext) -> Findings:
    """A rate outside the range for chips."""
    low, high = band("rates", sheet.word("kind"))
    for number in sheet.numbers.values():
        if number.dimension == "compute rate" and not low <= number.si <= high:
            ends = f"{amount(low, 'compute rate')} to {amount(high, 'compute rate')}"
            yield (
                number,
                f"{number.text} is outside the range of such chips, {ends}; is the prefix right?",
            )
