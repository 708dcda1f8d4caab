"""llama.cpp flags with structured values: slots, cache types, tensors, cards.

Sources: tools/server/README.md, docs/multi-gpu.md and common/arg.cpp of ggml-org/llama.cpp,
November 2026.
"""

import math
import re
from collections.abc import Sequence
from functools import partial

from fastcalc.catalogue.formats import number_format
from fastcalc.cli.engine_flags.table import (
    ALL_EXPERTS,
    AUTO,
    CARD_NAMES,
    CARD_SHARES,
    FLASH_ATTENTION,
    KEY_TYPES,
    MOST_LAYERS,
    OVERRIDES,
    PROJECTORS,
    SPLIT_MODES,
    UNIFIED,
    VALUE_TYPES,
    WHOLE_WINDOWS,
    own_name,
)
from fastcalc.cli.engine_flags.words import Words, whole
from fastcalc.errors import InputError
from fastcalc.written import shown

_ENGINE = "llama-cpp"
_EVEN = 1.1
"""Largest share of a card, relative to an equal share, that is treated as equal."""
_TENSOR_SPLITS = ("row", "tensor", "graph")
"""Split modes that divide each matrix among cards. ``graph`` is from ik_llama.cpp."""
_DEFAULT_SLOTS = "4"
"""Number of slots in llama-server for ``-np -1``, its default. Slots share the context."""
_EXPERT_TENSORS = tuple(f"blk.{{}}.ffn_{name}_exps.weight" for name in ("gate", "up", "down"))
_OTHER_TENSORS = (
    "output.weight",
    *(f"blk.0.attn_{name}.weight" for name in ("q", "k", "v", "output")),
    *(f"blk.0.ffn_{name}.weight" for name in ("gate", "up", "down")),
    *(f"blk.0.ffn_{name}_shexp.weight" for name in ("gate", "up", "down")),
)
"""Tensor names in GGUF files. Source: gguf-py/gguf/constants.py, November 2026."""


def read(line: Words, *, is_server: bool) -> None:
    """Replace the flags of llama.cpp with fastcalc's.

    is_server : Whether this is a server command, which has slots by default.
    """
    _read_slots(line, is_server=is_server)
    _read_cache_types(line)
    _read_overrides(line)
    _read_split_mode(line)
    projectors = line.taken(*PROJECTORS)
    is_default = projectors == [AUTO]  # the repository's own, if its model has one
    model = line.model if is_default else None  # most commands need not load it
    if (projectors and not is_default) or (model and model.vision_parameters):
        line.words += ["--set", "parameters.loads_encoders=1"]
    if line.taken(WHOLE_WINDOWS, has_value=False):
        from fastcalc.catalogue.schema import Attention

        model = line.model
        for at, block in enumerate(model.blocks if model else ()):
            if isinstance(block.attention, Attention) and block.attention.window:
                line.words += ["--set", f"blocks.{at}.attention.window={line.longest or 10**9}"]


def _read_slots(line: Words, *, is_server: bool) -> None:
    """Translate slots that share a context into a limit on sequences."""
    slots = line.value("--max-num-seqs")
    is_auto = slots == "-1" or (is_server and not slots and line.program == _ENGINE)
    is_unified = line.has(*UNIFIED)
    if not (is_auto or is_unified):
        return
    names = [word for word, _ in line.pairs if own_name(word) == "--max-num-seqs"]
    line.taken(*names)
    line.taken(*UNIFIED, has_value=False)
    count = _DEFAULT_SLOTS if is_auto else slots
    shared = "--kv-unified: all sequences share the context of -c"
    if is_auto and "max_num_seqs" not in line.fields:
        line.notes += [shared] if is_unified else []
        return
    if is_auto:
        cause = "-np -1" if slots else "-np is not given"
        line.notes += [shared] if is_unified else []
        line.notes.append(f"{cause}; the server runs {count} slots, which share its context")
    else:
        line.notes.append(f"{shared}; {count} run at once" if count else shared)
    if not line.has("--engine"):
        line.words += ["--engine", _ENGINE]
    line.words += ["--set", f"parameters.max_sequences={count}"] if count else []


def _read_cache_types(line: Words) -> None:
    """Translate the types of keys and values (default: f16) into a single cache format."""
    attention = line.taken(*FLASH_ATTENTION)
    of_keys, of_values = line.taken(*KEY_TYPES), line.taken(*VALUE_TYPES)
    is_plain = attention[-1:] in (["off"], ["0"], ["false"])
    if is_plain:
        line.notes.append("-fa off is not modelled: attention is computed as with -fa on")
    if not of_keys and not of_values:
        return
    if line.has("--kv"):
        raise InputError("-ctk or -ctv is given, and --kv; remove one")
    keys, values = (
        number_format((types or ["f16"])[-1], cache=True) for types in (of_keys, of_values)
    )
    if is_plain and values.bits < 16:
        raise InputError(
            f"-ctv {values.id} needs flash attention, without which llama.cpp does not start; "
            "remove -fa off"
        )
    fraction = _key_fraction(line)
    if keys.id == values.id or fraction == 1.0:
        line.put("--kv", keys.id)
    else:
        shares = (f"{100 * fraction:.4g}%{keys.id}", f"{100 * (1 - fraction):.4g}%{values.id}")
        line.put("--kv", "/".join(shares))


