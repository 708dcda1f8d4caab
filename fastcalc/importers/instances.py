"""Lookup of chips by cloud instance type, and by a name preceded by a count."""

import re

from fastcalc.catalogue.store import Catalogue
from fastcalc.importers.naming import chip_id

_INSTANCES = {
    # https://aws.amazon.com/ec2/instance-types/accelerated-computing/, read in November 2026.
    "p6-b200.48xlarge": ("b200", 8),
    "p5en.48xlarge": ("h200-sxm", 8),
    "p5e.48xlarge": ("h200-sxm", 8),
    "p5.48xlarge": ("h100-sxm", 8),
    "p5.4xlarge": ("h100-sxm", 1),
    "p4de.24xlarge": ("a100-sxm-80gb", 8),
    "p4d.24xlarge": ("a100-sxm-40gb", 8),
    "p6-b300.48xlarge": ("b300", 8),
    "trn2.48xlarge": ("trainium-2", 16),
    "trn1.2xlarge": ("trainium-1", 1),
    "trn1.32xlarge": ("trainium-1", 16),
    **{f"inf2.{size}xlarge": ("inferentia-2", 1) for size in ("", 8)},
    "inf2.24xlarge": ("inferentia-2", 6),
    "inf2.48xlarge": ("inferentia-2", 12),
    **{f"g4dn.{size}xlarge": ("t4", 1) for size in ("", 2, 4, 8, 16)},
    "g4dn.12xlarge": ("t4", 4),
    "g4dn.metal": ("t4", 8),
    **{f"g5.{size}xlarge": ("a10g", 1) for size in ("", 2, 4, 8, 16)},
    **{f"g5.{size}xlarge": ("a10g", 4) for size in (12, 24)},
    "g5.48xlarge": ("a10g", 8),
    "g6e.xlarge": ("l40s", 1),
    "g6e.12xlarge": ("l40s", 4),
    "g6e.48xlarge": ("l40s", 8),
    "g6.xlarge": ("l4", 1),
    "g6.12xlarge": ("l4", 4),
    "g6.48xlarge": ("l4", 8),
    # https://cloud.google.com/compute/docs/gpus, read in November 2026.
    **{f"g2-standard-{size}": ("l4", 1) for size in (4, 8, 12, 16, 32)},
    **{f"g2-standard-{24 * count}": ("l4", 2 * count) for count in (1, 2, 4)},
    "a4-highgpu-8g": ("b200", 8),
    "a3-ultragpu-8g": ("h200-sxm", 8),
    "a3-megagpu-8g": ("h100-sxm", 8),
    **{f"a3-highgpu-{count}g": ("h100-sxm", count) for count in (1, 2, 4, 8)},
    **{f"a2-ultragpu-{count}g": ("a100-sxm-80gb", count) for count in (1, 2, 4, 8)},
    **{f"a2-highgpu-{count}g": ("a100-sxm-40gb", count) for count in (1, 2, 4, 8)},
    # https://learn.microsoft.com/azure/virtual-machines/sizes/overview, read in November 2026.
    "standard_nd96isr_h200_v5": ("h200-sxm", 8),
    "standard_nd96isr_h100_v5": ("h100-sxm", 8),
    "standard_nd96amsr_a100_v4": ("a100-sxm-80gb", 8),
    "standard_nd96asr_v4": ("a100-sxm-40gb", 8),
    "standard_nd96isr_mi300x_v5": ("mi300x", 8),
    **{f"standard_nc{24 * n}ads_a100_v4": ("a100-pcie-80gb", n) for n in (1, 2, 4)},
    "standard_nc40ads_h100_v5": ("h100-nvl", 1),
    "standard_nc80adis_h100_v5": ("h100-nvl", 2),
}
_CARD = re.compile(r"([2-5]0[5-9]0)(\s*-?ti)?", re.IGNORECASE)
_COUNTED = re.compile(r"(\d{1,4})\s*[xX*]\s*(.+)|(.+?)(?:\s+[xX]|\s*[*:])\s*(\d{1,4})")


def stated_count(text: str) -> int | None:
    """Return the number of chips in an instance type or counted name, or None.

    >>> stated_count("8xh100"), stated_count("a3-highgpu-8g"), stated_count("mi300x")
    (8, 8, None)
    """
    return _parsed(text)[1]


def _parsed(text: str) -> tuple[str, int | None]:
    """Split a text into a chip's name and its count."""
    if instance := _INSTANCES.get(text.strip().lower()):
        return instance
    match = _COUNTED.fullmatch(text.strip())
    return (match[2] or match[3], int(match[1] or match[4]) or None) if match else (text, None)


def printed_chip(text: str, entries: Catalogue) -> str | None:
    """Return the chip named by an instance type, a counted name or a driver, if any.

    >>> printed_chip("8xh100", Catalogue()), printed_chip("p5.48xlarge", Catalogue())
    ('h100', 'h100-sxm')
    >>> printed_chip("2x3090", Catalogue()), printed_chip("8 x NVIDIA H200", Catalogue())
    ('rtx-3090', 'NVIDIA H200')
    """
    name, _ = _parsed(text)
    if card := _CARD.fullmatch(name.strip()):  # a GeForce card given only by its number
        name = f"rtx-{card[1]}-ti" if card[2] else f"rtx-{card[1]}"
    return name if entries.knows(name, "hardware") else chip_id(name, entries)
