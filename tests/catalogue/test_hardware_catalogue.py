"""The chips of the catalogue: published numbers copied with their source, and what measurements need."""

import pytest

from fastcalc.catalogue.schema.hardware import Price
from fastcalc.catalogue.store import Catalogue
from fastcalc.catalogue.units import parse_quantity
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.kit.request.chips import chips_of
from tests.catalogue.test_catalogue import quantities
from tests.helpers import every, run, words

NAMES = Catalogue().names("hardware")

# Every chip that the published measurements were taken on.
MEASURED = """
a100-pcie-80gb a100-sxm-80gb a40 apple-m1-max-32 apple-m1-ultra apple-m2-ultra-76 apple-m3-max-40
apple-m3-ultra-80 b200 gb10 gb200 gh200-144gb groq-lpu h100-nvl h100-pcie h100-sxm h20 h200-sxm h800
gh200-96gb jetson-agx-orin l40s mi250x-gcd mi300x rtx-3070 rtx-3080-10gb rtx-3080-ti rtx-3090
rtx-3090-ti rtx-4000-ada rtx-4070-ti rtx-4080 rtx-4090 rtx-4090-d rtx-5000-ada rtx-5090 rtx-6000-ada
rtx-a6000 rtx-pro-6000 rx-7900-xt sn40l wse-3
""".split()

# Names of the fact sheet that are another entry's alias.
ALIASES = {
    "apple-m1-max": "apple-m1-max-32",
    "apple-m2-ultra": "apple-m2-ultra-76",
    "apple-m3-max": "apple-m3-max-40",
    "apple-m3-ultra": "apple-m3-ultra-80",
}

