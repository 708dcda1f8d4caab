"""What is done or read elsewhere: by the host's cores, and from memory outside of regions."""

from fastcalc.core.component import Component
from fastcalc.explain.context import Pass
from fastcalc.explain.explained import component
from fastcalc.explain.terms import Equation, equation, number


@component("host", "what lives on the host, multiplied there by its cores while the chip waits")
def _host(made: Pass, part: Component) -> list[Equation]:
    bandwidth = made.numbers.setting("host_bandwidth_fraction")
    memory = next(tier for tier in made.machine.tiers if tier.flop_rates)
    printed = made.numbers.bandwidth(memory)
    share = number(part.bandwidth / (bandwidth.value * printed.value))
    link = made.numbers.setting("host_link_fraction") * number(memory.link, "B/s")
    return [
        equation("bytes", part.bytes, "B", number(part.bytes, "B")),
        equation("read rate", part.bandwidth, "B/s", bandwidth * printed * share),
        equation("FLOPs", part.flops, "FLOP", number(part.flops, "FLOP")),
        equation("link rate", part.link, "B/s", link),
        equation("turns", part.count, "", number(part.count)),
        equation("each", part.each, "s", made.numbers.setting("host_layer_overhead")),
    ]


@component("shared memory", "what is outside of regions, read by one after another")
def _shared(made: Pass, part: Component) -> list[Equation]:
    del made
    return [
        equation("bytes", part.bytes, "B", number(part.bytes, "B")),
        equation("read rate", part.bandwidth, "B/s", number(part.bandwidth, "B/s")),
    ]


@component("slower memory", "what the chip reads from other memories than its first")
def _slower(made: Pass, part: Component) -> list[Equation]:
    del made
    return [
        equation("bytes", part.bytes, "B", number(part.bytes, "B")),
        equation("read rate", part.bandwidth, "B/s", number(part.bandwidth, "B/s")),
        equation("FLOPs", part.flops, "FLOP", number(part.flops, "FLOP")),
        equation("rate", part.flop_rate, "FLOP/s", number(part.flop_rate, "FLOP/s")),
    ]
