"""Import of Hugging Face configurations: converts a ``config.json`` into a model file.

`json_file` reads the file. `model` looks up the reader in the table of `families` and assembles the
entry. Readers (`dense`, `mixture`, `hybrid`, `compressed`, and `unknown` for all others) return
layers built from `parts`, with layer types from `patterns`. `config` validates every value and
records assumptions. `quantization` determines the number formats, and `yaml_text` writes YAML.
"""

from fastcalc.importers.huggingface.json_file import missing_file
from fastcalc.importers.huggingface.model import Imported, import_model, slug
from fastcalc.importers.huggingface.yaml_text import yaml_text

__all__ = ["Imported", "import_model", "missing_file", "slug", "yaml_text"]
