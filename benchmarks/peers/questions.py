"""Measured points as questions to calculators that know a decode step and a prompt's time.

A question holds what the row states and the model's shape; a peer answers with what it has of
``first_s``, the time to the first token, ``step_s``, the time of a decode step, and ``rate``, the
output tokens a second of served traffic. `value_of` turns that into the metric of the row.
"""

from typing import Any

from fastcalc.catalogue.schema import Model
from fastcalc.core.model.workload import Workload
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import SHORT_CHAT, Batch

Question = dict[str, Any]


def question_of(batch: Batch, point: Point) -> Question:
    """Return the question that a measured point is.

    Parameters
    ----------
    batch : Batch
        The points it is predicted with, and their placement.
    point : Point
        The point.
    """
    layout, work = batch.placement.layout, batch.deployment.work
    known = point.prompt is not None or point.output is not None
    context = (point.prompt or 0.0) + (point.output or 0.0) / 2 if known else SHORT_CHAT
    return {
        "id": point.id,
        "rule": batch.rule,
        "hardware": point.hardware,
        "model": point.model,
        "engine": point.engine,
        "weights": work.weight_format,
        "kv": work.kv_format,
        "tp": layout.tp,
        "pp": layout.pp,
        "ep": layout.ep,
        "dp": layout.dp,
        "chips": layout.chips,
        "batch": point.concurrency or (1 if batch.rule == "decode_batch1" else None),
        "prompt": max(round(point.prompt or 0), 1),
        "output": max(round(point.output or 0), 2),
        "context": max(round(point.mean_context or context), 1),
        "drafts": (point.tokens_per_pass or 1.0) > 1.0,
        "shape": shape_of(batch.deployment.model, work),
    }


def shape_of(model: Model, work: Workload) -> dict[str, Any] | None:
    """Return the shape of a model whose layers attend alike and plainly; None for any other.

    Attention is of all heads, grouped or latent, without windows; the network is dense or routed,
    that of most layers where they differ, which ``alike`` denies.
    """
    attentions = {block.attention for block in model.blocks}
    blocks = sorted(model.blocks, key=lambda block: block.count)
    attention = attentions.pop() if len(attentions) == 1 else None
    ffn = blocks[-1].ffn if blocks else None
    kinds = getattr(attention, "kind", None), getattr(ffn, "kind", None)
    if kinds[0] not in ("mha", "gqa", "mla") or kinds[1] not in ("dense", "moe"):
        return None
    is_latent, is_routed = kinds[0] == "mla", kinds[1] == "moe"
    if ffn.matrices != 3 or attention.indexer or (not is_latent and attention.window):
        return None
    return {
        "alike": len(blocks) == 1,
        "layers": int(work.layers),
        "hidden": model.hidden_size,
        "vocabulary": model.vocabulary,
        "tied": model.tied_embeddings,
        "heads": attention.heads,
        "kv_heads": attention.heads if is_latent else attention.kv_heads or attention.heads,
        "head_dim": attention.value_dim if is_latent else attention.head_dim,
        "kv_rank": attention.kv_rank if is_latent else 0,
        "rope_dim": attention.rope_dim if is_latent else 0,
        "width": ffn.width,
        "experts": ffn.experts if is_routed else 0,
        "active_experts": ffn.active_experts if is_routed else 0,
        "shared_width": ffn.shared_width if is_routed else 0,
        "parameters": work.total_parameters,
        "active_parameters": work.active_parameters,
    }


def value_of(question: Question, metric: str, answer: dict[str, Any]) -> float | None:
    """Return an answer in the unit of a metric; None where the peer has no such thing."""
    first, step, rate = (answer.get(name) for name in ("first_s", "step_s", "rate"))
    batch, rule = question["batch"], question["rule"]
    if metric == "ttft_s":
        return first
    if metric == "tpot_s":
        return step
    if rule == "prefill":
        rate = batch * question["prompt"] / first if first else None
    elif rule.startswith("decode"):
        rate = batch / step if step else None
    elif rule == "static" and step and first:
        rate = batch * question["output"] / (first + (question["output"] - 1) * step)
    if rate is None:
        return None
    among = {"tokens_per_s_per_user": batch, "tokens_per_s_per_chip": question["chips"]}
    return float(rate / (among.get(metric) or 1))
