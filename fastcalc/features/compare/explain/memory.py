"""Equations for the chip memory that an engine leaves for KV caches."""

from collections.abc import Iterator, Sequence

from fastcalc.core.chip.cuda_graphs import (
    cut_graphs,
    cut_layers,
    decode_columns,
    decode_rows,
    graph_count,
    has_states,
    has_workspace,
)
from fastcalc.core.chip.reserve import NOTHING, StartRows, start_rows
from fastcalc.core.chip.tiers import largest_memory
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.placement import Placement
from fastcalc.core.step.pass_work import ACTIVATION_BYTES
from fastcalc.features.compare.explain.numbers import Numbers
from fastcalc.features.compare.explain.terms import (
    Equation,
    Term,
    equation,
    largest,
    named,
    number,
    total,
)
from fastcalc.formulas.reserve import LOGIT_BYTES, largest_capture


def memory_equations(placement: Placement) -> tuple[Equation, ...]:
    """Return the use of a chip's memory: contents, engine reserve term by term, and free space.

    placement : The workload in a layout, whose fullest chip the numbers describe.
    """
    machine, numbers = placement.machine, Numbers(placement)
    filled = named(
        "filled",
        "B",
        total(
            numbers.capacity(tier)
            * number(machine.reported(tier))
            * numbers.setting("memory_fraction")
            * number(tier.share(placement.layout.chips))
            for tier in machine.tiers
        ),
    )
    lines = [] if machine.reserve == NOTHING else list(_kept(placement, numbers))
    reserve = next((line.answer for line in lines if line.name == "reserve"), number(0.0))
    tables = _rotary(placement, numbers)
    stored = number(placement.weights_per_chip - tables.answer.value, "B")
    if tables.answer.value:
        lines.append(tables)
        stored = stored + tables.answer
    weights = equation("weights", placement.weights_per_chip, "B", stored)
    left = filled.answer - weights.answer - reserve
    cache = numbers.setting("cache_fraction")
    available = equation("KV cache", placement.available, "B", left * cache)
    sequence = named("cache of a sequence", "B", number(placement.cache_per_chip, "B"))
    # With several memories the user chooses the placement, so there is no single sum.
    sums = [] if machine.place else [available]
    return (filled, *lines, weights, *sums, sequence)


def _rotary(placement: Placement, numbers: Numbers) -> Equation:
    """Return the memory for the sines and cosines that each rank on a chip stores."""
    machine, model = placement.machine, placement.work.model
    bytes_each = numbers.setting("rotary_memory") * number(float(machine.ranks), "B")
    if model.mrope:
        bytes_each = bytes_each * numbers.setting("mrope_positions")
    values = numbers.counted(model.rotary_values, "sines and cosines of rotary embeddings")
    return named("rotary tables", "B", values * bytes_each)


def _kept(placement: Placement, numbers: Numbers) -> Iterator[Equation]:
    """Yield the memory that the engine reserves: activations, runtime, range of the total."""
    machine, memory, reserve = placement.machine, placement.kept, placement.machine.reserve
    work = placement.work
    length = machine.memory.longest or float(work.model.max_context or 0)
    rows = start_rows(machine.software, largest_memory(machine.hardware), length)
    tp = placement.layout.tp
    held, compiled = _compiled(placement, numbers, rows)
    shared = _largest(placement.layout.expert_slices, reserve.workspaces, held)
    workspace = named("shared buffers", "B", shared)
    sampled = _with(_sampling(work, numbers, rows), workspace.answer)
    sampling = equation("peak of sampling", memory.sampling, "B", sampled)
    of_layer = _with(_largest(tp, reserve.layers, compiled), workspace.answer)
    layer = equation("peak of a layer", memory.layer, "B", of_layer)
    encoder = equation(
        "peak of image encoding", memory.encoder, "B", _largest(tp, [reserve.encoder])
    )
    peaks = [line for line in (sampling, layer, encoder) if line.result.value]
    peak = largest(*(line.answer for line in peaks)) if peaks else number(0.0)
    activations = named("activation peak", "B", peak)
    of_step = numbers.setting("chunk_memory") * number(rows.tokens)
    stored = numbers.setting("stored_logits") * number(rows.sequences)
    counters = stored * number(work.vocabulary) * number(LOGIT_BYTES, "B")
    runtime = equation(
        "runtime", memory.runtime, "B", (numbers.setting("runtime_memory") + of_step + counters)
    )
    joined = equation("communication", memory.joined, "B", _joined(placement, numbers))
    decoded = rows.sequences * (1.0 + machine.memory.drafted)
    graphs = equation("CUDA graphs", memory.graphs, "B", _graphs(placement, numbers, decoded))
    of_buffers = _buffers(placement, numbers, decode_rows(machine.software, decoded), length)
    buffers = equation("buffers of decode graphs", memory.buffers, "B", of_buffers)
    summands = [line for line in (activations, runtime, joined, graphs) if line.result.value]
    counted = [buffers] if buffers.result.value else []
    yield from (*([workspace] if workspace.result.value else []), *peaks, *summands, *counted)
    estimated = total(line.answer for line in summands)
    yield equation("reserve", memory.total, "B", _with(estimated, buffers.answer))
    if (reserve.below, reserve.above) != (1.0, 1.0):
        low, high = estimated / number(reserve.below), estimated * number(reserve.above)
        yield named("smallest reserve", "B", _with(low, buffers.answer))
        yield named("largest reserve", "B", _with(high, buffers.answer))


