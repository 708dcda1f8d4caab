"""Lines shared by several answers: the models and chips compared, and what does not fit."""

from collections.abc import Sequence

from fastcalc.core.outcome import Outcome
from fastcalc.grid.columns import pick
from fastcalc.kit.answer.numbers_as_text import parameters, size
from fastcalc.kit.answer.why_so_many import why
from fastcalc.mentions import option
from fastcalc.written import listed

_NAMED = 4
"""Maximum number of chips that are named beside their weight formats."""


def heading(outcomes: Sequence[Outcome], phrases: Sequence[str]) -> str:
    """Build the heading of a comparison: the model, its weights and the request's settings.

    outcomes : The outcomes of one model; the weight format may differ from chip to chip.
    phrases : The phrases for the settings that differ from their defaults.
    """
    weights = dict[str, dict[str, None]]()  # with the chips that use them
    for outcome in outcomes:
        work, chip = outcome.placement.work, outcome.scenario.hardware.id
        weights.setdefault(f"{work.short_format} {size(work.weight_bytes)}", {})[chip] = None
    if len(weights) > 1 and sum(map(len, weights.values())) <= _NAMED:
        formats = [f"{text} on {listed([*chips])}" for text, chips in weights.items()]
    else:
        formats = [*weights]
    work = outcomes[0].placement.work
    model_text = (
        f"{outcomes[0].scenario.model.heading}: {parameters(work.total_parameters)} "
        f"parameters, {' or '.join(formats)}"
    )
    return "; ".join([model_text, requests_of(outcomes[0]), *phrases])


def requests_of(outcome: Outcome) -> str:
    """Format the prompt and output tokens per request."""
    traffic = outcome.scenario.traffic
    return f"prompt {traffic.prompt:,.0f}, output {traffic.output:,.0f} tokens"


OUTCOME_COLUMNS = pick(
    "batch tokens_per_s_per_user tokens_per_s_per_user_low tokens_per_s_per_user_bound "
    "tokens_per_s_total served_tokens_per_s_total tpot_ms tpot_in_traffic_ms ttft_ms "
    "usd_per_mtok_input usd_per_mtok_output usd_per_mtok_total joules_per_token limiter",
    keep="tokens_per_s_per_user_low tokens_per_s_per_user_bound",
)


def no_place(outcome: Outcome) -> str | None:
    """Explain why the smallest batch fits on no number of chips, or None if it fits."""
    if outcome.estimate.fits.any() or outcome.min_chips[0] is not None:
        return None
    return unfit(outcome)


def unfit(outcome: Outcome) -> str:
    """Explain why the smallest batch does not fit, and how many chips would hold it."""
    batch = min(outcome.scenario.batches)
    fewest = outcome.min_chips[outcome.scenario.batches.index(batch)]
    reason = outcome.refused or f"{outcome.scenario.hardware.id}: {why(outcome)}"
    return f"{reason}; batch {batch:,} needs {option('chips', fewest)}" if fewest else reason


def heading_in_full(outcome: Outcome, phrases: Sequence[str]) -> str:
    """Build the full heading of a comparison: model, formats, traffic and other settings."""
    work, traffic = outcome.placement.work, outcome.scenario.traffic
    name = outcome.scenario.model.heading
    active = ""
    if work.active_parameters < work.total_parameters:
        active = f", {parameters(work.active_parameters)} active"
    said = (
        f"{name}: {parameters(work.total_parameters)} parameters{active}; weights "
        f"{work.short_format} {size(work.weight_bytes)}, KV cache {work.kv_format} "
        f"{size(work.cache_bytes_per_token)} per token; prompt {traffic.prompt:,.0f}, output "
        f"{traffic.output:,.0f}, mean context {traffic.context:,.0f} tokens"
    )
    return "; ".join([said, *phrases])


IN_HEADING = "context kv"
"""Fields that `heading_in_full` always shows, even if they are not set."""


def key_of_bound(outcomes: Sequence[Outcome]) -> str:
    """Explain the bound of MoE models at batches above 1, or nothing if it does not apply."""
    batches = (batch for outcome in outcomes for batch in outcome.scenario.batches)
    has_experts = any(outcome.placement.work.weights.experts.bytes for outcome in outcomes)
    best_case = "; bound of MoE models: best case, in which all sequences use the same experts"
    return best_case * (has_experts and max(batches) > 1)
