"""Random chips, models and engines, as wild as the schema lets them be."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS

GB, TB, TERA = 1e9, 1e12, 1e12


def examples(count: int) -> settings:
    """Return settings for a property whose examples are dear; a thorough run has more of all."""
    return settings(max_examples=count * settings().max_examples // 60)


def _in(value: float, unit: str) -> str:
    return f"{value:.6g} {unit}" if value < 1e6 else f"{value:.1f} {unit}"


@st.composite
def hardware(draw: st.DrawFn, *, spatial: bool | None = None) -> Hardware:
    if spatial is None:
        spatial = draw(st.booleans())
    number = st.floats(0.5, 500.0)
    entry: dict[str, Any] = {
        "id": "random-chip",
        "name": "Random",
        "vendor": "Nobody",
        "kind": "wafer" if spatial else "gpu",
        "scope": "one",
        "execution": "spatial" if spatial else "sequential",
        "architecture": draw(st.sampled_from(["hopper", "blackwell", "wse", "other"])),
        "memory": [
            {
                "name": "M",
                "capacity": _in(draw(st.floats(8, 400)), "GB"),
                "bandwidth": _in(draw(st.floats(0.05, 50)), "TB/s"),
            }
        ],
        "peak": {"bf16": _in(draw(number), "TFLOP/s")},
        "power": {"chip": "500 W"},
        "price": {"cloud": "2 USD/h"},
        "links": {
            "scale_out": {"bandwidth": _in(draw(st.floats(1, 200)), "GB/s"), "latency": "5 us"}
        },
    }
    if draw(st.booleans()):
        entry["cores"] = draw(st.integers(1, 400))
        entry["vector"] = _in(draw(st.floats(1, 100)), "TFLOP/s")
    for name in draw(st.sets(st.sampled_from(["fp8", "int8", "fp4", "fp16"]))):
        entry["peak"][name] = _in(draw(number), "TFLOP/s")
    if not spatial:
        entry["links"]["scale_up"] = {
            "bandwidth": _in(draw(st.floats(10, 2000)), "GB/s"),
            "domain": draw(st.sampled_from([1, 2, 8, 72])),
        }
    return Hardware.model_validate(entry)


_attention = st.one_of(
    st.builds(
        lambda groups, kv, dim, window: {
            "kind": "gqa",
            "heads": groups * kv,
            "kv_heads": kv,
            "head_dim": dim,
            **({"window": window} if window else {}),
        },
        st.sampled_from([1, 2, 8]),
        st.sampled_from([1, 4, 8]),
        st.sampled_from([64, 128]),
        st.sampled_from([None, 128, 4096]),
    ),
    st.builds(
        lambda indexer: {
            "kind": "mla",
            "heads": 32,
            "q_rank": 768,
            "kv_rank": 512,
            "nope_dim": 128,
            "rope_dim": 64,
            "value_dim": 128,
            **({"indexer": indexer} if indexer else {}),
        },
        st.sampled_from(
            [
                None,
                {"heads": 32, "head_dim": 128, "top_k": 2048},
                {"heads": 32, "head_dim": 128, "top_k": 64, "shared": True},
            ]
        ),
    ),
    st.just(
        {
            "kind": "compressed",
            "heads": 32,
            "head_dim": 256,
            "q_rank": 512,
            "output_groups": 4,
            "output_rank": 512,
            "window": 128,
            "compression": 4,
            "indexer": {"heads": 16, "head_dim": 128, "top_k": 256},
        }
    ),
    st.builds(
        lambda kind: {
            "kind": kind,
            "key_heads": 16,
            "value_heads": 32,
            "key_dim": 128,
            "value_dim": 128,
        },
        st.sampled_from(["gated-deltanet", "kda", "mamba2"]),
    ),
)
_dense = st.builds(lambda width: {"kind": "dense", "width": width}, st.integers(256, 30_000))


@st.composite
def models(draw: st.DrawFn, *, dense_only: bool = False) -> Model:
    experts = draw(st.sampled_from([8, 64, 256]))
    moe = {
        "kind": "moe",
        "experts": experts,
        "active_experts": draw(st.sampled_from([1, 2, 8])),
        "width": draw(st.integers(128, 4096)),
        "shared_width": draw(st.sampled_from([0, 1024])),
        **draw(st.sampled_from([{}, {"latent_size": 512, "matrices": 2}])),
    }
    is_moe = not dense_only and draw(st.booleans())
    blocks = [
        {
            "count": draw(st.integers(1, 40)),
            "attention": draw(_attention),
            "ffn": draw(_dense) if not is_moe or draw(st.booleans()) else moe,
        }
        for _ in range(draw(st.integers(1, 3)))
    ]
    for block in blocks[1:]:
        if draw(st.booleans()):
            del block[draw(st.sampled_from(["attention", "ffn"]))]
    return Model.model_validate(
        {
            "id": "random-model",
            "name": "Random",
            "weight_format": draw(st.sampled_from(["bf16", "fp8", "int8", "nvfp4", "q4_k_m"])),
            "hidden_size": draw(st.sampled_from([1024, 4096, 8192])),
            "vocabulary": draw(st.integers(1000, 200_000)),
            "tied_embeddings": draw(st.booleans()),
            "blocks": blocks,
        }
    )


_BY_KIND: dict[str, st.SearchStrategy[Any]] = {
    "amount": st.integers(1, 128),
    "bandwidth": st.floats(1, 100).map(lambda value: _in(value, "GB/s")),
    "compute rate": st.floats(0.5, 50).map(lambda value: _in(value, "TFLOP/s")),
    "factor": st.floats(1.0, 2.0),
    "fraction": st.floats(0.05, 1.0),
    "number": st.just(0.0) | st.floats(1e-12, 4.0),
    "part": st.just(0.0) | st.floats(1e-3, 1.0),
    "time": st.floats(0.0, 500.0).map(lambda value: f"{value:.3f} us"),
}
_NARROWER: dict[str, st.SearchStrategy[Any]] = {
    "expert_correlation": st.floats(0.3, 1.0),
    "max_sequences": st.sampled_from([1024, 8192]),
    "memory_fraction": st.floats(0.5, 1.0),
    "prompt_chunk": st.sampled_from([512, 8192]),
}
"""Parameters that leave nothing to test where they may be anything of their kind."""


@st.composite
def engines(draw: st.DrawFn) -> Engine:
    values = {
        name: _NARROWER.get(name, _BY_KIND[one.reader.kind]) for name, one in PARAMETERS.items()
    }
    kept = {key: draw(value) for key, value in values.items() if draw(st.booleans())}
    return Engine.model_validate(
        {
            "id": "random-engine",
            "name": "Random",
            "fitted_on": "nothing",
            "fitted_architectures": ["hopper"],
            "parameters": kept,
            "ranges": {
                "decode-dense": {"below": 1.5, "above": 1.3, "basis": "x"},
                "unseen": {"below": 2.0, "above": 1.6, "basis": "x"},
            },
        }
    )
