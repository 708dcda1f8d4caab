"""Rules of hosts: platforms that are sold are clean, and one wrong number is found."""

from tests.features.check.test_check import faults
from tests.helpers import every


def host(
    market="consumer", vendor="AMD", released="2024", bandwidth="89.6 GB/s", capacity="96 GiB",
    link="63 GB/s", chips=2, cores=16, rate="5.5 TFLOP/s", drive="7450 MB/s", drive_link="7450 MB/s",
):  # fmt: skip
    return f"""id: mine
name: Mine
vendor: {vendor}
kind: host
market: {market}
scope: one host
released: "{released}"
cores: {cores}
memory:
  - {{name: DRAM, where: host, capacity: {capacity}, bandwidth: {bandwidth}, link: {link}, shared_by: {chips}}}
  - {{name: NVMe, where: disk, capacity: 2 TB, bandwidth: {drive}, link: {drive_link}, shared_by: {chips}}}
peak: {{bf16: {rate}}}
"""


SERVER = {"market": "datacenter", "chips": 8, "cores": 64, "rate": "18 TFLOP/s"}
GRACE = {"market": "datacenter", "vendor": "NVIDIA", "link": "450 GB/s", "chips": 1, "cores": 72}
GRACE = GRACE | {"rate": "4 TFLOP/s", "bandwidth": "384 GB/s", "capacity": "480 GB"}
SOLD = [
    # Channels x MT/s x 8 bytes of each platform.
    {},
    {"bandwidth": "51.2 GB/s", "capacity": "128 GiB", "link": "31.5 GB/s", "released": "2020"},
    {"bandwidth": "96 GB/s", "capacity": "256 GiB"},  # four modules of 64 GiB at 6,000
    # Threadripper PRO 7000: eight channels of DDR5-5200.
    {"market": "workstation", "bandwidth": "332.8 GB/s", "capacity": "1 TiB", "cores": 96, "chips": 4,
     "rate": "26 TFLOP/s"},
    SERVER | {"bandwidth": "204.8 GB/s", "capacity": "2 TiB", "link": "31.5 GB/s", "released": "2021"},
    SERVER | {"bandwidth": "460.8 GB/s", "capacity": "1.5 TiB"},
    SERVER | {"bandwidth": "1152 GB/s", "capacity": "3 TiB", "cores": 256},  # two sockets of 6,000
    GRACE,
]  # fmt: skip
WRONG = [
    ("HW031", {"bandwidth": "75 GB/s"}),  # as measured
    ("HW031", {"bandwidth": "98.6 GB/s"}),  # digits swapped
    ("HW031", {"bandwidth": "89.6 Gb/s"}),
    ("HW031", GRACE | {"bandwidth": "348 GB/s"}),  # of STREAM
    ("HW032", {"link": "126 GB/s"}),  # both directions
    ("HW032", {"link": "63 Gb/s"}),
    ("HW032", GRACE | {"link": "900 GB/s"}),
    ("HW032", GRACE | {"link": "225 GB/s"}),
    ("HW032", {"drive": "14.9 GB/s"}),  # more than its link
    ("HW032", {"drive_link": "74.5 GB/s", "drive": "7450 MB/s"}),
    ("HW033", {"chips": 8}),
    ("HW033", GRACE | {"chips": 8}),
    ("HW024", {"capacity": "768 GiB"}),
    ("HW024", {"drive": "74.5 MB/s", "drive_link": "74.5 MB/s"}),
    ("HW023", SERVER | {"bandwidth": "460.8 GB/s", "capacity": "6 TiB"}),
    ("HW023", SERVER | {"bandwidth": "460.8 GB/s", "capacity": "96 GiB"}),
    ("HW011", {"rate": "44 TFLOP/s"}),
    ("HW011", {"rate": "0.55 TFLOP/s"}),
    ("HW012", {"cores": 64}),
]  # fmt: skip


@every("platform", SOLD)
def test_hosts_that_are_sold_are_clean(tmp_path, platform):
    assert [str(fault) for fault in faults(tmp_path, "mine", host(**platform))] == []


@every("rule,numbers", WRONG)
def test_one_wrong_number_of_a_host_is_found(tmp_path, rule, numbers):
    assert rule in {fault.rule for fault in faults(tmp_path, "mine", host(**numbers))}
