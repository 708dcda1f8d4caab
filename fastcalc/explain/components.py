"""The components of a pass, each with the formulas behind its work and its rates.

The formulas are those of `fastcalc.core.step`, `fastcalc.core.spatial` and
`fastcalc.core.pass_work`, written out; a test holds that both agree.
"""

from collections.abc import Callable

from fastcalc.core.step import Component
from fastcalc.explain import attention, serial, weights
from fastcalc.explain import spatial_terms as regions
from fastcalc.explain.context import Pass
from fastcalc.explain.explained import shown
from fastcalc.explain.terms import Equation

_FORMULAS: dict[str, Callable[[Pass, Component], list[Equation]]] = {
    "dense weights": weights.dense,
    "head and norms": weights.head,
    "routed experts": weights.routed,
    "attention": attention.attention,
    "unpacking": weights.unpacking,
    "prompt: dense": weights.prompt_dense,
    "prompt: experts": weights.prompt_experts,
    "prompt: attention": attention.prompt_attention,
    "layer floors": serial.floors,
    "all-reduce": serial.all_reduce,
    "expert exchange": serial.exchange,
    "sequences": serial.sequences,
    "stage hops": serial.hops,
    "layer sweeps": regions.sweeps,
    "hops": regions.hops,
}


def formulas(made: Pass, part: Component) -> tuple[Equation, ...]:
    """Return the formulas behind a component that does not rest on the others.

    Parameters
    ----------
    made : Pass
        The pass it belongs to.
    part : Component
        One row of it, as plain floats.
    """
    known = _FORMULAS.get(part.name)
    return shown(known(made, part)) if known else ()
