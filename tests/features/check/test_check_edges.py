"""Where the check begins to doubt a number: just inside and just outside what its rules say."""

import json
import re

import pytest

from fastcalc.catalogue.schema.engine_parameters import PARAMETERS as DECLARED
from tests.features.check.test_check import faults
from tests.helpers import ROOT, every, run
from tests.rule_examples import child, put, value

CHIP, GAMING, TPU, WAFER, DESKTOP, CORES, MODEL, EXPERTS, PICKS, WINDOWS = (
    "hardware/h100-sxm",
    "hardware/rtx-4090",
    "hardware/tpu-v5e",
    "hardware/wse-3",
    "hardware/ddr5-2ch-nvme",
    "hardware/inferentia-2",
    "models/llama-3.1-8b",
    "models/mixtral-8x7b",
    "models/deepseek-v3.2",
    "models/gpt-oss-120b",
)
ASSUMED = "models/dense-20b"
# The rule; the file; what is changed there; numbers that are fine, and those that are not.
EDGES = [
    # All in, power is 1 to 4 times the chip's 700 W.
    ("HW062", CHIP, "value: 1730 W", "value: {} W", (700, 2800), (699, 2801)),
    # A chip has up to a few reticles: 60 to 3,600 mm2.
    ("HW063", CHIP, "value: 814 mm2", "value: {} mm2", (61, 3599), (59, 3601)),
    # 700 W on 0.02 to 1.6 W a mm2: 437.5 to 35,000 mm2.
    ("HW065", CHIP, "value: 814 mm2", "value: {} mm2", (438, 34_990), (437, 35_010)),
    # A rent of 0.8015 to 10 USD/h pays it back in 1,500 to 55,000 hours.
    ("HW067", CHIP, "value: 26000 USD", "value: {} USD", (15_001, 44_082), (14_999, 44_083)),
    # 85.9 GB of HBM at 40 to 700 USD each.
    ("HW068", CHIP, "value: 26000 USD", "value: {} USD", (3436, 60_129), (3435, 60_130)),
    ("HW069", CHIP, 'released: "2022"', "released: {}", (2012, 2028), (2011, 2029)),
    ("HW069", CHIP, 'released: "2022"', 'released: "{}"', ("2028-12", "soon"), ("2029-01", "2011-12")),
    # HBM3 was first sold in 2022.
    ("HW028", CHIP, 'released: "2022"', "released: {}", (2022,), (2021,)),
    # Verda's own 2.29 USD/h on demand, whatever others ask.
    ("HW070", CHIP, "value: 0.8015 USD/h", "value: {} USD/h", (2.29, 0.01), (2.30,)),
    # Others ask 2.29, 2.95 and 3.99 on demand: 4.5 times 2.95, the median, are 13.275.
    ("HW071", CHIP, "value: 10.00 USD/h", "value: {} USD/h", (13.27,), (13.28,)),
    # Spot at 1.5 times 3.47, the median of 2.29, 2.95, 3.99 and 10 on demand.
    ("HW071", CHIP, "value: 1.25 USD/h", "value: {} USD/h", (5.20,), (5.21,)),
    # 0.2 to 3.6 USD/h for each TB/s, of which it has 3.35.
    ("HW072", CHIP, "value: 2.95 USD/h", "value: {} USD/h", (0.68, 12.05), (0.66, 12.07)),
    # Eight cores of a Trainium2, each alone.
    ("HW073", CORES, "ranks: {value: 2", "ranks: {{value: {}", (1, 8), (9, 64)),
    # Of 2026-11-21: a year and a day ago at most.
    ("PV008", CHIP, '"2026-05"', '"{}"', ("2025-11-20", "2026-11-21"), ("2025-11-19",)),
    ("MD009", MODEL, "hidden_size: 4096", "hidden_size: {}", (4128, 1024, 1016), (4112, 1040, 1020)),
    ("MD009", MODEL, "head_dim: 128", "head_dim: {}", (136,), (132,)),
    ("MD010", MODEL, "width: 14336", "width: {}", (1024, 106_496), (1023, 106_497)),
    ("MD010", EXPERTS, "width: 14336", "width: {}", (164, 24_576), (163, 24_577)),
    ("MD011", MODEL, "head_dim: 128", "head_dim: {}", (24, 640), (16, 648)),
    ("MD012", MODEL, "vocabulary: 128256", "vocabulary: {}", (1000, 1_100_000), (999, 1_100_001)),
    ("MD012", MODEL, "max_context: 131072", "max_context: {}", (512, 20_000_000), (511, 20_000_001)),
    ("MD013", MODEL, "count: 32", "count: {}", (300,), (301,)),
    ("MD008", WINDOWS, "window: 128", "window: {}", (131_072,), (131_073,)),
    ("MD021", WINDOWS, "window: 128", "window: {}", (64, 262_144), (63, 262_145)),
    ("MD021", PICKS, "top_k: 2048", "top_k: {}", (128, 16_384), (127, 16_385)),
    # Within a quarter of the size that the name says; a trillion is a thousand billion.
    ("MD016", MODEL, "aliases: [", "aliases: [mine-{}, ", ("6.5b", "10.7b", "0.008t"), ("6.4b", "10.8b", "0.08t", "8t")),
    # The largest domain of any GPU that is sold joins 576.
    ("HW045", CHIP, "domain: {value: 8,", "domain: {{value: {},", (8, 576), (580,)),
    # As printed: 128, and nothing else.
    ("MD019", WINDOWS, "window: 128", "window: {}", (128,), (127, 256)),
    # 8.03B, 1% about.
    ("MD006", MODEL, 'label: "8.03B"', 'label: "{}B"', (8.03, 7.96, 8.1), (7.94, 8.12)),
    # 60.8 GiB of a checkpoint, 2% about.
    ("MD020", WINDOWS, "value: 60.8 GiB", "value: {} GiB", (60.0, 61.9), (59.3, 62.1)),
    # The first configuration of a transformer is of June 2017, and this one was read in 2026.
    ("MD015", MODEL, 'released: "2024-07"', 'released: "{}"', ("2017-06", "2026-11"), ("2017-05", "2026-12")),
    # Rates are multiples of each other within 6%: of 989.5 TFLOP/s at 16 bits and 1,979 at 8.
    ("HW001", CHIP, "value: 1979 TFLOP/s", "value: {} TFLOP/s", (1861, 2097), (990, 1860, 2098)),
    ("HW003", CHIP, "value: 1979 TOPS", "value: {} TOPS", (98, 931, 1048, 1861, 2097), (99, 930, 1049, 1860, 2098, 3958)),
    ("HW003", GAMING, "value: 660.6 TOPS", "value: {} TOPS", (165, 330, 661), (495, 1321)),
    ("HW003", TPU, "value: 393 TOPS", "value: {} TOPS", (394, 19), (197, 788, 20)),
    ("HW004", CHIP, "value: 1979 TOPS", "value: {} TOPS", (197, 1861, 2097), (198, 1860, 2098, 3958)),
    ("HW004", GAMING, "value: 660.6 TOPS", "value: {} TOPS", (330, 661), (495, 1321)),
    ("HW005", CHIP, "  fp8: {value", "  tf32: {{value: {} TFLOP/s, source: datasheet}}\n  fp8: {{value", (466, 524), (247, 465, 525, 989)),
    ("HW005", TPU, "  int8: {value", "  tf32: {{value: {} TFLOP/s, source: tpu-v5e}}\n  int8: {{value", (49, 98, 197), (24, 70, 394)),
    ("HW006", CHIP, "fp16: {value: 989.5", "fp16: {{value: {}", (934, 1052), (933, 1053, 1979)),
    ("HW006", GAMING, "fp16: {value: 330.3", "fp16: {{value: {}", (165, 330), (248, 82)),
    ("HW007", CHIP, "  fp8: {value", "  fp6: {{value: {} TFLOP/s, source: datasheet}}\n  fp8: {{value", (1861, 2097, 3721, 4195), (1860, 2098, 3720, 4196)),
    ("HW007", CHIP, "  fp8: {value", "  int4: {{value: {} TOPS, source: datasheet}}\n  fp8: {{value", (1861, 3958, 7442, 8390), (1860, 7441, 8391)),
    ("HW007", CHIP, "  fp8: {value", "  fp32: {{value: {} TFLOP/s, source: datasheet}}\n  fp8: {{value", (67, 1038), (1040,)),
    # 132 SMs of 4,096 FLOP a cycle at 1.4 to 2.05 GHz; 256 on vectors, with a tenth of room.
    ("HW008", CHIP, "bf16: {value: 989.5", "bf16: {{value: {}", (757, 1108), (756, 1109)),
    ("HW009", CHIP, "value: 67 TFLOP/s", "value: {} TFLOP/s", (42.6, 76.2), (42.5, 76.3)),
    # 4,096 / 256 = 16 times the vector rate, from 0.7 to 1.3 of that: 47.57 to 88.35 TFLOP/s.
    ("HW010", CHIP, "value: 67 TFLOP/s", "value: {} TFLOP/s", (47.6, 88.3), (47.5, 88.4)),
    # A shape without a source that was read: 366 days from today, or 15 times as many if assumed.
    ("MD015", ASSUMED, "hypothetical: true", 'released: "{}"', ("2027-11-22",), ("2027-11-23",)),
    ("MD015", ASSUMED, "shape_source: assumption", 'released: "{}"\nshape_source: assumption', ("2041-12-02",), ("2041-12-03",)),
    # 15.6 PFLOP/s on a core whose vectors are unknown: 0.95 to 40 times the vector rate.
    ("HW010", WAFER, "\npeak:", "\nvector: {{value: {} PFLOP/s, source: semianalysis}}\npeak:", (0.391, 16.4), (0.389, 16.5)),
    # 25 to 640 FLOP a byte of HBM: 1.546 to 39.58 TB/s.
    ("HW011", CHIP, "value: 3.35 TB/s", "value: {} TB/s", (1.55, 39.5), (1.54, 39.6)),
    ("HW012", CHIP, "value: 132,", "value: {},", (420,), (421,)),
    # 0.01 to 2.6 TFLOP/s a W of 700 W, and up to 1.05 before 2022.
    ("HW013", CHIP, "bf16: {value: 989.5", "bf16: {{value: {}", (7.1, 1819), (6.9, 1821)),
    ("HW013", CHIP, 'released: "2022"', "released: {}", (2022, 2026), (2021,)),
    ("HW015", CHIP, "bf16: {value: 989.5", "bf16: {{value: {}", (4.1, 59_999), (3.9, 60_001)),
    # Five stacks of 590 to 835 GB/s, of which 91.5 to 100.4% are seen: 73.2 to 80.32 GiB.
    ("HW021", CHIP, "value: 3.35 TB/s", "value: {} TB/s", (2.96, 4.17), (2.94, 4.18)),
    ("HW021", CHIP, "value: 80 GiB", "value: {} GiB", (73.3, 80.3), (73.1, 80.4)),
    # 85.9 GB in 16.5 to 52 ms.
    ("HW023", CHIP, "value: 3.35 TB/s", "value: {} TB/s", (1.66, 5.2), (1.65, 5.21)),
    ("HW024", CHIP, "value: 3.35 TB/s", "value: {} TB/s", (0.26, 44.9), (0.24, 45.1)),
    ("HW024", CHIP, "value: 80 GiB", "value: {} GB", (7.5, 1099), (7.3, 1101)),
    # The fabric's 26.75 PB/s, 2% about.
    ("HW026", WAFER, "value: 21 PB/s", "value: {} PB/s", (26.2, 27.3), (26.3, 27.2)),
    # 46,225 mm2 of 1.3 MB: 60.09 GB. 900,000 ports of 24 bytes at 0.8 to 1.2 GHz.
    ("HW027", WAFER, "value: 44 GB", "value: {} GB", (60,), (60.2,)),
    ("HW027", WAFER, "value: 21 PB/s", "value: {} PB/s", (17.3, 25.9), (17.2, 26)),
    # 2.4 to 12.5 GB/s a W.
    ("HW029", CHIP, "value: 700 W", "value: {} W", (269, 1395), (267, 1396)),
    # Two channels of DDR5-4400, -5600 and -8000 at 8 bytes, 1% about.
    ("HW031", DESKTOP, "value: 89.6 GB/s", "value: {} GB/s", (69.8, 88.8, 90.4, 129.2), (69.6, 144, 44.8)),
    # 16 lanes of PCIe 5 and, with 1% of room, no more; a quarter of them at least, nearly.
    ("HW032", DESKTOP, "value: 63 GB/s", "value: {} GB/s", (15.2, 63.6), (15.1, 63.7)),
    ("HW032", DESKTOP, "link: {value: 7450 MB/s", "link: {{value: {} MB/s", (7377, 15_900), (7376, 15_910)),
    ("HW033", DESKTOP, "shared_by: {value: 2", "shared_by: {{value: {}", (4,), (5,)),
    # 450 GB/s, 6% about; 0.4 to 26% of the memory's 3,350, and 0.05 to 13% between nodes.
    ("HW041", CHIP, "value: 450 GB/s", "value: {} GB/s", (476,), (478,)),
    ("HW042", CHIP, "value: 450 GB/s", "value: {} GB/s", (13.5, 870), (13.3, 872)),
    ("HW042", CHIP, "value: 400 Gb/s", "value: {} Gb/s", (13.5, 3483), (13.3, 3485)),
    ("HW043", CHIP, "value: 400 Gb/s", "value: {} Gb/s", (3600,), (3601,)),
    # Adapters of a Hopper have 400 Gb/s, with 5% of room.
    ("HW044", CHIP, "value: 400 Gb/s", "value: {} Gb/s", (419,), (421,)),
    ("HW045", CHIP, "domain: {value: 8,", "domain: {{value: {},", (1, 3, 7, 12, 18, 20), (9, 10, 22)),
    ("HW046", CHIP, "value: 10 us", "value: {} us", (0.11, 59.9), (0.09, 60.1)),
    ("HW047", CHIP, "scope: one GPU", "scope: {}", ("one chip", "one GPU of a server", "single die of a node"), ("two GPUs", "8 chips", "12 chips", "a server", "one node")),
    ("HW061", CHIP, "value: 700 W", "value: {} W", (15, 2600), (14, 2601)),
    # 10 to 180 million transistors on each of 814 mm2.
    ("HW064", CHIP, "area: {value", "transistors: {{value: {}, source: architecture}}\narea: {{value", (8_141_000_000, 146_510_000_000), (8_139_000_000, 146_530_000_000)),
    ("HW066", CHIP, "value: 2.95 USD/h", "value: {} USD/h", (0.06, 29.9), (0.04, 30.1)),
    ("HW066", CHIP, "value: 26000 USD", "value: {} USD", (100, 120_000), (99, 120_001)),
    ("HW069", CHIP, 'released: "2022"', "hypothetical: true\nreleased: {}", (2012, 2041), (2011, 2042)),
    # Of 2026-11-21: a year and a day ahead at most.
    ("PV006", CHIP, 'accessed: "2026-11-21"', 'accessed: "{}"', ("2027-11-22",), ("2027-11-23",)),
    # As printed, 0.6% about; as the reading says, 1.2% about.
    ("PV009", CHIP, "value: 3.35 TB/s", "value: {} TB/s", (3.331, 3.369), (3.329, 3.371)),
    ("PV010", CHIP, "value: 450 GB/s", "value: {} GB/s", (445, 455), (444, 456)),
    ("PV013", CHIP, 'printed: "3.35TB/s"', 'printed: "{}"', ("3.35TB/s", "6.7 TB/s both directions", "3.35 TB/s or 6.7 TB/s in both directions"), ("3.35 TB/s, both directions", "3.35 TB/s bidirectional")),
    ("PV012", CHIP, "url: https://jax-ml.github.io/scaling-book/gpus/", "url: {}", ("http://a.org", "ftp://a.org/b"), ("https://a", "a.org", "https:///a.org", "https://a.org b")),
]  # fmt: skip


