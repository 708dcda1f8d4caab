"""Import of Hugging Face configurations: a ``config.json`` to a model file.

`json_file` reads the file; `model` finds the reader in the table of `families` and puts the
entry together. Readers (`dense`, `mixture`, `hybrid`, `compressed`, and `unknown` for the rest)
return `layers` of `parts`, kind by kind as `patterns` say; `config` checks every value they
read and keeps what they assume. `quantization` finds the number formats, `yaml_text` writes YAML.
"""

from fastcalc.importers.huggingface.json_file import missing_file
from fastcalc.importers.huggingface.model import Imported, import_model, slug
from fastcalc.importers.huggingface.yaml_text import yaml_text

__all__ = ["Imported", "import_model", "missing_file", "slug", "yaml_text"]
