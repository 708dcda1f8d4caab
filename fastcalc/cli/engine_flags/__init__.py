"""Translate engine flags and whole server commands into fastcalc's own flags."""

from collections.abc import Iterator, Sequence

from fastcalc.cli.engine_flags import configurations, llama_cpp, server
from fastcalc.cli.engine_flags.table import (
    ALL_EXPERTS,
    ALL_LAYERS,
    AS_FITS,
    COPIED_ATTENTION,
    FLAGS,
    LENGTH,
    METHODS,
    MOST_LAYERS,
    NOT_MODELLED,
    SAYS_NOTHING,
    SPREAD_EXPERTS,
)
from fastcalc.cli.engine_flags.words import Words, whole


def translated(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Replace engine flags with fastcalc's, and return notes on the translation.

    Raises InputError for a flag that must be written differently.
    """
    line = Words(words)
    is_server = line.has("--server")
    if is_server:
        server.read(line)
    lengths = {value for word, value in line.pairs if word == LENGTH} & AS_FITS
    line.notes += [
        f"{LENGTH} {value}: the longest sequences that fit, as printed by fit --solve context"
        for value in lengths
    ]
    for name in [word for word in line.words if word in NOT_MODELLED]:
        line.taken(name, has_value=FLAGS[name].has_value)
        line.notes.append(f"{name} is not modelled: {NOT_MODELLED[name]}")
    engines = [flag.engine for word in line.words if (flag := FLAGS.get(word)) and flag.engine]
    configurations.read(line)
    llama_cpp.read(line, is_server=is_server)
    line.words = list(_renamed(line))
    if line.has(COPIED_ATTENTION):
        line.notes.append(f"{COPIED_ATTENTION}: tp counts the ranks of each copy of attention here")
        line.taken(COPIED_ATTENTION, has_value=False)
        ranks, copies = whole(line.value("--tp")), whole(line.value("--dp"))
        if ranks and copies:
            line.words[line.words.index("--tp") + 1] = str(max(ranks // copies, 1))
    if engines and not line.has("--engine"):
        line.words += ["--engine", engines[0]]
    return line.words, line.notes


def _renamed(line: Words) -> Iterator[str]:
    """Yield words with engine flags replaced by fastcalc's, dropping flags without effect."""
    pairs = line.pairs
    for word, value in pairs:
        flag = FLAGS.get(word)
        if flag is None or word == COPIED_ATTENTION:
            yield word
        elif word in SPREAD_EXPERTS and value.isdecimal():  # SGLang's -ep 8
            next(pairs, None)
            yield from ("--ep", value)
        elif word in SPREAD_EXPERTS:
            yield from ("--ep", str(server.expert_ranks(line)))
        elif word in ALL_EXPERTS:
            yield from ("--n-cpu-moe", str(MOST_LAYERS))
        elif flag.sets:
            next(pairs, None)
            yield from ("--set", f"{flag.sets}={value}")
        elif flag.field == "max_model_len" and value in AS_FITS:
            next(pairs, None)
        elif word == flag.own and flag.field != "n_gpu_layers":
            yield word
        else:
            next(pairs, None)
            name = FLAGS[word].own
            if name == LENGTH and value == "0":  # in llama.cpp, 0 means the model's length
                value = line.longest or "auto"
            is_all = name == "--n-gpu-layers" and ALL_LAYERS.fullmatch(value)
            is_method = name == "--weights" and value in METHODS
            if not (is_all or is_method or value in SAYS_NOTHING):
                yield from (name, value)