@pytest.mark.thorough
@every("rule,file,old,new,fine,doubtful", EDGES)
def test_a_rule_begins_to_doubt_where_it_says(
    tmp_path_factory, rule, file, old, new, fine, doubtful
):
    text = (ROOT / f"{file}.yaml").read_text()
    folder = tmp_path_factory.mktemp("edges")
    for number in (*fine, *doubtful):
        changed = put(text, (re.escape(old), new.format(number)))
        found = faults(folder, file.partition("/")[2], changed)
        assert (rule in {fault.rule for fault in found}) == (number in doubtful), number


HALF, DOUBLE, BINARY, PREFIX, ANY = (
    "if sparsity or both directions are printed",
    "is it doubled?",
    "if GB means 2^30 bytes there",
    "a prefix is wrong",
    "correct it, or let 'reading' say how it follows",
)


@every(
    "written,hint",
    [
        ("1.675 TB/s", HALF),
        ("6.7 TB/s", DOUBLE),
        # 1.024, 1.0486, 1.0737 and 1.0995 times as much: powers of 1,024 over 1,000.
        *((f"{3.35 * 1.024**power:.4f} TB/s", BINARY) for power in (1, 2, 3, 4)),
        ("3.35 GB/s", PREFIX),
        ("3.35 PB/s", PREFIX),
        ("3.53 TB/s", ANY),
        ("3.65 TB/s", ANY),
        ("13.4 TB/s", ANY),
    ],
)
def test_a_value_that_is_not_printed_is_told_what_it_may_be(tmp_path_factory, written, hint):
    """3.35 TB/s is printed: half, twice, binary prefixes, a thousand, or nothing that is known."""
    text = put((ROOT / f"{CHIP}.yaml").read_text(), ("value: 3.35 TB/s", f"value: {written}"))
    found = faults(tmp_path_factory.mktemp("hints"), "h100-sxm", text)
    (message,) = [fault.message for fault in found if fault.rule == "PV009"]
    assert hint in message