# (chip, what, published, where); one-way links, dense rates.
PUBLISHED = [
    ("a100-sxm-40gb", "capacity", "40 GiB", "ML Engineering"),
    ("a100-sxm-40gb", "bandwidth", "1555 GB/s", "several secondary places"),
    ("a100-sxm-40gb", "bf16", "312 TFLOP/s", "ML Engineering"),
    ("a100-sxm-40gb", "scale_up", "300 GB/s", "ML Engineering, network"),
    ("a100-pcie-80gb", "bandwidth", "1935 GB/s", "NVIDIA planner"),
    ("a100-pcie-80gb", "power", "300 W", "NVIDIA planner"),
    ("h100-pcie", "capacity", "80 GiB", "NVIDIA planner"),
    ("h100-pcie", "bandwidth", "2000 GB/s", "NVIDIA planner"),
    ("h100-pcie", "bf16", "756.5 TFLOP/s", "NVIDIA planner"),
    ("h100-pcie", "fp8", "1513 TFLOP/s", "NVIDIA planner"),
    ("h100-pcie", "vector", "51 TFLOP/s", "ML Engineering"),
    ("h100-nvl", "bandwidth", "3938 GB/s", "Grokipedia"),
    ("h100-nvl", "fp8", "1671 TFLOP/s", "several secondary places"),
    ("h20", "bandwidth", "4000 GB/s", "willitrunai"),
    ("h20", "bf16", "148 TFLOP/s", "willitrunai"),
    ("h20", "fp8", "296 TFLOP/s", "several secondary places"),
    ("h20", "vector", "44 TFLOP/s", "several secondary places"),
    ("h20", "scale_up", "450 GB/s", "willitrunai"),
    ("h20-3e", "bandwidth", "4.8 TB/s", "willitrunai, the later version"),
    ("h800", "bf16", "989.5 TFLOP/s", "several secondary places"),
    ("h800", "scale_up", "200 GB/s", "NVIDIA planner"),
    ("b300", "capacity", "275040 MiB", "NVIDIA planner"),
    ("b300", "bf16", "2250 TFLOP/s", "ML Engineering"),
    ("b300", "fp4", "13500 TFLOP/s", "NVIDIA HGX, 108 PFLOPS dense of eight"),
    ("b300", "int8", "153.5 TOPS", "NVIDIA planner"),
    ("b300", "scale_out", "800 Gb/s", "SemiAnalysis InferenceX"),
    ("gb300", "capacity", "284208 MiB", "NVIDIA planner"),
    ("gb300", "bandwidth", "8000 GB/s", "NVIDIA planner"),
    ("gb300", "fp8", "5000 TFLOP/s", "ML Engineering"),
    ("gb300", "fp4", "15000 TFLOP/s", "NVIDIA planner"),
    ("gb300", "int8", "165 TOPS", "NVIDIA planner"),
    ("l4", "capacity", "24 GiB", "NVIDIA planner"),
    ("l4", "bf16", "121 TFLOP/s", "NVIDIA planner"),
    ("l4", "power", "72 W", "NVIDIA planner"),
    ("l40s", "capacity", "46068 MiB", "NVIDIA planner"),
    ("l40s", "bandwidth", "864 GB/s", "NVIDIA planner"),
    ("l40s", "fp8", "733 TFLOP/s", "ML Engineering"),
    ("l40s", "vector", "91.6 TFLOP/s", "ML Engineering"),
    ("gh200-96gb", "capacity", "96 GiB", "NVIDIA GH200 as two users describe it"),
    ("gh200-96gb", "bandwidth", "4000 GB/s", "NVIDIA GH200 as two users describe it"),
    ("rtx-4090-d", "bandwidth", "1008 GB/s", "hmc-tech"),
    ("rtx-4090-d", "bf16", "147.09 TFLOP/s", "hmc-tech"),
    ("rx-7900-xt", "capacity", "20 GiB", "Guru3D"),
    ("rx-7900-xt", "bandwidth", "800 GB/s", "Guru3D"),
    ("rtx-3090", "bandwidth", "936 GB/s", "several secondary places"),
    ("rtx-3090", "bf16", "71 TFLOP/s", "several secondary places"),
    ("rtx-4090", "bandwidth", "1008 GB/s", "J. Walton"),
    ("rtx-4090", "bf16", "165.2 TFLOP/s", "a GPU database, white paper rows"),
    ("rtx-4090", "fp16", "330.3 TFLOP/s", "a GPU database, white paper rows"),
    ("rtx-5090", "bandwidth", "1792 GB/s", "Spheron"),
    ("rtx-5090", "bf16", "209.5 TFLOP/s", "a GPU database, white paper rows"),
    ("rtx-5090", "fp16", "419 TFLOP/s", "a GPU database, white paper rows"),
    ("rtx-5090", "fp4", "1676 TFLOP/s", "a GPU database, white paper rows"),
    ("rtx-pro-6000", "bandwidth", "1792 GB/s", "NVIDIA planner"),
    ("rtx-pro-6000-server", "bandwidth", "1597 GB/s", "survey of 2026-09-28"),
    ("rtx-pro-6000-server", "bf16", "468 TFLOP/s", "NVIDIA planner"),
    ("gb10", "bandwidth", "273 GB/s", "NVIDIA DGX Spark hardware guide"),
    ("gb10", "capacity", "119.7 GiB", "NVIDIA DGX Spark hardware guide"),
    ("gb10", "bf16", "125 TFLOP/s", "a hardware catalogue built from data sheets"),
    ("gb10", "scale_up", "25 GB/s", "NVIDIA DGX Spark hardware guide"),
    ("mi250x", "capacity", "128 GiB", "AMD ROCm"),
    ("mi250x", "bf16", "383 TFLOP/s", "ML Engineering"),
    ("mi250x-gcd", "bandwidth", "1640 GB/s", "ML Engineering, half a module"),
    ("mi325x", "capacity", "256 GiB", "AMD ROCm"),
    ("mi325x", "bandwidth", "6000 GB/s", "ML Engineering"),
    ("mi325x", "bf16", "1307 TFLOP/s", "SemiAnalysis InferenceX"),
    ("mi355x", "capacity", "288 GiB", "AMD ROCm"),
    ("mi355x", "fp8", "5033 TFLOP/s", "SemiAnalysis InferenceX"),
    ("mi355x", "fp4", "10066 TFLOP/s", "SemiAnalysis InferenceX"),
    ("mi355x", "scale_up", "535.5 GB/s", "ML Engineering, network"),
    ("ryzen-ai-max-395", "bandwidth", "256 GB/s", "several secondary places"),
    ("ryzen-ai-max-395", "bf16", "59.4 TFLOP/s", "several secondary places"),
    ("gaudi-2", "bf16", "432 TFLOP/s", "ML Engineering"),
    ("gaudi-3", "bandwidth", "3670 GB/s", "Hot Chips 2024 slides"),
    ("gaudi-3", "bf16", "1677 TFLOP/s", "ML Engineering"),
    ("gaudi-3", "scale_up", "525 GB/s", "21 ports of 200 GbE"),
    ("tpu-v5e", "bf16", "197 TFLOP/s", "Google Cloud"),
    ("tpu-v5e", "scale_up", "200 GB/s", "Google Cloud"),
    ("tpu-v5p", "capacity", "95 GiB", "Google Cloud"),
    ("tpu-v5p", "bandwidth", "2765 GB/s", "Google Cloud"),
    ("tpu-v6e", "bandwidth", "1638 GB/s", "Google Cloud"),
    ("tpu-v6e", "int8", "1836 TOPS", "Google Cloud"),
    ("tpu-v7", "bandwidth", "7380 GB/s", "Google Cloud"),
    ("tpu-v7", "fp8", "4614 TFLOP/s", "Google Cloud"),
    ("tpu-v7", "scale_up", "600 GB/s", "ML Engineering, network"),
    ("trainium-2", "bf16", "667 TFLOP/s", "AWS Neuron"),
    ("trainium-2", "fp8", "1299 TFLOP/s", "AWS Neuron"),
    ("trainium-2", "scale_up", "640 GB/s", "ML Engineering, network"),
    ("inferentia-2", "bandwidth", "820 GiB/s", "AWS Neuron"),
    ("inferentia-2", "bf16", "190 TFLOP/s", "AWS Neuron"),
    ("groq-lpu", "capacity", "230 MB", "TechPowerUp"),
    ("groq-lpu", "bandwidth", "80 TB/s", "TechPowerUp"),
    ("groq-lpu", "fp16", "188 TFLOP/s", "TechPowerUp"),
    ("sn40l", "HBM3", "1600 GB/s", "Hot Chips 2024 slides"),
    ("sn40l", "capacity", "520 MB", "Hot Chips 2024 slides"),
    ("sn40l", "bf16", "638 TFLOP/s", "arXiv:2405.07518"),
    ("d-matrix-corsair", "capacity", "2 GB", "AI Wiki"),
    ("d-matrix-corsair", "bandwidth", "150 TB/s", "AI Wiki"),
    ("d-matrix-corsair", "int8", "2400 TOPS", "AI Wiki"),
    ("wse-2", "bandwidth", "20 PB/s", "AI Wiki"),
    ("wse-2", "fp16", "7.5 PFLOP/s", "several secondary places"),
    ("wse-3t", "bandwidth", "43.2 PB/s", "Cerebras CS-4 datasheet"),
    ("wse-3t", "scale_out", "2.4 Tb/s", "Cerebras CS-4 datasheet"),
    ("mi350x", "capacity", "288 GiB", "AMD ROCm"),
    ("mi350x", "fp4", "9225 TFLOP/s", "Tom's Hardware, 18.45 PFLOPS sparse"),
    ("mi350x", "power", "1000 W", "Tom's Hardware"),
    ("l20", "bandwidth", "864 GB/s", "TopCPU"),
    ("l20", "bf16", "119.5 TFLOP/s", "MegaScale-Infer, table 3"),
    ("a10", "bandwidth", "600 GB/s", "NVIDIA A10 data sheet"),
    ("a10", "fp16", "125 TFLOP/s", "NVIDIA A10 data sheet"),
    ("a10", "int8", "250 TOPS", "NVIDIA A10 data sheet"),
    ("t4", "fp16", "65 TFLOP/s", "a table of NVIDIA data sheets"),
    ("t4", "power", "70 W", "a table of NVIDIA data sheets"),
    ("rtx-5080", "bandwidth", "960 GB/s", "NVIDIA"),
    ("rtx-5080", "vector", "56.28 TFLOP/s", "hmc-tech"),
    ("rtx-5070-ti", "bandwidth", "896 GB/s", "NVIDIA"),
    ("rx-7900-xtx", "bandwidth", "960 GB/s", "Guru3D"),
    ("rx-7900-xtx", "vector", "61.4 TFLOP/s", "Guru3D"),
    ("arc-pro-b60", "bandwidth", "456 GB/s", "Technical City"),
    ("arc-pro-b60", "int8", "196.61 TOPS", "hmc-tech"),
    ("trainium-1", "bandwidth", "820 GiB/s", "AWS Neuron"),
    ("trainium-1", "bf16", "190 TFLOP/s", "AWS Neuron"),
    ("trainium-3", "capacity", "144 GiB", "AWS Neuron"),
    ("trainium-3", "fp8", "2517 TFLOP/s", "AWS Neuron"),
    ("trainium-3", "scale_up", "1280 GB/s", "AWS Neuron, 2.56 TB/s both ways"),
    ("ascend-910b", "fp16", "376 TFLOP/s", "MindStudio Modeling"),
    ("ascend-910c", "bandwidth", "3.2 TB/s", "CloudMatrix384"),
    ("ascend-910c", "scale_up", "392 GB/s", "CloudMatrix384"),
    ("apple-m5", "bandwidth", "153 GB/s", "Apple"),
    ("apple-m5-pro", "bandwidth", "307 GB/s", "Apple"),
    ("apple-m5-max", "bandwidth", "614 GB/s", "Apple"),
    ("apple-m1", "bandwidth", "68 GB/s", "tables that cite Apple"),
    ("apple-m1-max", "bandwidth", "400 GB/s", "tables that cite Apple"),
    ("apple-m1-ultra", "bandwidth", "800 GB/s", "tables that cite Apple"),
    ("apple-m2-ultra", "capacity", "192 GiB", "tables that cite Apple"),
    ("apple-m3-max", "fp16", "14.3 TFLOP/s", "hmc-tech"),
    ("apple-m3-ultra", "bandwidth", "819 GB/s", "tables that cite Apple"),
    ("apple-m4-pro", "bandwidth", "273 GB/s", "wccftech"),
    ("apple-m4-max", "bandwidth", "546 GB/s", "wccftech"),
]  # fmt: skip

