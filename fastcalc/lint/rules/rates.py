"""HW00x and HW01x: peak rates against each other, against the cores, and against the memory."""

from collections.abc import Iterator

from fastcalc.catalogue.faults import Fault
from fastcalc.lint.document import Sheet, WrittenNumber
from fastcalc.lint.rule import HARDWARE, Setting, rule
from fastcalc.lint.silicon import (
    GB,
    by_year,
    core_of,
    is_geforce,
    is_uniform,
    main_tier,
    sixteen_bit,
)
from fastcalc.lint.words import amount, near, ratio

_SPARSE = "is one of them printed with sparsity (twice the dense rate)?"


def _against(
    sheet: Sheet, id_: str, name: str, below: WrittenNumber | None, allowed: tuple[float, ...]
) -> Iterator[Fault]:
    """Yield a fault where the ratio of two peaks is none of those that chips have."""
    upper = sheet.numbers.get(f"peak.{name}")
    if not upper or not below or not below.si or not upper.si:
        return
    found = upper.si / below.si
    if not any(near(found, one, 0.06) for one in allowed):
        other = below.name.removeprefix("peak.")
        known = " or ".join(ratio(one) for one in allowed)
        message = f"{upper.text} is {ratio(found)} times the {other} rate {below.text}; chips have "
        yield sheet.fault(id_, upper, f"{message}{known}; {_SPARSE}")