@every(
    "capacity,bandwidth,hint",
    [
        # Five stacks of HBM3 hold 80 GiB and read 3.35 TB/s.
        ("160 GiB", "3.35 TB/s", "half the capacity would fit"),
        ("80 GiB", "6.7 TB/s", "half the bandwidth would fit"),
        ("640 GiB", "26.8 TB/s", "an eighth of both would fit; is it for one chip?"),
        ("5760 GiB", "241.2 TB/s", "a seventy-second of both would fit; is it for one chip?"),
        ("80 GiB", "3.35 PB/s", "a thousandth of the bandwidth would fit"),
        ("80 GiB", "1.675 TB/s", "twice the bandwidth would fit"),
        ("40 GiB", "3.35 TB/s", "twice the capacity would fit"),
        ("80 GiB", "418.75 GB/s", "eight times the bandwidth would fit"),
        ("10 GiB", "3.35 TB/s", "eight times the capacity would fit"),
        ("10 GiB", "418.75 GB/s", "eight times both would fit; is it for one chip?"),
        ("80 GiB", "3.35 GB/s", "a thousand times the bandwidth would fit"),
        ("80 MiB", "3.35 GB/s", "a thousand times both would fit; is it for one chip?"),
    ],
)
def test_a_memory_that_no_stacks_give_is_told_which_slip_would_explain_it(
    tmp_path_factory, capacity, bandwidth, hint
):
    text = put(
        (ROOT / f"{CHIP}.yaml").read_text(),
        ("value: 80 GiB", f"value: {capacity}"),
        ("value: 3.35 TB/s", f"value: {bandwidth}"),
    )
    found = faults(tmp_path_factory.mktemp("stacks"), "h100-sxm", text)
    (message,) = [fault.message for fault in found if fault.rule == "HW021"]
    assert message.endswith(hint)


