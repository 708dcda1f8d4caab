"""Shell completions. Names are taken from file names, so that few files are opened."""

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module

from fastcalc.catalogue.folders import names, shipped_folder


def offered(
    list_names: Callable[[], Iterable[str]], *, in_lists: bool = False
) -> Callable[[str], list[str]]:
    """Return a completion function for words that begin with the typed text or its last item."""

    def offer(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",") if in_lists else ("", "", incomplete)
        return [f"{before}{comma}{name}" for name in list_names() if name.startswith(last)]

    return offer


formats = offered(lambda: import_module("fastcalc.catalogue.formats").FORMATS, in_lists=True)
hosts = offered(
    lambda: sorted(
        path.stem
        for path in shipped_folder("hardware").glob("*.yaml")
        if "\nkind: host" in path.read_text("utf-8")
    )
)
models = offered(partial(names, "models"))
engines = offered(partial(names, "engines"))
hardware = offered(partial(names, "hardware"), in_lists=True)
anything = offered(
    lambda: sorted(name for kind in ("hardware", "models", "engines") for name in names(kind))
)
CHARTS = (
    *("speed", "price", "roofline", "frontier", "step", "validate", "diagnose", "calibrate"),
    *("memory", "context", "tornado"),
)
"""The charts that `plot` can draw."""
charts = offered(lambda: CHARTS)
