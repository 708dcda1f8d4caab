"""Parameters of configurations against transformers, which builds each on its meta device.

Needs ``transformers`` and ``torch`` next to fastcalc's own packages; no weights are allocated.

    python -m benchmarks.class_defaults [MODEL_TYPE ...] > class_defaults.csv

Each row has a ``model_type``, the parameters that transformers builds of its class defaults, ours,
the difference, and the first warning or refusal. Towers for images and sound are left out of both.
"""

import csv
import json
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from fastcalc.importers.huggingface import import_model

WITHIN = 0.003
"""Relative difference up to which a reading is right. [1]"""

_TOWERS = re.compile(
    r"vision|visual|audio|speech|image|multi_modal|vqmodel|connector|sound|embed_vision|mm_projector"
)
_BEFORE_DECODERS = re.compile(
    r"bert|bart|roformer|electra|xlm|xlnet|prophetnet|marian|pegasus|ernie$|reformer|whisper|trocr|"
    r"blenderbot|big_bird|camembert|cpmant|ctrl|data2vec|musicgen|mvp|rembert|xglm|xmod|roc_|"
    r"openai-gpt|git$|moshi|megatron|gpt_neox_japanese|biogpt|codegen|plbart|bloom|gpt-sw3|"
    r"gpt_bigcode|gpt_neo$|gptj|opt$|mpt$|gpt2|xlstm|rwkv|emu3|fuyu|got_ocr2|bark"
)
"""Families from before today's decoders, and others that no server of language models runs."""


class Compared(NamedTuple):
    """One configuration: parameters of either text core, and what was said of the reading. [1]"""

    model_type: str
    theirs: int | None
    ours: int | None
    said: str

    @property
    def difference(self) -> float | None:
        """Relative difference of the two. [1]"""
        return self.ours / self.theirs - 1.0 if self.theirs and self.ours else None


def built(config: Any) -> int:
    """Parameters of the text core that transformers builds of a configuration. [1]"""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    return sum(
        parameter.numel()
        for name, parameter in model.named_parameters()  # a tied head once
        if not _TOWERS.search(name)
    )


def compared(model_type: str) -> Compared:
    """Compare what transformers and fastcalc count of a family's class defaults."""
    from transformers import CONFIG_MAPPING

    try:
        config = CONFIG_MAPPING[model_type]()
        theirs = built(config)
    except Exception as error:  # whatever a class of another project raises
        return Compared(model_type, None, None, f"not built: {type(error).__name__}: {error}"[:160])
    data = config.to_dict() | {"model_type": model_type}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.json")
        path.write_text(json.dumps(data, default=str))
        try:
            imported = import_model(path, id="compared")
        except InputError as error:
            return Compared(model_type, theirs, None, error.sentence.partition(": ")[2])
    warned = [remark for remark in imported.remarks if remark.startswith("Warning")]
    return Compared(model_type, theirs, round(workload(imported.model).total_parameters), *(
        warned[:1] or [""]
    ))  # fmt: skip


def model_types() -> list[str]:
    """The families of decoders that transformers builds."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return [name for name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES if not _BEFORE_DECODERS.search(name)]


def main(names: list[str]) -> None:
    """Print a row for each family, and how many agree."""
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    warnings.filterwarnings("ignore")
    table = csv.writer(sys.stdout)
    table.writerow(["model_type", "transformers", "fastcalc", "difference", "said"])
    counts = {"right": 0, "warned": 0, "misread": 0, "refused": 0, "not built": 0}
    for name in names or model_types():
        row = compared(name)
        difference = row.difference
        shown = "" if difference is None else f"{difference:+.4%}"
        table.writerow([name, row.theirs, row.ours, shown, row.said])
        if difference is None:
            counts["refused" if row.theirs else "not built"] += 1
        elif abs(difference) <= WITHIN:
            counts["right"] += 1
            counts["warned"] += bool(row.said)
        else:
            counts["misread"] += not row.said
            counts["warned"] += bool(row.said)
    print(counts, file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