COUNTS = {
    "two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "twelve": 12, "sixteen": 16,
    "twice": 2, "double": 2, "doubled": 2, "a third": 3, "a quarter": 4, "an eighth": 8,
    "5": 5, "72": 72,
}  # fmt: skip


@pytest.mark.thorough
@every("word,count", COUNTS.items())
def test_a_reading_names_the_count_that_leads_to_the_value(tmp_path_factory, word, count):
    """700 W of so many times as much, or of so much less, and of nothing else."""
    text = (ROOT / f"{CHIP}.yaml").read_text()
    for watts, follows in ((700 * count, True), (700 / count, True), (700 * (count + 1), False)):
        printed = rf'\g<1>printed: "{watts:.4f} W", reading: "{word} of them"'
        changed = put(
            text, (r'(chip: \{value: 700 W, source: datasheet, )printed: "[^"]*"', printed)
        )
        found = faults(tmp_path_factory.mktemp("counts"), "h100-sxm", changed)
        assert ("PV010" not in {fault.rule for fault in found}) == follows, watts


@every(
    "printed,is_doubtful",
    [
        ("3.35TB/s", False),
        ("3350", True),  # in what unit?
        ("3.35", False),  # in that of the value
        ("3350000000000", False),  # as large as in bytes a second
        ("6.7 TB/s both ways (6.7 TB/s / 2)", False),  # divided where it is printed
        ("6.7 TB/s (10.05 TB/s / 4)", True),
    ],
)
def test_printed_numbers_without_a_unit_are_in_the_value_s_own_or_in_si(
    tmp_path_factory, printed, is_doubtful
):
    text = put(
        (ROOT / f"{CHIP}.yaml").read_text(), ('printed: "3.35TB/s"', f'printed: "{printed}"')
    )
    found = faults(tmp_path_factory.mktemp("printed"), "h100-sxm", text)
    assert ("PV009" in {fault.rule for fault in found}) == is_doubtful