def _key_fraction(line: Words) -> float:
    """Return the fraction of the KV cache taken up by keys. 0.5 if the model is unknown.

    Latent attention caches one vector for both, in the type of the keys.
    """
    from fastcalc.catalogue.schema import Attention, CompressedAttention, LatentAttention

    keys = values = 0
    model = line.model
    for block in model.blocks if model else ():
        attention = block.attention
        if isinstance(attention, Attention):
            heads = block.count * attention.cached_heads
            keys += heads * attention.head_dim
            values += heads * (attention.value_dim or attention.head_dim)
        elif isinstance(attention, (LatentAttention, CompressedAttention)):
            keys += block.count
    return keys / (keys + values) if keys else 0.5


def _read_overrides(line: Words) -> None:
    """Count the layers whose routed experts are moved to the host by tensor overrides.

    A layer counts in proportion to how many of its three expert matrices are on the host.
    """
    texts = [text for value in line.taken(*OVERRIDES) for text in value.split(",")]
    if not texts:
        return
    overrides = [_override(text) for text in texts]
    first = MOST_LAYERS if line.taken(*ALL_EXPERTS, has_value=False) else 0
    for digits in line.taken("--n-cpu-moe", "-ncmoe"):
        first = max(first, whole(digits))
    is_on_host = partial(_is_on_host, overrides)

    def experts(layers: int) -> float:
        """Count the layers on the host, as overrides may add to a number of first layers."""
        later_layers = range(first, layers)
        names = (name.format(layer) for layer in later_layers for name in _EXPERT_TENSORS)
        return min(first, layers) + sum(map(is_on_host, names)) / len(_EXPERT_TENSORS)

    count = MOST_LAYERS
    if experts(count) < count:
        model = line.model
        count = round(experts(sum(block.count for block in model.blocks) if model else first))
    text = f"-ot {shown(','.join(texts))}"
    if 0 < count < MOST_LAYERS:
        line.notes.append(f"{text}: computed as --n-cpu-moe {count}")
    if not count:
        line.notes.append(
            f"{text} is not modelled: it moves no routed experts of the model to the CPU"
        )
    elif any(map(is_on_host, _OTHER_TENSORS)):
        line.notes.append(f"{text}: only routed experts are computed on the CPU")
    if any(buffer != "CPU" for _, buffer in overrides):
        line.notes.append(f"{text}: which card holds a tensor is not modelled")
    line.words += ["--n-cpu-moe", str(count)] if count else []


def _override(text: str) -> tuple[re.Pattern[str], str]:
    """Parse a tensor override into its pattern and buffer."""
    pattern, is_joined, buffer = text.partition("=")
    try:
        if pattern and is_joined and buffer:
            return re.compile(pattern), buffer
    except re.error:
        pass
    raise InputError(f"-ot {shown(text)}: write a regular expression and a buffer, as exps=CPU")


def _is_on_host(overrides: Sequence[tuple[re.Pattern[str], str]], name: str) -> bool:
    """Check whether the first override that matches a tensor puts it in host memory."""
    buffers = (buffer for pattern, buffer in overrides if pattern.search(name))
    return next(buffers, None) == "CPU"


def _read_split_mode(line: Words) -> None:
    """Choose the layout for a split mode, with cards from shares, chip names or a count."""
    mode = "".join(line.taken(*SPLIT_MODES)[-1:])
    shares, names = line.taken(*CARD_SHARES), line.taken(*CARD_NAMES)
    listed = "".join((shares or names)[-1:])
    parts = [part.strip() for part in re.split("[,/;]", listed) if part.strip("0. ")]
    if mode not in {"", "none", "layer", *_TENSOR_SPLITS}:
        raise InputError(
            f"-sm {shown(mode)}: llama.cpp splits by none, layer (its default), row or tensor"
        )
    if mode == "none":
        line.put("--tp", "1")
        line.taken("--chips")
        return
    if shares:
        try:
            numbers = [float(part) for part in parts]
            largest_share = max(numbers) * len(numbers) / sum(numbers)
        except (ValueError, ZeroDivisionError):
            largest_share = math.nan
        if math.isnan(largest_share):
            raise InputError(f"-ts {shown(listed)}: give a share for each card, as -ts 1,1")
        if largest_share > _EVEN:
            raise InputError(
                f"-ts {shown(listed)}: one card has {largest_share:.2g} times an equal share; "
                "only equal shares are computed; leave -ts out, or give -ts 1,1"
            )
    stated = line.value("--chips")
    cards = stated or str(len(parts) or "")
    if mode in _TENSOR_SPLITS and not line.has("--tp"):
        cards = cards or _named_count(line)
        if not cards:
            raise InputError(f"-sm {mode}: give the number of cards, as with --chips 2 or -ts 1,1")
        line.taken("--chips")
        line.words += ["--tp", cards]
    elif cards and not stated and not line.has("--tp"):
        line.words += ["--pp", cards]
    if mode == "row":
        line.notes.append("-sm row: computed as the faster -sm tensor, which llama.cpp recommends")


def _named_count(line: Words) -> str:
    """Return the number of cards in a chip name such as 2xrtx-3090, or "" if it has none."""
    from fastcalc.importers.instances import stated_count

    return str(stated_count(line.value("--on")) or "")