@rule(
    "HW001",
    "warning",
    "the fp8 rate is neither one nor two times the 16-bit rate",
    kinds=HARDWARE,
    why="A sparse rate beside a dense one doubles what every fp8 model seems to do.",
    seen="An L40S with 1,466 TFLOPS (sparse) beside a dense 362 in a simulator's table "
    "(inference-sim, issue 1738).",
    mend="Write both dense: 733 beside 362.",
)
def fp8_against_16_bit(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the fp8 rate with the 16-bit rate."""
    known = (2.0,) if sheet.word("vendor").startswith(("nvidia", "amd")) else (1.0, 2.0)
    yield from _against(sheet, "HW001", "fp8", sixteen_bit(sheet), known)


@rule(
    "HW002",
    "warning",
    "the fp4 rate is neither two nor about three times the fp8 rate",
    kinds=HARDWARE,
    why="FP4 is what vendors print largest, and mostly with sparsity.",
    seen="The DGX Spark's '1 petaFLOP', which is sparse FP4: 500 TFLOPS dense.",
    mend="Write the dense rate; only Blackwell Ultra has three times its fp8 rate.",
)
def fp4_against_fp8(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the fp4 rate with the fp8 rate."""
    # GeForce cards run fp4 at the full rate and fp8 into 32-bit sums at half of theirs.
    known = (2.0, 4.0) if is_geforce(sheet) else (2.0, 3.0, 3.11)
    yield from _against(sheet, "HW002", "fp4", sheet.numbers.get("peak.fp8"), known)


@rule(
    "HW003",
    "warning",
    "the int8 rate is not one, two or four times the 16-bit rate",
    kinds=HARDWARE,
    why="Integer rates are printed with sparsity as often as floating ones.",
    seen="General tables give Blackwell Ultra 5,000 TOPS of INT8; it has 165.",
    mend="Write the dense rate. A chip that nearly dropped INT8 has less than a fifth.",
)
def int8_against_16_bit(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the int8 rate with the 16-bit rate, unless integers were all but dropped."""
    integer, floating = sheet.numbers.get("peak.int8"), sixteen_bit(sheet)
    if integer and floating and floating.si and integer.si / floating.si < 0.1:
        return
    known: tuple[float, ...] = (1.0, 2.0) if is_uniform(sheet) else (1.0, 2.0, 4.0)
    known = (2.0,) if sheet.word("kind") == "tpu" else known
    yield from _against(sheet, "HW003", "int8", floating, known)


@rule(
    "HW004",
    "warning",
    "the int8 rate is neither one nor two times the fp8 rate",
    kinds=HARDWARE,
    why="Where both run on the same units, one of the two is sparse or of another chip.",
    seen="'FP8 1,979 / INT8 3,958' copied from two columns of one data sheet.",
    mend="Take both from the same column.",
)
def int8_against_fp8(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the int8 rate with the fp8 rate, unless integers were all but dropped."""
    integer, floating = sheet.numbers.get("peak.int8"), sheet.numbers.get("peak.fp8")
    if integer and floating and floating.si and integer.si / floating.si < 0.1:
        return
    known = (1.0,) if is_uniform(sheet) else (1.0, 2.0)
    yield from _against(sheet, "HW004", "int8", floating, known)


@rule(
    "HW005",
    "warning",
    "the tf32 rate is neither half nor all of the 16-bit rate",
    kinds=HARDWARE,
    why="TF32 is printed sparse in the same tables; half of the dense 16-bit rate is dense.",
    seen="'TF32 989 TFLOPS' of an H100, sparse, beside a dense 989.5 of BF16.",
    mend="Write half of the 16-bit rate: 494.7.",
)
def tf32_against_16_bit(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the tf32 rate with the 16-bit rate."""
    below = sixteen_bit(sheet)
    if sheet.word("vendor").startswith(("nvidia", "amd")):
        yield from _against(sheet, "HW005", "tf32", below, (0.5,))
    else:
        yield from _against(sheet, "HW005", "tf32", below, (0.25, 0.5, 1.0))


@rule(
    "HW006",
    "warning",
    "the bf16 and fp16 rates differ",
    kinds=HARDWARE,
    why="Tensor units run both at one rate; a difference is one of the two taken wrong.",
    seen="A GeForce's fp16 rate into 16-bit sums (330) beside bf16 into 32-bit sums (165).",
    mend="Write bf16 with 32-bit accumulation; on GeForce fp16 may be twice that.",
)
def bf16_against_fp16(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the two 16-bit rates."""
    is_halved = is_geforce(sheet) or sheet.word("architecture") == "cdna"
    known = (0.5, 1.0) if is_halved else (1.0,)
    yield from _against(sheet, "HW006", "bf16", sheet.numbers.get("peak.fp16"), known)


@rule(
    "HW007",
    "warning",
    "narrow formats against wider ones",
    kinds=HARDWARE,
    why="fp6 runs as fp8 or fp4 does, int4 at one, two or four times int8.",
    seen="An MI355X with '20 PF' of FP6 and FP4: sparse, dense is 10.",
    mend="Write the dense rate.",
)
def narrow_against_wide(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare fp6 with fp8 and int4 with int8."""
    yield from _against(sheet, "HW007", "fp6", sheet.numbers.get("peak.fp8"), (1.0, 2.0))
    yield from _against(sheet, "HW007", "fp6", sixteen_bit(sheet), (2.0, 4.0))
    yield from _against(sheet, "HW007", "int4", sheet.numbers.get("peak.int8"), (1.0, 2.0, 4.0))
    single, half = sheet.numbers.get("peak.fp32"), sixteen_bit(sheet)
    if single and half and single.si > 1.05 * half.si:
        message = f"{single.text} exceeds the 16-bit rate {half.text}; is that one cut short?"
        yield sheet.fault("HW007", single, message)


@rule(
    "HW008",
    "warning",
    "the 16-bit rate asks for a clock that the cores do not have",
    kinds=HARDWARE,
    why="Cores times FLOP a cycle times the clock is the dense rate; twice that is the sparse one.",
    seen="'GB200: 4,500 TFLOPS bf16' in a public simulator: two chips, or sparsity.",
    mend="Write the dense rate of one chip; check 'cores' (SMs or CUs, not CUDA cores).",
)
def implied_clock(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Divide the 16-bit rate by what the cores do in a cycle."""
    core, cores, rate = core_of(sheet), sheet.si("cores"), sixteen_bit(sheet)
    if not core or not cores or not rate or not rate.si:
        return
    clock = rate.si / (cores * core.matrix) / GB
    if not core.slowest <= clock <= core.fastest:
        yield sheet.fault(
            "HW008",
            rate,
            f"{rate.text} over {cores:,.0f} cores at {core.matrix:,.0f} FLOP a cycle is a clock of "
            f"{ratio(clock)} GHz; this architecture runs at {core.slowest} to {core.fastest}: "
            "dense, of one chip, and with the right number of cores?",
        )


@rule(
    "HW009",
    "warning",
    "the vector rate asks for a clock that the cores do not have",
    kinds=HARDWARE,
    why="The vector rate says what unpacking narrow weights costs.",
    seen="The FP32 tensor rate of a table in place of the FP32 vector rate.",
    mend="Write the FP32 rate without tensor or matrix units.",
)
def implied_vector_clock(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Divide the vector rate by what the lanes do in a cycle."""
    core, cores, rate = core_of(sheet), sheet.si("cores"), sheet.numbers.get("vector")
    if not core or not core.vector or not cores or not rate:
        return
    clock = rate.si / (cores * core.vector) / GB
    if not 0.9 * core.slowest <= clock <= 1.1 * core.fastest:
        yield sheet.fault(
            "HW009",
            rate,
            f"{rate.text} over {cores:,.0f} cores at {core.vector:,.0f} FLOP a cycle is a clock of "
            f"{ratio(clock)} GHz; this architecture runs at {core.slowest} to {core.fastest}",
        )


@rule(
    "HW010",
    "warning",
    "the vector rate is far from the 16-bit rate",
    kinds=HARDWARE,
    why="A vector rate above the matrix rate, or a fortieth of it, is one of the two misread.",
    seen="TFLOPS and GFLOPS in one table.",
    mend="Write the FP32 rate without tensor units, and the dense 16-bit rate with them.",
)
def vector_against_matrix(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare the vector rate with the matrix rate, as tightly as the architecture allows."""
    rate, vector, core = sixteen_bit(sheet), sheet.numbers.get("vector"), core_of(sheet)
    if not rate or not vector or not vector.si:
        return
    found = rate.si / vector.si
    low, high = 0.95, 40.0
    if core and core.vector:
        low, high = 0.7 * core.matrix / core.vector, 1.3 * core.matrix / core.vector
    if not low <= found <= high:
        yield sheet.fault(
            "HW010",
            vector,
            f"the 16-bit rate {rate.text} is {ratio(found)} times the vector rate {vector.text}; "
            f"chips of this kind have {ratio(low)} to {ratio(high)}; is one sparse, or of another "
            "chip?",
        )


# FLOP a byte that chips of 2016 to 2026 have, by the family of their memory.
_RIDGE = {
    "hbm": (30.0, 640.0),
    "gddr": (60.0, 480.0),
    "lpddr": (20.0, 900.0),
    "sram": (0.3, 20.0),
    "ddr": (5.0, 400.0),
}
_RIDGE_APPLE = (19.5, 46.0)


@rule(
    "HW011",
    "warning",
    "FLOPs against bytes out of the band of the memory",
    kinds=HARDWARE,
    why="The ridge point, peak over bandwidth, sorts chips: a slip of a prefix or of bits for "
    "bytes throws a chip out of its family.",
    seen="A wafer with 21 TB/s instead of 21 PB/s.",
    mend="Check prefixes (T and P), bits and bytes, and whether both are of one chip.",
)
def ridge_point(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare peak over bandwidth with what chips of that kind of memory have."""
    tier, rate = main_tier(sheet), sixteen_bit(sheet)
    if not tier or not rate or not tier.bandwidth or not tier.bandwidth.si:
        return
    low, high = _RIDGE.get(tier.family, (0.3, 1000.0))
    if sheet.word("kind") == "apple":
        low, high = _RIDGE_APPLE
    found = rate.si / tier.bandwidth.si
    if not low <= found <= high:
        yield sheet.fault(
            "HW011",
            tier.bandwidth,
            f"{rate.text} over {tier.bandwidth.text} is {ratio(found)} FLOP a byte; chips with "
            f"such memory have {ratio(low)} to {ratio(high)}: a prefix, bits for bytes, sparsity, "
            "or numbers of two different chips?",
        )


_CORES = {"gpu": 420, "apple": 100, "npu": 128, "tpu": 32, "cpu": 512, "soc": 128, "rdu": 2000}


@rule(
    "HW012",
    "warning",
    "cores counted in another unit",
    kinds=HARDWARE,
    why="Floors and per-core rates of engines are per SM or CU.",
    seen="'16,896 cores' of an H100: CUDA lanes; it has 132 SMs.",
    mend="Count SMs, CUs or tensor cores as the device reports them.",
)
def cores_are_processors(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find a number of cores that counts lanes."""
    cores, most = sheet.numbers.get("cores"), _CORES.get(sheet.word("kind"))
    if cores and most and cores.si > most:
        message = f"{cores.text} is more than any such chip has ({most:,}): lanes, or CUDA cores?"
        yield sheet.fault("HW012", cores, message)


# FLOP/s a watt of the best chips on sale, dense 16 bit, with a little room.
_PER_WATT = ((2017, 0.5e12), (2021, 1.05e12), (2025, 2.6e12), (2100, 5.0e12))


@rule(
    "HW013",
    "warning",
    "more FLOPs a watt than any chip of its year",
    kinds=HARDWARE,
    why="Sparse rates and superchips double FLOPs at the same watts.",
    seen="WSE-3 with 125 PFLOPS at 23 kW: five times a GPU of its year, because it is sparse.",
    mend="Write the dense rate, and FLOPs and watts of the same thing.",
)
def flops_per_watt(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Compare FLOPs a watt with the best of the year."""
    rate, power = sixteen_bit(sheet), sheet.numbers.get("power.chip")
    if not rate or not power or not power.si:
        return
    most, found = by_year(_PER_WATT, sheet.year), rate.si / power.si
    if not 0.01e12 <= found <= most:
        yield sheet.fault(
            "HW013",
            rate,
            f"{rate.text} at {power.text} is {found / 1e12:.3g} TFLOP/s a watt; chips released up "
            f"to then reach {most / 1e12:.3g} and none is below 0.01: sparse, or of two chips?",
        )


@rule(
    "HW014",
    "note",
    "an architecture that the rules know nothing of",
    kinds=HARDWARE,
    scope="strict",
    why="Dense against sparse is told by cores and FLOP a cycle; without them only ratios help.",
    seen="A new chip under a vendor's code name.",
    mend="Nothing to mend; take more care with sparsity.",
)
def architecture_is_known(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Tell where the implied clock could not be checked for want of a table."""
    name = sheet.word("architecture")
    if name and sheet.si("cores") and core_of(sheet) is None:
        message = f"FLOP a cycle of '{name}' are not known here, so its clock goes unchecked"
        yield sheet.fault("HW014", ("architecture",), message)


_RATES = {
    "wafer": (1e15, 5e17),
    "gpu": (4e12, 0.6e17),
    "tpu": (2e13, 0.6e17),
    "npu": (1e13, 0.6e17),
    "apple": (1e12, 1e15),
}


@rule(
    "HW015",
    "warning",
    "a rate far from any chip",
    kinds=HARDWARE,
    why="A slip of a thousand survives every ratio when all rates share it.",
    seen="TFLOPS read as GFLOPS for a whole table (imp, issue 1668).",
    mend="Check the prefix.",
)
def rates_are_of_chips(sheet: Sheet, _: Setting) -> Iterator[Fault]:
    """Find peaks beyond what one chip or one wafer has."""
    low, high = _RATES.get(sheet.word("kind"), (0.2e12, 0.3e17))
    for number in sheet.numbers.values():
        if number.dimension == "compute rate" and not low <= number.si <= high:
            band = f"{amount(low, 'compute rate')} to {amount(high, 'compute rate')}"
            message = f"{number.text} is outside what one such chip does, {band}: the prefix?"
            yield sheet.fault("HW015", number, message)