DIMENSION = {
    "capacity": "size",
    "bandwidth": "bandwidth",
    "HBM3": "bandwidth",
    "scale_up": "bandwidth",
    "scale_out": "bandwidth",
    "power": "power",
}

CORES = {
    "a100-sxm-40gb": 108, "a100-pcie-80gb": 108, "h100-pcie": 114, "h100-nvl": 132, "h20": 78, "h800": 132,
    "b300": 148, "gb300": 152, "l4": 58, "l40s": 142, "a40": 84, "rtx-a6000": 84, "rtx-4000-ada": 48,
    "rtx-5000-ada": 100, "rtx-6000-ada": 142, "rtx-2080-ti": 68, "rtx-3070": 46, "rtx-3080-10gb": 68,
    "rtx-3080-ti": 80, "rtx-3090": 82, "rtx-3090-ti": 84, "rtx-4070-ti": 60, "rtx-4080": 76, "rtx-4090": 128,
    "rtx-5090": 170, "rtx-pro-6000": 188, "gb10": 48, "jetson-agx-orin": 16, "gh200-144gb": 132, "gh200-96gb": 132, "rtx-4090-d": 114,
    "rx-7900-xt": 84, "mi250x-gcd": 110, "mi325x": 304, "mi355x": 256, "ryzen-ai-max-395": 40, "apple-m1-max-32": 32,
    "apple-m1-ultra": 64, "apple-m2-ultra-76": 76, "apple-m3-max-40": 40, "apple-m3-ultra-80": 80,
    "mi350x": 256, "l20": 92, "a10": 72, "t4": 40, "rtx-5080": 84, "rtx-5070-ti": 70, "rx-7900-xtx": 96,
    "arc-pro-b60": 20, "apple-m5": 10, "apple-m5-max": 40,
}  # fmt: skip