@every("capacity,is_doubtful", [("80 GB", True), ("79.6 GB", True), ("70.5 GB", False)])
def test_gigabytes_that_are_whole_stacks_in_binary_are_doubted(
    tmp_path_factory, capacity, is_doubtful
):
    """Five stacks of 16 GiB less what ECC takes are 79.6 GiB; no stacks give 70.5."""
    reading = r'      reading: "vendors.*\n'
    text = put(
        (ROOT / f"{CHIP}.yaml").read_text(), ("value: 80 GiB", f"value: {capacity}"), (reading, "")
    )
    found = faults(tmp_path_factory.mktemp("binary"), "h100-sxm", text)
    assert ("HW025" in {fault.rule for fault in found}) == is_doubtful


@every("power", [1, 2, 3, 4])
def test_binary_prefixes_of_a_bare_number_are_any_up_to_tera(tmp_path_factory, power):
    """3.35 is printed, and the value is so many times 1.024 of it."""
    text = put(
        (ROOT / f"{CHIP}.yaml").read_text(),
        ("value: 3.35 TB/s", f"value: {3.35 * 1.024**power:.6f} TB/s"),
        ('printed: "3.35TB/s"', 'printed: "3.35", reading: "binary"'),
    )
    found = faults(tmp_path_factory.mktemp("prefixes"), "h100-sxm", text)
    assert "PV009" not in {fault.rule for fault in found}


def test_a_memory_in_decimal_excuses_no_other(tmp_path):
    """40 GB are decimal where their reading says so; the 80 GB after them say nothing."""
    tiers = [
        "- {name: HBM2, capacity: {value: 40 GB, reading: decimal}, bandwidth: 1 TB/s}",
        "- {name: HBM3, capacity: 80 GB, bandwidth: 3.35 TB/s}",
    ]
    text = "\n".join(["id: mine", "name: Mine", "vendor: NVIDIA", "kind: gpu", "memory:", *tiers])
    found = [fault.message for fault in faults(tmp_path, "mine", text) if fault.rule == "HW025"]
    assert len(found) == 1
    assert found[0].startswith("memory[1].capacity: 80 GB is")


def test_how_far_a_shape_is_off_is_told(tmp_path):
    """512 columns more in three matrices of 32 layers: 201,326,592 of 8,030,261,248 parameters."""
    text = put((ROOT / f"{MODEL}.yaml").read_text(), ("width: 14336", "width: 14848"))
    found = {fault.rule: fault.message for fault in faults(tmp_path, "llama-3.1-8b", text)}
    assert "8,231,587,840 parameters, the checkpoint has 8,030,261,248: +2.5%" in found["MD005"]


@every(
    "ratio,is_doubtful",
    [(2, False), (3, False), (2.85, False), (3.11, False), (2.5, True), (3.5, True), (4, True)],
)
def test_four_bits_run_two_or_about_three_times_as_fast_as_eight(
    tmp_path_factory, ratio, is_doubtful
):
    text = put(
        (ROOT / "hardware/b200.yaml").read_text(),
        value("fp8", "4500 TFLOP/s"),
        value("fp4", f"{4500 * ratio} TFLOP/s"),
    )
    found = faults(tmp_path_factory.mktemp("fp4"), "b200", text)
    assert ("HW002" in {fault.rule for fault in found}) == is_doubtful


