"""What the shell offers when Tab is pressed: names from file names, nothing opened."""

from fastcalc.catalogue.folders import names


def models(incomplete: str) -> list[str]:
    """Return the models that begin with what is typed."""
    return _beginning(names("models"), incomplete)


def engines(incomplete: str) -> list[str]:
    """Return the engines that begin with what is typed."""
    return _beginning(names("engines"), incomplete)


def hardware(incomplete: str) -> list[str]:
    """Return the chips that begin with the last part of a list separated by commas."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning(names("hardware"), last)]


def anything(incomplete: str) -> list[str]:
    """Return the chips, models and engines that begin with what is typed."""
    known = [name for kind in ("hardware", "models", "engines") for name in names(kind)]
    return _beginning(sorted(known), incomplete)


def kinds(incomplete: str) -> list[str]:
    """Return the kinds of entries."""
    return _beginning(["hardware", "models", "engines"], incomplete)


def kind(incomplete: str) -> list[str]:
    """Return the kinds of entries, as one of each is called."""
    return _beginning(["hardware", "model", "engine"], incomplete)


def charts(incomplete: str) -> list[str]:
    """Return the kinds of charts."""
    return _beginning(
        ["speed", "price", "roofline", "frontier", "step", "validate", "memory"], incomplete
    )


def _beginning(known: list[str], incomplete: str) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]