DOMAIN = {
    "h200-sxm": 8, "b300": 8, "gb200": 72, "gb300": 72, "mi355x": 8, "h100-nvl": 2, "a40": 2, "gb10": 2,
    "tpu-v5e": 256, "tpu-v5p": 8960, "tpu-v7": 9216, "trainium-2": 16, "inferentia-2": 12, "sn40l": 16,
}  # fmt: skip

# FP32 operations a core and cycle, and the boost clock in GHz, from white papers and target files.
LANES = {
    "a100-sxm-40gb": (64, 1.41), "a40": (128, 1.74), "rtx-a6000": (128, 1.8), "rtx-3070": (128, 1.725),
    "rtx-3080-10gb": (128, 1.71), "rtx-3080-ti": (128, 1.665), "rtx-3090": (128, 1.695),
    "rtx-3090-ti": (128, 1.86), "rtx-4070-ti": (128, 2.61), "rtx-4080": (128, 2.505), "rtx-4090": (128, 2.52),
    "rtx-5090": (128, 2.407), "rtx-pro-6000": (128, 2.6), "rtx-4000-ada": (128, 2.175),
    "rtx-4090-d": (128, 2.52), "rx-7900-xt": (128, 2.4),
    "rtx-5000-ada": (128, 2.55), "rtx-6000-ada": (128, 2.505), "l4": (128, 2.04), "l40s": (128, 2.52),
    "h100-pcie": (128, 1.755), "rtx-2080-ti": (64, 1.545), "jetson-agx-orin": (128, 1.3),
    "mi250x-gcd": (64, 1.7), "mi355x": (128, 2.4), "ryzen-ai-max-395": (128, 2.9),
    "apple-m1-max-32": (128, 1.296), "apple-m2-max": (128, 1.398), "apple-m3-max-40": (128, 1.398),
    "apple-m4-max": (128, 1.678), "apple-m5": (128, 1.74), "mi350x": (128, 2.2), "a10": (128, 1.695),
    "t4": (64, 1.59), "rtx-5080": (128, 2.617), "rtx-5070-ti": (128, 2.452), "rx-7900-xtx": (128, 2.5),
    "l20": (128, 2.52), "arc-pro-b60": (128, 2.4), "gb10": (128, 2.525),
}  # fmt: skip