# A value of a parameter of engines; values that some engine has, with room, and those that none has.
PARAMETERS = [
    ("bandwidth_fraction", ("0.4", "0.98"), ("0.39", "0.99")),
    ("bandwidth_per_core", ("1 GB/s", "100 GB/s"), ("0.99 GB/s", "100.1 GB/s")),
    ("compute_fraction", ("0.1", "0.98"), ("0.09", "0.99")),
    ("compute_per_core", ("0.1 TFLOP/s", "100 TFLOP/s"), ("0.09 TFLOP/s", "101 TFLOP/s")),
    ("grouped_gemm_fraction", ("0.05", "1"), ("0.04",)),
    ("block_gemm_fraction", ("0.1", "0.98"), ("0.09", "0.99")),
    ("narrow_expert_width", ("8", "512"), ("7", "513")),
    ("dequantization_operations", ("0.25", "16"), ("0.2", "16.5")),
    ("link_fraction", ("0.1", "0.98"), ("0.09", "0.99")),
    ("collective_latency", ("1 us", "150 us"), ("0.9 us", "151 us")),
    ("crossing_latency", ("1 us", "150 us"), ("0.9 us", "151 us")),
    ("rank_wait", ("1 us", "150 us"), ("0.9 us", "151 us")),
    ("decode_layer_floor", ("4 us", "2 ms"), ("3.9 us", "2.1 ms")),
    ("prefill_layer_floor", ("4 us", "2 ms"), ("3.9 us", "2.1 ms")),
    ("expert_layer_extra", ("0.05", "8"), ("0.04", "8.1")),
    ("latent_layer_extra", ("0.05", "4"), ("0.04", "4.1")),
    ("indexer_layer_extra", ("0.05", "4"), ("0.04", "4.1")),
    ("recurrent_layer_extra", ("0.05", "4"), ("0.04", "4.1")),
    ("state_copies", ("0.5", "4"), ("0.4", "4.1")),
    ("floor_width_exponent", ("0.1", "1"), ("0.09",)),
    ("sequence_overhead", ("0.5 us", "5 ms"), ("0.49 us", "5.1 ms")),
    ("stage_overhead", ("0.5 us", "5 ms"), ("0.49 us", "5.1 ms")),
    ("request_overhead", ("0.1 ms", "2 s"), ("0.09 ms", "2.1 s")),
    ("expert_correlation", ("0.4", "1"), ("0.39",)),
    ("expert_imbalance", ("1", "4"), ("4.1",)),
    ("memory_fraction", ("0.6", "1"), ("0.59",)),
    ("free_fraction", ("0.6", "1"), ("0.59",)),
    ("reported_fraction", ("0.6", "1"), ("0.59",)),
    ("cache_fraction", ("0.6", "1"), ("0.59",)),
    ("small_memory", ("10 GB", "1000 GB"), ("9 GB", "1001 GB")),
    ("small_sequences", ("16", "16384"), ("15", "16385")),
    ("small_chunk", ("64", "1000000"), ("63", "1000001")),
    ("large_memory", ("10 GB", "1000 GB"), ("9 GB", "1001 GB")),
    ("large_chunk", ("64", "1000000"), ("63", "1000001")),
    ("sampler_copies", ("0.5", "20"), ("0.4", "21")),
    ("rotary_memory", ("1", "8"), ("0.9", "9")),
    ("mrope_positions", ("1", "8"), ("9",)),
    ("stored_logits", ("0.5", "4"), ("0.4", "4.1")),
    ("chunk_logits", ("0.5", "4"), ("0.4", "4.1")),
    ("whole_prompts", ("1024", "100000000"), ("1023", "100000001")),
    ("context_chunk", ("1024", "1000000"), ("1023", "1000001")),
    ("indexer_lengths", ("1", "100"), ("0.9", "101")),
    ("long_indexer_lengths", ("1", "100"), ("0.9", "101")),
    ("long_indexer_tokens", ("1024", "100000000"), ("1023", "100000001")),
    ("gathered_prompts", ("1", "64"), ("0.9", "65")),
    ("compressed_heads", ("1", "1024"), ("1025",)),
    ("embedding_copies", ("0.5", "4"), ("0.4", "4.1")),
    ("expert_rows", ("1", "1024"), ("1025",)),
    ("expert_scale_bits", ("8", "64"), ("7", "65")),
    ("indexer_memory", ("10 MB", "10 GB"), ("9 MB", "11 GB")),
    ("encoder_divided_memory", ("10 MB", "100 GB"), ("9 MB", "101 GB")),
    ("encoder_tokens", ("64", "1000000"), ("63", "1000001")),
    ("rank_memory", ("10 MB", "10 GB"), ("9 MB", "11 GB")),
    ("layer_buffers", ("0.5", "4"), ("0.4", "4.1")),
    ("chunk_memory", ("10 kB", "10 MB"), ("9 kB", "11 MB")),
    ("graph_memory", ("100 kB", "1 GB"), ("90 kB", "1.1 GB")),
    ("largest_graph", ("1", "4096"), ("4097",)),
    ("graph_layer_memory", ("10 kB", "10 MB"), ("9 kB", "11 MB")),
    ("graph_row_memory", ("10 kB", "10 MB"), ("9 kB", "11 MB")),
    ("graph_splits", ("1", "256"), ("0.9", "257")),
    ("graph_buffer_copies", ("1", "4"), ("0.9", "5")),
    ("narrow_cache_memory", ("10 MB", "10 GB"), ("9 MB", "11 GB")),
    ("flash_columns", ("16", "4096"), ("15", "4097")),
    ("encoder_memory", ("10 MB", "100 GB"), ("9 MB", "101 GB")),
    ("runtime_memory", ("10 MB", "10 GB"), ("9 MB", "11 GB")),
    ("joined_memory", ("10 MB", "50 GB"), ("9 MB", "51 GB")),
    ("replica_memory", ("10 MB", "10 GB"), ("9 MB", "11 GB")),
    ("expert_columns", ("2", "1024"), ("1025",)),
    ("prompt_chunk", ("64", "1000000"), ("63", "1000001")),
    ("block_size", ("1", "256"), ("257",)),
    ("state_blocks", ("1", "16"), ("17",)),
    ("minimum_rows", ("1", "512"), ("513",)),
    ("micro_batches", ("1", "64"), ("65",)),
    ("max_sequences", ("16", "16384"), ("15", "16385")),
    ("host_bandwidth_fraction", ("0.3", "1"), ("0.29",)),
    ("host_link_fraction", ("0.3", "1"), ("0.29",)),
    ("host_layer_overhead", ("4 us", "2 ms"), ("3.9 us", "2.1 ms")),
]  # fmt: skip


