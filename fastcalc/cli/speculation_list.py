"""Several ways to speculate, separated by commas."""

from fastcalc.cli import options
from fastcalc.cli.speculate import speculation
from fastcalc.core.traffic import Speculation


def speculations(text: str | None) -> tuple[Speculation, ...]:
    """Return each way of drafting ahead in a list.

    Parameters
    ----------
    text : str or None
        ``none``, or any form that `speculation` reads; several with commas.

    Raises
    ------
    InputError
        If a part is none of these, or cannot be.

    Examples
    --------
    >>> speculations("none,2.5/3")[1]
    Speculation(tokens_per_pass=2.5, drafted=3.0)
    """
    names = options.names("none" if text is None else text, "--speculate")
    return tuple(speculation(None if name == "none" else name) for name in names)