def value(chip, what: str) -> float:
    if what in ("capacity", "bandwidth"):
        return getattr(chip.memory[0], what).si
    if what == "HBM3":
        return next(one.bandwidth.si for one in chip.memory if one.name == what)
    if what in ("scale_up", "scale_out"):
        return getattr(chip.links, what).bandwidth.si
    if what == "power":
        return chip.power.chip.si
    return chip.vector.si if what == "vector" else chip.rate(what).si


# Channels of DRAM, 1e6 transfers a second of each 8 bytes wide, and 1e9 byte/s of one card's link:
# 16 lanes of 16 or 32 GT/s, of which 128 of 130 bits are data.
PCIE_4, PCIE_5 = 16 * 16 / 8 * 128 / 130, 16 * 32 / 8 * 128 / 130
HOSTS = {
    "ddr4-2ch": (2, 3200, PCIE_4), "ddr5-2ch": (2, 5600, PCIE_5), "ddr5-2ch-nvme": (2, 5600, PCIE_5),
    "ddr5-4ch": (4, 5200, PCIE_5), "epyc-9004-12ch": (12, 4800, PCIE_5),
    "epyc-9005-12ch": (12, 6400, PCIE_5), "xeon-4-8ch": (8, 4800, PCIE_5),
}  # fmt: skip

# The least that STREAM triad gives on a healthy Grace, 80% of its peak, and the most, 95% of it,
# as NVIDIA's benchmarking guide prints both. [1e9 byte/s]
GRACE = {"grace-480gb": (307, None), "grace-120gb": (410, 486)}


@pytest.mark.parametrize(("name", "parts"), HOSTS.items())
def test_memory_of_a_host_is_its_channels_and_its_link_its_lanes(catalogue, name, parts):
    channels, rate, link = parts
    memory = catalogue.hardware(name).memory[0]
    assert memory.bandwidth.si == channels * rate * 1e6 * 8
    assert memory.link.si == pytest.approx(link * 1e9, rel=2e-3)


@pytest.mark.parametrize(("name", "triad"), GRACE.items())
def test_memory_of_grace_is_what_triad_is_a_share_of(catalogue, name, triad):
    peak = catalogue.hardware(name).memory[0].bandwidth.si / 1e9
    least, most = triad
    assert least == pytest.approx(0.80 * peak, rel=2e-3)
    assert most is None or most == pytest.approx(0.95 * peak, rel=2e-3)


@every("name", NAMES)
def test_where_memory_is(catalogue, name):
    """Hosts have what a chip reads over a link; on-chip memory is said to be so; no chip has both."""
    chip = catalogue.hardware(name)
    for memory in chip.memory:
        if chip.kind == "host":
            assert memory.where in ("host", "disk")
            assert memory.link is not None
            assert memory.shared_by is not None
        else:
            assert memory.where == ("chip" if memory.name == "SRAM" else None)
            assert memory.link is None
    if chip.kind == "host":
        assert chip.memory[0].name == "DRAM"
        assert chip.price.cloud is chip.price.purchase is None
        assert chip.scope == "one host"