@pytest.mark.thorough
@every("name,fine,doubtful", PARAMETERS)
def test_parameters_that_no_engine_has_are_doubted(tmp_path_factory, name, fine, doubtful):
    folder = tmp_path_factory.mktemp("parameters")
    for text in (*fine, *doubtful):
        engine = f"id: mine\nname: Mine\nfitted_on: mine\nparameters:\n  {name}: {text}\n"
        found = {fault.rule for fault in faults(folder, "mine", engine)}
        assert ("EN004" in found) == (text in doubtful), text


def test_parameters_without_an_edge_here_have_those_of_their_type():
    shares = {
        "checks_states",
        "counts_by_table",
        "counts_segments",
        "cuts_recurrent_graphs",
        "encoder_fraction",
        "exchange_gathers",
        "graphs_need_states",
        "keeps_expert_buffers",
        "launches_ahead",
        "loads_encoders",
        "ngrams_on_host",
        "overlaps_steps",
        "short_sums",
        "state_fraction",
    }
    assert {name for name, _, _ in PARAMETERS} == {*DECLARED} - shares


WIDTHS = [
    # half of the least, and twice the most, that halves of the sources give
    *[(f"{name}.below", 0.3, (0.03, 1.8)) for name in ("decode", "prefill", "served")],
    *[
        (f"{name}.above", 0.2, (0.01, 1.3))
        for name in ("served_experts", "decode_datacenter", "decode_unified")
    ],
    ("unseen", 1.9, (5.1,)),
]
PLAUSIBLE = {
    **{
        f"{name}.{side}": 0.2
        for name in (
            *("decode", "decode_datacenter", "decode_unified"),
            *("prefill", "served", "served_experts"),
        )
        for side in ("below", "above")
    },
    "unseen": 1.9,
}


@every("name,fine,doubtful", WIDTHS)
def test_widths_of_ranges_that_no_sources_give_are_doubted(tmp_path_factory, name, fine, doubtful):
    for width in (fine, *doubtful):
        stated = {}
        for key, at in {**PLAUSIBLE, name: width}.items():
            category, _, side = key.partition(".")
            stated[category] = {**stated.get(category, {}), side: at} if side else at
        widths = json.dumps({**stated, "basis": "x"})
        engine = f"id: mine\nname: Mine\nfitted_on: mine\nrange_widths: {widths}\n"
        found = {fault.rule for fault in faults(tmp_path_factory.mktemp("widths"), "mine", engine)}
        assert ("EN009" in found) == (width in doubtful), width


DATES = [
    ("2026-11", False),
    ("2026-12", True),
    ("2022-01", False),
    ("2021-12", True),
    ("soon", True),
]


@every("month,is_doubtful", [*DATES, (None, True)])
def test_an_engine_says_when_it_was_fitted(tmp_path_factory, month, is_doubtful):
    """The month of the engine that it extends is not its own."""
    floor = "decode_layer_floor: {value: 60 us, source: own}"
    line = f'date: "{month}"' if month else "aliases: [ours]"
    text = put(child(floor)[1], ('date: "2026-11"', line))
    found = faults(tmp_path_factory.mktemp("dates"), "child", text, strict=True)
    assert ("EN003" in {fault.rule for fault in found}) == is_doubtful


@pytest.mark.parametrize(
    ("architecture", "memory", "dense", "sparse"),
    [
        # NVIDIA's data sheets: 989.5 and 1,979 TFLOP/s of an H100, 2,250 and 4,500 of a B200.
        ("hopper", "{name: HBM3, capacity: 80 GiB, bandwidth: 3.35 TB/s}", 989.5, 1979),
        ("blackwell", "{name: HBM3e, capacity: 180 GiB, bandwidth: 7.7 TB/s}", 2250, 4500),
    ],
)
def test_a_sparse_peak_is_asked_about_where_the_file_states_no_cores(
    architecture, memory, dense, sparse, tmp_path, capsys, monkeypatch
):
    file = tmp_path / "mine.yaml"
    for rate, is_asked in ((dense, False), (sparse, True)):
        file.write_text(
            f"id: mine\nname: Mine\nvendor: NVIDIA\nkind: gpu\narchitecture: {architecture}\n"
            f"scope: one GPU\nmemory: [{memory}]\n"
            f"peak: {{bf16: {rate} TFLOP/s, fp16: {rate} TFLOP/s, fp8: {2 * rate} TFLOP/s}}\n"
        )
        said = run("check", str(file), capsys=capsys, monkeypatch=monkeypatch)
        assert ("HW008" in said.out + said.err) == is_asked
        assert ("the figure with sparsity" in said.out + said.err) == is_asked


