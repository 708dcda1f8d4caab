"""Import of Hugging Face configurations: convert a ``config.json`` to a model file.

`json_file` reads the file. `model` finds the reader in the table of `families` and assembles the
entry. Readers (`dense`, `mixture`, `hybrid`, `compressed`, and `unknown` for the rest) return
layers made of `parts`, with layer types from `patterns`. `config` checks every value that is read
and records assumptions. `quantization` finds the number formats, and `yaml_text` writes YAML.
"""

from fastcalc.importers.huggingface.json_file import missing_file
from fastcalc.importers.huggingface.model import Imported, import_model, slug
from fastcalc.importers.huggingface.yaml_text import yaml_text

__all__ = ["Imported", "import_model", "missing_file", "slug", "yaml_text"]
