"""Several ways to speculate, separated by commas."""

import re

from fastcalc.cli import options
from fastcalc.errors import InputError
from fastcalc.traffic import Speculation

_FORM = re.compile(r"([0-9]+(?:\.[0-9]+)?)/([0-9]+)")


def speculations(text: str | None) -> tuple[Speculation, ...]:
    """Return each way of drafting ahead in a list.

    Parameters
    ----------
    text : str or None
        ``none``, or tokens a pass and drafted tokens such as ``2.5/3``; several with commas.

    Raises
    ------
    InputError
        If a part is neither, or cannot be.

    Examples
    --------
    >>> speculations("none,2.5/3")[1]
    Speculation(tokens_per_pass=2.5, drafted=3.0)
    """
    return tuple(_one(part) for part in options.names(text or "none", "--speculate"))


def _one(text: str) -> Speculation:
    if text == "none":
        return Speculation()
    match = _FORM.fullmatch(text)
    kept, drafted = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    if not 1.0 <= kept <= drafted + 1.0 or not 1.0 <= drafted <= 1000.0:
        raise InputError(
            f"--speculate '{text[:40]}' is not tokens a pass and drafted tokens, such as 2.5/3: a "
            "pass keeps from 1 token to the drafted ones and one more"
        )
    return Speculation(kept, drafted)