@every(
    "parameter,rule,is_doubtful",
    [
        # vLLM's floor has the band of all GPU engines, 28 to 90 us, and a quarter of room about it.
        ("decode_layer_floor: {value: 22.5 us, source: own}", "EN006", False),
        ("decode_layer_floor: {value: 22.3 us, source: own}", "EN006", True),
        ("decode_layer_floor: {value: 112.4 us, source: own}", "EN006", False),
        ("decode_layer_floor: {value: 112.6 us, source: own}", "EN006", True),
        # Its own band has none.
        ("decode_layer_floor: {value: 200 us, band: [30.0e-6, 200.0e-6], source: own}", "EN006", False),
        ("decode_layer_floor: {value: 200 us, band: [30.0e-6, 200.0e-6], source: own}", "EN001", False),
        ("decode_layer_floor: {value: 201 us, band: [30.0e-6, 200.0e-6], source: own}", "EN001", True),
        ("decode_layer_floor: {value: 30 us, band: [30.0e-6, 200.0e-6], source: own}", "EN001", False),
        ("decode_layer_floor: {value: 29 us, band: [30.0e-6, 200.0e-6], source: own}", "EN001", True),
        ("decode_layer_floor: {value: 60 us, band: [60.0e-6, 60.0e-6], source: own}", "EN002", False),
        ("decode_layer_floor: {value: 60 us, band: [61.0e-6, 60.0e-6], source: own}", "EN002", True),
        ("decode_layer_floor: {value: 60 us, band: [1.0e-6, 60.0e-6, 1.0], source: own}", "EN002", True),
        ("decode_layer_floor: {value: 60 us, band: wide, source: own}", "EN002", True),
        ("decode_layer_floor: {value: 60 us, band: [60.0e-6, wide], source: own}", "EN002", True),
        ("decode_layer_floor: {value: 60 us, band: [narrow, 60.0e-6], source: own}", "EN002", True),
    ],
)  # fmt: skip
def test_bands_of_parameters(tmp_path_factory, parameter, rule, is_doubtful):
    found = faults(tmp_path_factory.mktemp("bands"), *child(parameter))
    assert (rule in {fault.rule for fault in found}) == is_doubtful


@every(
    "ranges,is_doubtful",
    [("{below: 5, above: 1.1}", False), ("{below: 5.01, above: 1.1}", True), ("{below: 1.1, above: 5.01}", True)],
)  # fmt: skip
def test_ranges_are_factors_of_five_at_most(tmp_path_factory, ranges, is_doubtful):
    basis = ranges.replace("}", ", basis: x}")
    engine = f"id: mine\nname: Mine\nfitted_on: mine\nranges:\n  unseen: {basis}\n"
    found = faults(tmp_path_factory.mktemp("ranges"), "mine", engine)
    assert ("EN009" in {fault.rule for fault in found}) == is_doubtful


@every(
    "changes,rule,is_doubtful",
    [
        # 8,030,261,248 parameters: a ten-thousandth, and what notes say, are explained.
        ({"checkpoint": 8_030_261_248}, "MD022", False),
        ({"checkpoint": 8_030_261_249}, "MD022", True),
        ({"checkpoint": 8_031_064_274}, "MD005", False),
        ({"checkpoint": 8_031_064_275}, "MD022", True),
        ({"checkpoint": 8_031_070_000}, "MD005", True),
        ({"checkpoint": 8_031_070_000}, "MD022", False),
        ({"checkpoint": 8_030_277_632, "notes": "16,384 elements of norms"}, "MD022", False),
        ({"checkpoint": 8_030_277_632, "notes": "16,385 elements of norms"}, "MD022", True),
        # A label of the text core, 1% about, unless a note says what it counts.
        ({"label": "8.11B"}, "MD026", False),
        ({"label": "8.12B"}, "MD026", True),
        ({"label": "7.96B"}, "MD026", False),
        ({"label": "7.95B"}, "MD026", True),
        ({"label": "9B", "notes": "The label counts a tower, too"}, "MD026", False),
        ({"label": "9B", "notes": "The card rounds"}, "MD026", False),
        ({"label": "9B", "notes": "A tower"}, "MD026", True),
        # Explained labels are off by 6% at most, and rounded ones by half of their last digit.
        ({"label": "8.5B", "notes": "The label counts a tower, too"}, "MD006", False),
        ({"label": "8.6B", "notes": "The label counts a tower, too"}, "MD006", True),
        ({"label": "8B"}, "MD006", False),
        ({"label": "9B"}, "MD006", True),
        ({"label": "8030M"}, "MD006", False),
        ({"label": "0.008T"}, "MD006", False),
        ({"confidence": "low"}, "MD024", True),
        ({"confidence": "memory"}, "MD024", True),
        ({"confidence": "low", "notes": "Layers are assumed"}, "MD024", False),
        ({"confidence": "low", "notes": "no copy of the configuration"}, "MD024", False),
        ({"confidence": "medium"}, "MD024", False),
    ],
)  # fmt: skip
def test_counts_labels_and_confidence_of_a_model(tmp_path_factory, changes, rule, is_doubtful):
    text = (ROOT / f"{MODEL}.yaml").read_text()
    written = {
        "checkpoint": (r"checkpoint: (\{value: )?[\d.e+_]+", r"checkpoint: \g<1>{}"),
        "label": (r'label: "8.03B"', 'label: "{}"'),
        "confidence": ("^confidence: .*", "confidence: {}"),
    }
    for key, (pattern, new) in written.items():
        if key in changes:
            text = put(text, (pattern, new.format(changes[key])))
    text = re.sub(r"(?m)^notes:\n(?:  - .*\n)+", "", text)
    text += f'notes: ["{changes["notes"]}"]\n' if "notes" in changes else ""
    found = faults(tmp_path_factory.mktemp("models"), "llama-3.1-8b", text, strict=True)
    assert (rule in {fault.rule for fault in found}) == is_doubtful
