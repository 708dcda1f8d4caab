"""Random chips, models and engines, as wild as the schema lets them be."""

import random
from collections.abc import Callable
from typing import Any, get_args

from hypothesis import settings
from hypothesis import strategies as st

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.catalogue.schema.models import (
    AnyAttention,
    Attention,
    CompressedAttention,
    LatentAttention,
    LinearAttention,
)

GB, TB, TERA = 1e9, 1e12, 1e12


def scaled(count: int) -> int:
    """Return how many of something dear to try: so many, and twenty times that if thorough."""
    return count * settings().max_examples // 40


def examples(count: int) -> settings:
    """Return settings for a property whose examples are dear."""
    return settings(max_examples=scaled(count))


def _in(value: float, unit: str) -> str:
    return f"{value:.6g} {unit}" if value < 1e6 else f"{value:.1f} {unit}"


class Dice(random.Random):
    """All numbers of an entry from one draw: a draw of each takes longer than what is tested of it.

    The ends of ranges come up more often than they would.
    """

    def number(self, low: float, high: float) -> float:
        return self.choice((low, high)) if self.random() < 0.1 else self.uniform(low, high)

    def whole(self, low: int, high: int) -> int:
        return self.choice((low, high)) if self.random() < 0.1 else self.randint(low, high)

    def either(self) -> bool:
        return self.random() < 0.5


dice = st.integers(0, 2**32).map(Dice)


@st.composite
def hardware(draw: st.DrawFn, *, spatial: bool | None = None) -> Hardware:
    roll = draw(dice)
    if spatial is None:
        spatial = roll.either()
    entry: dict[str, Any] = {
        "id": "random-chip",
        "name": "Random",
        "vendor": "Nobody",
        "kind": "wafer" if spatial else "gpu",
        "scope": "one",
        "execution": "spatial" if spatial else "sequential",
        "architecture": roll.choice(["hopper", "blackwell", "wse", "other"]),
        "memory": [
            {
                "name": "M",
                "capacity": _in(roll.number(8, 400), "GB"),
                "bandwidth": _in(roll.number(0.05, 50), "TB/s"),
            }
        ],
        "peak": {"bf16": _in(roll.number(0.5, 500), "TFLOP/s")},
        "power": {"chip": "500 W"},
        "price": {"cloud": "2 USD/h"},
        "links": {"scale_out": {"bandwidth": _in(roll.number(1, 200), "GB/s"), "latency": "5 us"}},
    }
    if roll.either():
        entry["cores"] = roll.whole(1, 400)
        entry["vector"] = _in(roll.number(1, 100), "TFLOP/s")
    for name in roll.sample(["fp8", "int8", "fp4", "fp16"], roll.randint(0, 4)):
        entry["peak"][name] = _in(roll.number(0.5, 500), "TFLOP/s")
    if not spatial:
        entry["links"]["scale_up"] = {
            "bandwidth": _in(roll.number(10, 2000), "GB/s"),
            "domain": roll.choice([1, 2, 8, 72]),
        }
        if ranks := roll.choice([None, None, None, 1, 2, 4]):
            entry["ranks"] = ranks
    return Hardware.model_validate(entry)


def _heads(roll: Dice, kind: str) -> dict[str, Any]:
    kv = roll.choice([1, 4, 8])
    window = roll.choice([None, 128, 4096])
    return {
        "heads": kv if kind == "mha" else roll.choice([1, 2, 8]) * kv,
        "kv_heads": kv,
        "head_dim": roll.choice([64, 128]),
        **({"window": window} if window else {}),
    }


def _latent(roll: Dice, _: str) -> dict[str, Any]:
    indexer = roll.choice(
        [
            None,
            {"heads": 32, "head_dim": 128, "top_k": 2048},
            {"heads": 32, "head_dim": 128, "top_k": 64, "shared": True},
        ]
    )
    return {
        "heads": 32,
        "q_rank": 768,
        "kv_rank": 512,
        "nope_dim": 128,
        "rope_dim": 64,
        "value_dim": 128,
        **({"indexer": indexer} if indexer else {}),
    }


def _compressed(roll: Dice, _: str) -> dict[str, Any]:
    return {
        "heads": 32,
        "head_dim": 256,
        "q_rank": 512,
        "output_groups": 4,
        "output_rank": 512,
        "window": 128,
        "compression": 4,
        "indexer": {"heads": 16, "head_dim": 128, "top_k": 256},
    }


