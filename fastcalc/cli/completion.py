"""What the shell offers when Tab is pressed: names from file names, of which few are opened."""

from collections.abc import Callable

from fastcalc.catalogue.folders import names, shipped_folder


def listed(words: list[str]) -> Callable[[str], list[str]]:
    """Return what offers some words."""

    def offer(incomplete: str) -> list[str]:
        return _beginning(words, incomplete)

    return offer


def formats(incomplete: str) -> list[str]:
    """Return the number formats that begin with the last part of a list separated by commas."""
    from fastcalc.catalogue.formats import FORMATS

    return _last_of_list(list(FORMATS), incomplete)


def hosts(incomplete: str) -> list[str]:
    """Return the hosts that begin with what is typed."""
    shipped = shipped_folder("hardware").glob("*.yaml")
    return _beginning(
        sorted(path.stem for path in shipped if "\nkind: host" in path.read_text("utf-8")),
        incomplete,
    )


def models(incomplete: str) -> list[str]:
    """Return the models that begin with what is typed."""
    return _beginning(names("models"), incomplete)


def engines(incomplete: str) -> list[str]:
    """Return the engines that begin with what is typed."""
    return _beginning(names("engines"), incomplete)


def hardware(incomplete: str) -> list[str]:
    """Return the chips that begin with the last part of a list separated by commas."""
    return _last_of_list(names("hardware"), incomplete)


def anything(incomplete: str) -> list[str]:
    """Return the chips, models and engines that begin with what is typed."""
    known = [name for kind in ("hardware", "models", "engines") for name in names(kind)]
    return _beginning(sorted(known), incomplete)


def _last_of_list(known: list[str], incomplete: str) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning(known, last)]


def charts(incomplete: str) -> list[str]:
    """Return the kinds of charts."""
    return _beginning(
        ["speed", "price", "roofline", "frontier", "step", "validate", "memory"], incomplete
    )


def _beginning(known: list[str], incomplete: str) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]