def _with(term: Term, added: Term) -> Term:
    """Add a term that is not zero."""
    return term + added if added.value else term


def _compiled(placement: Placement, numbers: Numbers, rows: StartRows) -> tuple[Term, Term]:
    """Return how much buffers hold of the memory for compiling the model, and this memory. [B]"""
    reserve, work, nothing = placement.machine.reserve, placement.work, number(0.0)
    if placement.layout.tp > 1 or not reserve.compiled:
        return nothing, nothing
    table = numbers.counted(work.vocabulary, "vocabulary")
    of_row = numbers.counted(work.sent_width, "hidden width") * number(ACTIVATION_BYTES, "B")
    of_row = numbers.setting("embedding_copies") * of_row
    return (
        table * of_row if reserve.held else nothing,
        (table + number(2.0) * number(rows.tokens)) * of_row,
    )


def _joined(placement: Placement, numbers: Numbers) -> Term:
    """Return the memory for communication, and for attention replicas that share experts. [B]"""
    joined, replica = numbers.setting("joined_memory"), numbers.setting("replica_memory")
    layout = placement.layout
    if layout.chips > 1:
        joined = joined + number(layout.expert_shards * layout.pp) * numbers.setting("rank_memory")
    if not replica.value or not layout.sharing_replicas:
        return joined
    return joined + number(layout.sharing_replicas) * replica


def _sampling(work: Workload, numbers: Numbers, rows: StartRows) -> Term:
    """Return the sampler's logits and last-layer hidden states during engine start-up, in bytes."""
    sequences, tokens = number(rows.sequences), number(rows.tokens)
    vocabulary = numbers.counted(work.vocabulary, "vocabulary")
    hidden = numbers.counted(work.sent_width, "hidden width")
    copies, of_chunk = numbers.setting("sampler_copies"), numbers.setting("chunk_logits")
    logits = copies * sequences + of_chunk * tokens
    buffers = numbers.setting("layer_buffers")
    states = buffers * (tokens + sequences) * hidden * number(ACTIVATION_BYTES, "B")
    return logits * vocabulary * number(LOGIT_BYTES, "B") + states


def _buffers(placement: Placement, numbers: Numbers, rows: float, length: float) -> Term:
    """Return the buffers of graphs of decode steps: partial results and scores, in bytes.

    rows : The tokens of the largest of these graphs.
    length : The tokens of the longest sequence.
    """
    width, scored = decode_columns(placement.machine.software, placement.work, length)
    of_column = numbers.setting("graph_buffer_copies") * number(rows) * number(LOGIT_BYTES, "B")
    of_splits = of_column * numbers.setting("graph_splits") * number(width)
    of_rank = of_splits / number(placement.layout.tp)
    return _with(of_rank, of_column * number(scored)) if width else of_column * number(scored)


def _graphs(placement: Placement, numbers: Numbers, rows: float) -> Term:
    """Return the memory of CUDA graphs: per graph, layer split and row of states, in bytes.

    rows : The maximum number of tokens in a decode-only step.
    """
    largest = float(placement.machine.software.largest_graph)
    work, graphs = placement.work, number(graph_count(rows, largest))
    cuts = number(cut_graphs(placement.machine.software, work.model, rows)) * number(
        cut_layers(work)
    )
    memory = graphs * numbers.setting("graph_memory") + cuts * numbers.setting("graph_layer_memory")
    if has_workspace(placement.machine.software, work, placement.machine.memory.drafted):
        memory = _with(memory, numbers.setting("narrow_cache_memory"))
    row = numbers.setting("graph_row_memory")
    if not has_states(work.model) or not row.value:
        return memory
    largest_rows = number(float(largest_capture(sequences=rows, largest=largest)))
    half = number(0.5) + number(0.5) / number(placement.layout.tp)
    return memory + graphs * row * largest_rows * half


def _largest(ranks: int, pairs: Sequence[tuple[float, float]], *terms: Term) -> Term:
    """Return the largest of several buffers, of which ranks divide the first part. [B]

    terms : Buffers that ranks do not divide.
    """
    buffers = [
        number(divided, "B") / number(ranks) + number(undivided, "B")
        for divided, undivided in pairs
    ]
    return max([*terms, *buffers], key=lambda term: term.value, default=number(0.0))