def _linear(roll: Dice, kind: str) -> dict[str, Any]:
    return {
        "key_heads": 16,
        "value_heads": 32,
        "key_dim": 128,
        "value_dim": 128,
        "full_rank_gate": kind == "kda" and roll.either(),
        "step_rank": 64 if kind == "mamba" else None,
    }


SHAPES: dict[type, Callable[[Dice, str], dict[str, Any]]] = {
    Attention: _heads,
    LatentAttention: _latent,
    CompressedAttention: _compressed,
    LinearAttention: _linear,
}
ATTENTIONS: dict[str, type] = {
    kind: attention
    for attention in get_args(get_args(AnyAttention)[0])
    for kind in get_args(attention.model_fields["kind"].annotation)
}
"""Every kind of attention that a model may have, and the class of the schema that holds it."""


def _attention(roll: Dice) -> dict[str, Any]:
    kind = roll.choice(list(ATTENTIONS))
    return {"kind": kind, **SHAPES[ATTENTIONS[kind]](roll, kind)}


@st.composite
def models(draw: st.DrawFn, *, dense_only: bool = False) -> Model:
    roll = draw(dice)
    moe = {
        "kind": "moe",
        "experts": roll.choice([8, 64, 256]),
        "active_experts": roll.choice([1, 2, 8]),
        "width": roll.whole(128, 4096),
        "shared_width": roll.choice([0, 1024]),
        **roll.choice([{}, {"latent_size": 512, "matrices": 2}]),
    }
    is_moe = not dense_only and roll.either()
    blocks = [
        {
            "count": roll.whole(1, 40),
            "attention": _attention(roll),
            "ffn": {"kind": "dense", "width": roll.whole(256, 30_000)}
            if not is_moe or roll.either()
            else moe,
        }
        for _ in range(roll.randint(1, 3))
    ]
    for block in blocks[1:]:
        if roll.either():
            del block[roll.choice(["attention", "ffn"])]
    return Model.model_validate(
        {
            "id": "random-model",
            "name": "Random",
            "weight_format": roll.choice(["bf16", "fp8", "int8", "nvfp4", "q4_k_m"]),
            "hidden_size": roll.choice([1024, 4096, 8192]),
            "vocabulary": roll.whole(1000, 200_000),
            "tied_embeddings": roll.either(),
            "blocks": blocks,
        }
    )


_BY_KIND: dict[str, Callable[[Dice], Any]] = {
    "amount": lambda roll: roll.whole(1, 128),
    "bandwidth": lambda roll: _in(roll.number(1, 100), "GB/s"),
    "compute rate": lambda roll: _in(roll.number(0.5, 50), "TFLOP/s"),
    "factor": lambda roll: roll.number(1.0, 2.0),
    "fraction": lambda roll: roll.number(0.05, 1.0),
    "number": lambda roll: roll.choice((0.0, roll.number(1e-12, 4.0))),
    "switch": lambda roll: roll.choice((0, 1)),
    "part": lambda roll: roll.choice((0.0, roll.number(1e-3, 1.0))),
    "reserve": lambda roll: _in(roll.number(0.001, 0.5), "GB"),
    "time": lambda roll: f"{roll.number(0.0, 500.0):.3f} us",
}
_NARROWER: dict[str, Callable[[Dice], Any]] = {
    "expert_correlation": lambda roll: roll.number(0.3, 1.0),
    "max_sequences": lambda roll: roll.choice([1024, 8192]),
    "memory_fraction": lambda roll: roll.number(0.5, 1.0),
    "prompt_chunk": lambda roll: roll.choice([512, 8192]),
}
"""Parameters that leave nothing to test where they may be anything of their kind."""

_UNEVEN = {"block_size", "state_blocks"}
"""Parameters by which a layer more may take less: vLLM's groups of layers grow by jumps."""


@st.composite
def engines(draw: st.DrawFn) -> Engine:
    roll = draw(dice)
    kept = {
        name: _NARROWER.get(name, _BY_KIND[one.reader.kind])(roll)
        for name, one in PARAMETERS.items()
        if name not in _UNEVEN and roll.either()
    }
    return Engine.model_validate(
        {
            "id": "random-engine",
            "name": "Random",
            "fitted_on": "nothing",
            "fitted_architectures": ["hopper"],
            "parameters": kept,
            "ranges": {
                "decode": {"below": 1.5, "above": 1.3, "basis": "x"},
                "unseen": {"below": 2.0, "above": 1.6, "basis": "x"},
            },
        }
    )
