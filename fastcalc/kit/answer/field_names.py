"""Readable names for fields of catalogue files, by path, such as ``cores``."""

import re

from fastcalc.catalogue.schema.engine_parameters import PARAMETERS

_CHIP = {
    r"memory\.reported": "memory visible to the driver / capacity",
    r"memory\.(.+)\.reported": "{} visible to the driver / capacity",
    r"memory\.(.+)\.link": "{} link bandwidth",
    r"memory\.(.+)\.shared_by": "chips that share {}",
    r"memory\.(.+)\.(.+)": "{} {}",
    r"peak\.(.+)": "peak {}",
    r"vector": "peak of vector units",
    r"links\.scale_(up|out)\.bandwidth": "one-way scale-{} bandwidth",
    r"links\.scale_up\.domain": "chips per scale-up domain",
    r"links\.scale_(up|out)\.latency": "scale-{} latency",
    r"fabric\.bandwidth": "on-chip network bandwidth",
    r"cores": "cores (SMs or CUs)",
    r"area": "die area",
    r"power\.chip": "chip power (TDP)",
    r"power\.all_in": "power with server and cooling",
    r"price\.cloud": "price per hour",
    r"price\.purchase": "purchase price",
}
_MODEL = {
    r"count": "layers",
    r"attention\.heads": "attention heads",
    r"attention\.kv_heads": "KV heads",
    r"attention\.head_dim": "attention head dimension",
    r"attention\.(.+)": "attention {}",
    r"ffn\.width": "FFN width",
    r"ffn\.active_experts": "active experts",
    r"ffn\.experts": "experts",
    r"ffn\.shared_width": "width of shared experts",
    r"ffn\.(.+)": "FFN {}",
}


def in_words(path: str) -> str:
    """Return the readable name of a chip, model or engine parameter.

    >>> in_words("memory.HBM3.bandwidth"), in_words("parameters.rank_wait"), in_words("mtp.layers")
    ('HBM3 bandwidth', 'wait for the slowest TP rank', 'mtp layers')

    Parameters in a model's first block of layers have no index.

    >>> in_words("blocks[0].count"), in_words("blocks[1].ffn.width")
    ('layers', 'FFN width of blocks[1]')
    """
    owner, _, name = path.rpartition(".")
    if owner == "parameters" or owner.startswith("architectures."):
        label = PARAMETERS[name].label if name in PARAMETERS else ""
        return label or name.replace("_", " ")
    if block := re.fullmatch(r"blocks\[(\d+)\]\.(.+)", path):
        index, field = block.groups()
        return _matched(_MODEL, field) + (f" of blocks[{index}]" if index != "0" else "")
    return _matched(_CHIP, path)


def _matched(patterns: dict[str, str], path: str) -> str:
    for pattern, words in patterns.items():
        if found := re.fullmatch(pattern, path):
            return words.format(*found.groups()).replace("_", " ")
    return path.replace(".", " ").replace("_", " ")