def test_a_host_is_no_chip(capsys, monkeypatch):
    """Nobody is offered a desktop's DRAM as a chip of its own, and whoever names one reads how to."""
    ran = run("compare", "llama-3.1-8b", "--on", "ddr5-2ch", capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out) == (2, "")
    assert "--host ddr5-2ch" in ran.err
    every = chips_of(Catalogue(), "all", OWN_MEMORY, [])
    assert {chip.id for chip in every} == set(NAMES) - {*HOSTS, *GRACE, "grace-gb200"}


def test_there_are_enough():
    assert len(NAMES) >= 50


@every("name", MEASURED)
def test_measured_chips_have_what_the_model_needs(catalogue, name):
    chip = catalogue.hardware(name)
    if chip.kind in ("gpu", "soc", "apple"):
        assert chip.cores is not None
        assert chip.vector is not None
    assert chip.memory[0].capacity.si > 0


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_plain_names_mean_the_full_chip(catalogue, alias, name):
    assert catalogue.hardware(alias).id == name


@every("name,what,published,where", PUBLISHED)
def test_published_numbers(catalogue, name, what, published, where):
    expected = parse_quantity(published, DIMENSION.get(what, "compute rate"))
    assert value(catalogue.hardware(name), what) == pytest.approx(expected, rel=2e-3)


@every("name,cores", CORES.items())
def test_core_counts(catalogue, name, cores):
    assert catalogue.hardware(name).cores.si == cores


@every("name,domain", DOMAIN.items())
def test_link_domains(catalogue, name, domain):
    assert catalogue.hardware(name).links.scale_up.domain.si == domain


@every("name,lanes,clock", [(name, *pair) for name, pair in LANES.items()])
def test_fp32_rate_is_cores_times_lanes_times_clock(catalogue, name, lanes, clock):
    chip = catalogue.hardware(name)
    assert chip.vector.si == pytest.approx(chip.cores.si * lanes * 2 * clock * 1e9, rel=0.01)


GEFORCE = [
    "rtx-3070", "rtx-3080-10gb", "rtx-3080-ti", "rtx-3090", "rtx-3090-ti",
    "rtx-4070-ti", "rtx-4080", "rtx-4090", "rtx-4090-d", "rtx-5070-ti", "rtx-5080", "rtx-5090",
]  # fmt: skip


@every("name", GEFORCE)
def test_geforce_halves_with_32_bit_accumulation(catalogue, name):
    chip = catalogue.hardware(name)
    assert chip.rate("fp16").si == pytest.approx(2 * chip.rate("bf16").si, rel=5e-3)


def test_fp16_on_geforce_is_accumulated_in_16_bits_as_llama_cpp_does(catalogue):
    # Llama 3 8B has 32 layers of 4096 x (4096 + 2 x 1024 + 4096) + 3 x 4096 x 14336 weights, and
    # 7,246.97 prompt tokens a second were measured of it in fp16: 101 TFLOP/s.
    layers = 32 * (4096 * (4096 + 2 * 1024 + 4096) + 3 * 4096 * 14336)
    card = catalogue.hardware("rtx-4080")
    assert card.rate("bf16").si < 2 * layers * 7246.97 < card.rate("fp16").si


# Datacenter chips that a cloud rents out by the hour for dollars, and lists on demand.
RENTED = """
a10 a100-pcie-80gb a100-sxm-40gb a100-sxm-80gb a40 b200 b300 gaudi-3 gb200 gb300 gh200-96gb
h100-pcie h100-sxm h200-sxm inferentia-2 l4 l40s mi300x mi325x mi355x rtx-pro-6000-server t4 tpu-v5e
tpu-v5p tpu-v6e trainium-1 trainium-2
""".split()


# No source lists them on demand.
SURVEYED = {"l4"}


@every("name", RENTED)
def test_what_clouds_rent_out_has_a_dated_price_on_demand(catalogue, name):
    price = catalogue.hardware(name).price
    assert price.rent.si > 0
    assert price.rent.date
    assert price.offer.terms == ("survey" if name in SURVEYED else "on-demand")


def test_a_computer_with_unified_memory_costs_what_its_memory_does(catalogue):
    """Apple asks $5,500 for 416 GB more than its base of 96, $13 per GB, and the rest as well."""
    for name in catalogue.names("hardware"):
        chip = catalogue.hardware(name)
        is_computer = chip.memory and chip.memory[0].name == "unified"
        if is_computer and chip.chip_price and chip.chip_price.purchase:
            gigabytes = chip.memory[0].capacity.si / 1e9
            assert chip.chip_price.purchase.si / gigabytes > 15.0, name


