"""Speed, price and chip count of LLM inference.

    import fastcalc as fc
    table = fc.compare("glm-4.7", on=["gb200", "wse-3"], batch=[1, 64], prompt=8000)

Each command is a function with the same name and arguments, which ``help(fc.compare)`` lists. It
returns a `Table`, which provides the answer as records, numpy arrays, data frames and files.
``fc.plot`` returns a matplotlib figure. Invalid requests raise `InputError` with the same message
as on the command line.
"""

__version__ = "0.2.0"

_FUNCTIONS = (
    *(
        "compare",
        "sweep",
        "plan",
        "fit",
        "caches",
        "fastmode",
        "frontier",
        "measure",
        "validate",
        "diagnose",
        "claims",
    ),
    *("sensitivity", "decide", "infer", "list", "diff", "plot"),
)
_OTHERS = {
    "Engine": "catalogue.schema",
    "Hardware": "catalogue.schema",
    "InputError": "errors",
    "Model": "catalogue.schema",
    "PlacedModel": "library.deployment",
    "Table": "library.answer_table",
    "deployment": "library.deployment",
    "engine": "library.entries",
    "hardware": "library.entries",
    "model": "library.entries",
}
__all__ = ["__version__", *_FUNCTIONS, *_OTHERS]


def __getattr__(name: str) -> object:
    """Import a public name on first access: programs need only a few, the command line none."""
    from importlib import import_module

    if name in _FUNCTIONS:
        return import_module("fastcalc.library.functions").FUNCTIONS[name]
    if name in _OTHERS:
        return getattr(import_module(f"fastcalc.{_OTHERS[name]}"), name)
    raise AttributeError(f"module 'fastcalc' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