def test_the_offer_in_the_middle_is_what_an_hour_costs():
    def offer(provider, usd, terms="on-demand"):
        return {"provider": provider, "terms": terms, "price": f"{usd} USD/h"}

    four = [offer("dear", 9), offer("cheap", 1), offer("third", 4), offer("second", 3)]
    for offers, provider in ((four, "second"), (four[:3], "third"), (four[:1], "dear")):
        for order in (offers, offers[::-1]):
            spot = [offer("spot", 0.1, "spot"), offer("reserved", 0.2, "reserved")]
            assert Price(offers=[*spot, *order]).offer.provider == provider
    assert Price(offers=spot).rent is None
    surveyed = Price(offers=four, cloud="2.50 USD/h")
    assert (surveyed.rent.si, surveyed.offer) == (2.5, None)


def test_the_note_names_who_asks_the_price(capsys, monkeypatch):
    flags = ("compare", "llama-3.1-8b", "--on", "h100-pcie", "--batch", "1", "--notes")
    text = words(run(*flags, capsys=capsys, monkeypatch=monkeypatch).out)
    assert "h100-pcie $3.29 (Lambda us-east-1, 2026, medium confidence)" in text
    given = run(*flags, "--price", "h100-pcie=2", capsys=capsys, monkeypatch=monkeypatch).out
    assert "h100-pcie $2.00 (given)" in given


@every("name", NAMES)
def test_what_every_chip_keeps_to(catalogue, name):
    """Names are one chip's alone; prices carry dates; what is from memory says so, and only that."""
    chip = catalogue.hardware(name)
    for alias in chip.aliases:
        assert catalogue.hardware(alias).id == name
        assert alias not in NAMES
    assert chip.price.cloud is None or chip.price.cloud.date
    assert all(one.price.date and one.price.source for one in chip.price.offers)
    assert chip.execution == ("spatial" if chip.kind in ("wafer", "lpu") else "sequential")
    assert chip.architecture or chip.kind == "host"
    for quantity in quantities(chip):
        assert (quantity.confidence == "memory") == (quantity.source == "memory")


@every("name", NAMES)
def test_ratios_that_dense_rates_keep(catalogue, name):
    """A sparse rate stored as dense, or both directions as one, breaks one of these."""
    chip = catalogue.hardware(name)
    sixteen = (chip.rate("bf16") or chip.rate("fp16")).si
    if chip.rate("fp8") and "HW001" not in chip.excused:
        assert (
            chip.rate("fp8").si / sixteen == pytest.approx(2, rel=0.06)
            or chip.rate("fp8").si == sixteen
        )
    if chip.rate("fp4") and "HW002" not in chip.excused:
        assert 1.9 <= chip.rate("fp4").si / chip.rate("fp8").si <= 4.01
    up = chip.links.scale_up
    if up is not None:
        assert up.bandwidth.si < 0.7 * chip.memory[0].bandwidth.si


@pytest.mark.parametrize("name", ["vllm", "llama-cpp", "eager", "mlx"])
def test_what_engines_get_of_a_host_is_what_was_measured(catalogue, name):
    # Of ik_llama.cpp's 640 tokens at 55.5 a second: 8.42 s on the host's cores, 1.23 on the card and
    # 1.88 of hand-over in 25 layers. Copies are over PCIe 5, PCIe 4 and NVLink-C2C, in 1e9 byte/s.
    given = catalogue.engine(name).parameters
    assert given.host_bandwidth_fraction.si == pytest.approx(55.5 / 64, rel=5e-3)
    assert given.host_layer_overhead.si == pytest.approx(1.88 / 640 / 25, rel=5e-3)
    copies = [55.43 / 63, 26.03 / 31.5, 377 / 450]
    assert given.host_link_fraction.si == pytest.approx(sum(copies) / 3, rel=5e-3)
    seconds = 640 / 55.5
    assert seconds == pytest.approx(8.42 + 1.23 + 1.88, rel=1e-3)


def test_the_bound_gets_all_of_a_host(catalogue):
    given = catalogue.engine("ideal").parameters.given
    assert not {name for name in given if name.startswith("host")}
